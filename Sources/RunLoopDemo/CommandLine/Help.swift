/// The texts of `--help`, made from the subcommands' declarations.
enum Help {
    static func isAskedFor(by word: String) -> Bool { word == "--help" || word == "-h" }

    /// Shows the help of one subcommand, or of the whole program.
    static func show(for name: String?) throws -> ExitCode {
        guard let name, name != "help", !isAskedFor(by: name) else {
            StandardOutput.write(overview)
            return .success
        }
        StandardOutput.write(page(of: try RunLoopDemo.command(named: name)))
        return .success
    }

    private static var overview: String {
        let program = RunLoopDemo.name
        return """
            Shows what RunLoopKit does.

            Usage: \(program) [<subcommand>] [<option>...]
                   \(program) <subcommand> --help

            Subcommands:
            \(table(RunLoopDemo.commands.map { ($0.name, $0.summary) } + [("help", "Shows this text.")]))

            Without a subcommand the program runs '\(program) \(RunLoopDemo.commands[0].name)'.

            Exit codes:
              0    success
              1    failure
              64   invalid command line
              65   malformed input
              66   input that cannot be read
              130  ended by Ctrl-C; other signals: 128 plus the signal's number

            Text is as wide as the terminal. Elsewhere COLUMNS is its width; the default is 80 columns. Text on a
            terminal has colours, unless NO_COLOR is set or TERM is 'dumb'.

            """
    }

    private static func page(of command: any Command) -> String {
        let usage = [RunLoopDemo.name, command.name, "[<option>...]", command.operands.usage]
        return """
            \(command.summary)

            Usage: \(usage.filter { !$0.isEmpty }.joined(separator: " "))

            \(command.discussion)

            Options:
            \(table(command.options.map { ($0.usage, $0.summary) } + [("--help", "Shows this text.")]))

            """
    }

    private static func table(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { "  \($0.0.padded(to: width))  \($0.1)" }.joined(separator: "\n")
    }
}
