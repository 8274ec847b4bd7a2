/// A subcommand: its name, its options, and what it does.
protocol Command: Sendable {
    /// The word that selects it.
    var name: String { get }

    /// One line, for the list of all subcommands.
    var summary: String { get }

    /// A paragraph or two for its own help.
    var discussion: String { get }

    var options: [Option] { get }

    /// Its operands; none by default.
    var operands: Operands { get }

    /// Runs the subcommand. `Interruption` handles an early end and its exit code. Throws a `UsageError` for invalid
    /// options before it writes anything.
    func run(_ arguments: Arguments) throws -> ExitCode
}

extension Command {
    var operands: Operands { .none }
}

/// An option of a subcommand, such as `--format json` or `--format=json`.
struct Option {
    /// Without the dashes.
    let name: String

    /// The placeholder of its value in the help; nil for a flag, which has no value.
    let value: String?

    /// One line.
    let summary: String

    static func flag(_ name: String, _ summary: String) -> Option {
        Option(name: name, value: nil, summary: summary)
    }

    static func value(_ name: String, _ value: String, _ summary: String) -> Option {
        Option(name: name, value: value, summary: summary)
    }

    /// The option as the user types it.
    var usage: String { value.map { "--\(name) <\($0)>" } ?? "--\(name)" }
}

/// The words of a subcommand besides its options.
struct Operands {
    /// Their form in the help, such as `[FILE]`.
    let usage: String
    let count: ClosedRange<Int>

    static let none = Operands(usage: "", count: 0...0)
}
