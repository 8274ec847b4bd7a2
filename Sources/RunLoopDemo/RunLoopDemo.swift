/// What RunLoopKit does, to be watched in a terminal: finds the subcommand that was asked for and runs it.
///
/// Each subcommand is a file in `Commands`. To add one, write it and put it into `commands`.
@main
struct RunLoopDemo {
    static let name = "RunLoopDemo"

    /// All subcommands; the first one is run when none is named.
    static let commands: [any Command] = [
        TraceCommand(), KeepAliveCommand(), ThrottleCommand(), ReplayCommand(), RulesCommand(),
        LinesCommand(),
    ]

    // Not async: an async main would give the initial thread, and with it `Loop.main`, away.
    static func main() {
        ignoreClosedPipes()
        let code = run(Array(CommandLine.arguments.dropFirst()))
        leave(with: Interruption.exitCode ?? code)
    }

    private static func run(_ words: [String]) -> ExitCode {
        do {
            return try dispatch(words)
        } catch let error as UsageError {
            let named = words.first.flatMap { word in commands.first { $0.name == word } }
            let page = named.map { "\(name) \($0.name)" } ?? name
            StandardError.write("\(name): \(error.message) (try '\(page) --help')\n")
            return .usage
        } catch let error as InputError {
            StandardError.write("\(name): \(error)\n")
            return .noInput
        } catch {
            StandardError.write("\(name): \(error)\n")
            return .failure
        }
    }

    private static func dispatch(_ words: [String]) throws -> ExitCode {
        // No subcommand, or an option where its name would be: the first one is meant.
        guard let first = words.first, !first.hasPrefix("-") || Help.isAskedFor(by: first) else {
            return try run(commands[0], words)
        }
        if first == "help" || Help.isAskedFor(by: first) {
            return try Help.show(for: words.dropFirst().first)
        }
        return try run(command(named: first), Array(words.dropFirst()))
    }

    private static func run(_ command: any Command, _ words: [String]) throws -> ExitCode {
        let arguments = try Arguments(words, options: command.options, operands: command.operands)
        if arguments.wantsHelp { return try Help.show(for: command.name) }
        return try command.run(arguments)
    }

    static func command(named name: String) throws(UsageError) -> any Command {
        guard let command = commands.first(where: { $0.name == name }) else {
            throw UsageError("unknown subcommand \(name.debugDescription)")
        }
        return command
    }
}
