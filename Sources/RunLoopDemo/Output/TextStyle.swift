/// Colours and weights of text, by the terminal's escape codes.
enum TextStyle: String {
    case bold = "1"
    case dim = "2"
    case green = "32"
    case yellow = "33"
    case blue = "34"
    case magenta = "35"
    case cyan = "36"

    /// Whether text on standard output may have colours: only for people, on a terminal that supports them, and unless
    /// NO_COLOR is set (https://no-color.org).
    static var isWanted: Bool {
        StandardOutput.isTerminal && terminalUnderstandsEscapes && environmentVariable("NO_COLOR") == nil
    }

    /// Whether TERM names a terminal that supports escape codes.
    static var terminalUnderstandsEscapes: Bool { environmentVariable("TERM").map { $0 != "dumb" } ?? false }

    func applied(to text: String) -> String {
        text.isEmpty ? text : "\u{1B}[\(rawValue)m\(text)\u{1B}[0m"
    }
}
