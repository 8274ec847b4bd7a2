import Operations

/// The request on the command line.
struct CommandLineOptions {
    enum Action {
        case help
        case list
        /// These scenarios; all of them if the command line names none.
        case measure([String])
        /// How these operations grow; all of them if the command line names none.
        case scale([String])
        /// A loop that sleeps, for scripts/idle-second.
        case idle
    }

    enum Format: String, CaseIterable { case text, json }

    private(set) var action = Action.measure([])
    private(set) var format = Format.text
    private(set) var effort = Effort.full

    init(_ words: [String], scenarios: [String], operations: [String]) throws(UsageError) {
        let known = words.contains("--scale") ? operations : scenarios
        var names: [String] = []
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--help", "-h":
                // A request for help takes precedence over everything that follows.
                action = .help
                return
            case "--list": action = .list
            case "--scale": action = .scale([])
            case "--idle": action = .idle
            case "--quick": effort = .quick
            case "--format": format = try CommandLineOptions.format(rest.popFirst())
            case _ where word.hasPrefix("--format="): format = try CommandLineOptions.format(String(word.dropFirst(9)))
            case _ where known.contains(word): names.append(word)
            case _ where word.hasPrefix("-"): throw UsageError("unknown option \(word.debugDescription)")
            default: throw UsageError("unknown scenario \(word.debugDescription)")
            }
        }
        switch action {
        case .measure: action = .measure(names)
        case .scale: action = .scale(names)
        case .help, .list, .idle: break
        }
    }

    private static func format(_ word: String?) throws(UsageError) -> Format {
        guard let word else { throw UsageError("--format needs a value") }
        guard let format = Format(rawValue: word) else {
            let known = Format.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("--format cannot be \(word.debugDescription), only one of: \(known)")
        }
        return format
    }

    static func help(_ scenarios: [any Scenario], _ operations: [GrowingOperation]) -> String {
        """
        Measures RunLoopKit beside bare system calls, CFRunLoop, Dispatch, Swift concurrency and threads.

        Usage: \(RunLoopBenchmarks.name) [<scenario>...] [--format text|json] [--quick]
               \(RunLoopBenchmarks.name) --scale [<operation>...] [--format text|json] [--quick]

        Scenarios, all of which are run when none is named:
        \(list(scenarios.map { ($0.name, $0.summary) }))

        Operations, for --scale, which measures each with 10 to 100,000 items in the loop:
        \(list(operations.map { ($0.name, $0.summary) }))

        Options:
          --format <text|json>  A table and a histogram, or one JSON object a line. Default: text.
          --quick               A few operations each, to see that everything works. The figures mean little.
          --scale               CPU time of operations among few and among many items, and how it grows.
          --idle                A loop with many items sleeps for two seconds: for scripts/idle-second.
          --list                The scenarios' names.
          --help                This text.

        Ratios are what to read: the subjects take turns in one run, so that whatever else the machine
        does hits all of them. Run it twice, once as 'taskset -c 0 ...', which keeps out what it costs
        to wake another CPU. docs/benchmarks.md says more.

        """
    }

    private static func list(_ entries: [(name: String, summary: String)]) -> String {
        let width = entries.map(\.name.count).max() ?? 0
        return entries.map { "  \($0.name.padded(to: width))  \($0.summary)" }.joined(separator: "\n")
    }
}

/// An invalid command line. The message is one line: it quotes the command line with `debugDescription`.
struct UsageError: Error {
    let message: String

    init(_ message: String) { self.message = message }
}
