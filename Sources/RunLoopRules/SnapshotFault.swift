import RunLoopKit

extension RuleEngine.Snapshot {
    /// A fault in a snapshot: the rule, the field, its value and what would be valid.
    public struct Fault: Hashable, Sendable, CustomStringConvertible {
        /// The index of the rule in the list of rules. Nil if the fault does not concern one rule.
        public let index: Int?
        /// The name of the rule's method, if the snapshot has one.
        public let method: String?
        /// The rule's target as the snapshot names it, if it has one.
        public let target: String?
        /// The readable name of the target's type, if the engine knows the type.
        var targetText: String?
        /// The name of the field; nil if there are no fields.
        public let field: String?
        /// What the field contains, and what would be valid.
        public let reason: String

        /// One line, whatever the snapshot contains: names are shortened, and their unprintable characters escaped.
        public var description: String {
            let rule = method.map { "(\"\($0.excerpt)\" of \(targetText ?? target?.excerpt ?? "no target"))" }
            let place = [index.map { "rules[\($0)]" }, rule].compactMap(\.self).joined(separator: " ")
            let text = [field, reason].compactMap(\.self).joined(separator: " ")
            return place.isEmpty ? text : "\(place): \(text)"
        }
    }
}
