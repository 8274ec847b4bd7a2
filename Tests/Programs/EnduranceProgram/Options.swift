/// The request on the command line.
struct Options {
    enum Format: String, CaseIterable { case text, json }

    private(set) var scenarios: [ScenarioName] = []
    private(set) var share = 1.0
    private(set) var windows = 200
    private(set) var format = Format.text
    private(set) var leak: Leak?
    private(set) var isHelp = false

    init(_ words: [String]) throws(UsageError) {
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--help", "-h":
                isHelp = true
                return
            case "--share": share = try Options.number(word, rest.popFirst()) { $0 > 0 && $0 <= 1 }
            case "--windows": windows = Int(try Options.number(word, rest.popFirst()) { $0 >= 8 && $0 <= 10_000 })
            case "--format": format = try Options.named(word, rest.popFirst())
            case "--plant": leak = try Options.named(word, rest.popFirst()) as Leak
            default: scenarios.append(try Options.scenario(word))
            }
        }
        if scenarios.isEmpty { scenarios = ScenarioName.allCases }
    }

    private static func scenario(_ word: String) throws(UsageError) -> ScenarioName {
        if let name = ScenarioName(rawValue: word) { return name }
        throw UsageError("unknown \(word.hasPrefix("-") ? "option" : "scenario") \(word.debugDescription)")
    }

    private static func number(
        _ option: String, _ word: String?, _ isGood: (Double) -> Bool
    ) throws(UsageError) -> Double {
        guard let word else { throw UsageError("\(option) needs a value") }
        guard let number = Double(word), isGood(number) else {
            throw UsageError("\(option) cannot be \(word.debugDescription)")
        }
        return number
    }

    private static func named<Choice: RawRepresentable<String> & CaseIterable>(
        _ option: String, _ word: String?
    ) throws(UsageError) -> Choice {
        guard let word else { throw UsageError("\(option) needs a value") }
        guard let choice = Choice(rawValue: word) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("\(option) cannot be \(word.debugDescription), only one of: \(known)")
        }
        return choice
    }

    static let help = """
        Plays programs that run for long, beside a second process that takes a CPU, and samples memory, descriptors,
        threads and latency on the way. Fails if one of the first three grows, or if anything is lost.

        Usage: EnduranceProgram [<scenario>...] [<option>...]

        Scenarios, all of which are played when none is named:
        \(ScenarioName.allCases.map { "  \($0.rawValue.padded(to: 9)) \($0.summary)" }.joined(separator: "\n"))

        Options:
          --share <share>       How much of each scenario, above 0 and up to 1. Default: 1.
          --windows <count>     How many samples, from 8 to 10000. Default: 200.
          --format <text|json>  A summary, or one JSON object a line. Default: text.
          --plant <leak>        A mistake in each window, which must be noticed:
                                \(Leak.allCases.map(\.rawValue).joined(separator: ", ")).
          --help                This text.

        The exit code is 0 if all laws hold, 1 if one does not, and 64 for a command line that says nothing.

        """
}

/// An invalid command line. The message is one line: it quotes the command line with `debugDescription`.
struct UsageError: Error {
    let message: String

    init(_ message: String) { self.message = message }
}
