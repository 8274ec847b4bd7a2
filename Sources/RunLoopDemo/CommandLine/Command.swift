/// A subcommand: what it is called, what it takes, and what it does.
protocol Command: Sendable {
    /// What is typed for it.
    var name: String { get }

    /// One line, for the list of all subcommands.
    var summary: String { get }

    /// What it shows, in a paragraph or two, for its own help.
    var discussion: String { get }

    var options: [Option] { get }

    /// What it takes beside options; nothing, unless it says otherwise.
    var operands: Operands { get }

    /// Does it. An early end is `Interruption`'s affair, its exit code too. Options that make no sense are a thrown
    /// `UsageError`, to be found before anything is written.
    func run(_ arguments: Arguments) throws -> ExitCode
}

extension Command {
    var operands: Operands { .none }
}

/// An option of a subcommand, such as `--format json` or `--format=json`.
struct Option {
    /// Without the dashes.
    let name: String

    /// What stands for its value in the help; nil for a flag, which has none.
    let value: String?

    /// One line.
    let summary: String

    static func flag(_ name: String, _ summary: String) -> Option {
        Option(name: name, value: nil, summary: summary)
    }

    static func value(_ name: String, _ value: String, _ summary: String) -> Option {
        Option(name: name, value: value, summary: summary)
    }

    /// As it is typed.
    var usage: String { value.map { "--\(name) <\($0)>" } ?? "--\(name)" }
}

/// The words that a subcommand takes beside its options.
struct Operands {
    /// As the help shows them, such as `[FILE]`.
    let usage: String
    let count: ClosedRange<Int>

    static let none = Operands(usage: "", count: 0...0)
}
