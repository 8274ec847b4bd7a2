extension ThrottleEngine.Snapshot {
    /// What is wrong with a snapshot: which rule, which field, what is there and what would be right.
    public struct Fault: Hashable, Sendable, CustomStringConvertible {
        /// Where the rule is in the list of rules, from 0. Nil when it is not about one rule.
        public let index: Int?
        /// The name of the rule's message, if it has one.
        public let message: String?
        /// The rule's target as the snapshot names it, if it does.
        public let target: String?
        /// The name of the field; nil when there are no fields.
        public let field: String?
        /// What is there, and what would be right.
        public let reason: String

        /// One line, whatever the snapshot holds: names are shortened, and their unprintable characters escaped.
        public var description: String {
            var parts: [String] = []
            if let index { parts.append("rules[\(index)]") }
            if let message { parts.append("(\"\(message.printable)\" of \(target.map(typeText) ?? "no target"))") }
            let place = parts.joined(separator: " ")
            let text = [field, reason].compactMap(\.self).joined(separator: " ")
            return place.isEmpty ? text : "\(place): \(text)"
        }
    }
}

/// A type as people call it, where the program has it; otherwise what the snapshot says.
func typeText(_ lastingName: String) -> String {
    type(withLastingName: lastingName).map { "\($0)" } ?? lastingName.printable
}

extension String {
    /// Fit for one line of a message: short, and with nothing that moves the cursor or turns the text round.
    var printable: String {
        let limit = 80
        let shown = unicodeScalars.prefix(limit).map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
                scalar.escaped(asASCII: true)
            default: scalar == "\"" || scalar == "\\" ? scalar.escaped(asASCII: true) : String(scalar)
            }
        }
        return shown.joined() + (unicodeScalars.count > limit ? "…" : "")
    }
}
