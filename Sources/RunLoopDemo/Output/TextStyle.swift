/// Colours and weights of text, by the terminal's escape codes.
enum TextStyle: String {
    case bold = "1"
    case dim = "2"
    case green = "32"
    case yellow = "33"
    case blue = "34"
    case magenta = "35"
    case cyan = "36"

    /// Whether text written to standard output may have colours: only for people (https://no-color.org).
    static var isWanted: Bool { StandardOutput.isTerminal && environmentVariable("NO_COLOR") == nil }

    func applied(to text: String) -> String {
        text.isEmpty ? text : "\u{1B}[\(rawValue)m\(text)\u{1B}[0m"
    }
}
