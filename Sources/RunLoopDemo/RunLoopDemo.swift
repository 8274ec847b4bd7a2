/// Shows in a terminal what RunLoopKit does: finds the requested subcommand and runs it.
///
/// Each subcommand is a file in `Commands`. To add one, write it and add it to `AllCommands.swift`.
@main
struct RunLoopDemo {
    static let name = "RunLoopDemo"

    // Not async: an async main would give away the initial thread, and with it `Loop.main`.
    static func main() {
        StandardDescriptors.openMissing()
        ignoreClosedPipes()
        let code = run()
        leave(with: Interruption.exitCode ?? code)
    }

    private static func run() -> ExitCode {
        var page = name
        do {
            let words = try Arguments.words()
            if let first = words.first, commands.contains(where: { $0.name == first }) { page += " \(first)" }
            return try dispatch(words)
        } catch let error as UsageError {
            StandardError.complain("\(error.message) (try '\(page) --help')")
            return .usage
        } catch let error as MalformedInput {
            StandardError.complain(error.message)
            return .malformedInput
        } catch {
            StandardError.complain("\(error)")
            return error is InputError ? .noInput : .failure
        }
    }

    private static func dispatch(_ words: [String]) throws -> ExitCode {
        // Without a subcommand's name, or with an option in its place, the first one runs.
        guard let first = words.first, !first.hasPrefix("-") || Help.isAskedFor(by: first) else {
            return try run(commands[0], words)
        }
        if first == "help" || Help.isAskedFor(by: first) {
            if words.count > 2 { throw UsageError("unexpected argument \(words[2].debugDescription)") }
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
