// Names and labels come from outside of the library: from files, users, other programs. Text that the library makes for
// people contains them escaped.

extension Unicode.Scalar {
    /// Whether a terminal shows the character and does nothing else. Control characters move its cursor, or worse;
    /// bidirectional overrides make text look like other text; line separators and invisible characters hide text.
    package var isPrintable: Bool {
        if value < 0x7F { return value >= 0x20 }
        return switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        // Joiners are parts of words and of emoji.
        case .format: self == "\u{200C}" || self == "\u{200D}"
        default: true
        }
    }
}

extension String {
    /// The text with every unprintable character as an escape, such as `\n` or `\u{202E}`.
    package var printable: String {
        guard !unicodeScalars.allSatisfy(\.isPrintable) else { return self }
        return unicodeScalars.reduce(into: "") { $0 += $1.isPrintable ? String($1) : $1.escaped(asASCII: true) }
    }

    /// The beginning of the text, for quotation marks in one line of output: quotation marks are escaped, too.
    package var excerpt: String {
        let limit = 80
        let start = unicodeScalars.prefix(limit).map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0).printable }
        return start.joined() + (unicodeScalars.count > limit ? "…" : "")
    }
}
