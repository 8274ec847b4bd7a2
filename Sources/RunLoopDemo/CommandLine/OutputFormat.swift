/// The audience of the output: people (text), or programs (JSON objects, one on each line).
enum OutputFormat: String, CaseIterable {
    case text, json
}

extension Option {
    static let format = Option.value("format", "text|json", "Text for people, or JSON for programs. Default: text.")
}

extension Arguments {
    /// The value of `--format`.
    func format() throws(UsageError) -> OutputFormat { try choice("format", default: .text) }
}
