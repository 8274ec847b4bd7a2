/// Why a rule, or a snapshot of rules, could not be applied or discarded. Nothing was changed then.
public enum ThrottleRuleError: Error, CustomStringConvertible {
    /// The rule is in force already.
    case alreadyApplied(ThrottleRule)

    /// The rule is not in force: never applied, discarded, replaced, or its object has gone.
    case notApplied(ThrottleRule)

    /// A class above or below the rule's already has a rule for the message: one for each class hierarchy.
    case conflict(ThrottleRule, standing: ThrottleRule)

    /// The object that the rule is for has gone, or its message.
    case targetIsGone(ThrottleRule)

    /// The rule's message belongs to another engine.
    case otherEngine(ThrottleRule)

    /// The rule is persistent, but its type is private or local to a function: such types have no name that is the same
    /// at the next start.
    case noLastingName(ThrottleRule)

    /// A snapshot of a version that this engine does not know.
    case unknownVersion(Int)

    /// A snapshot that makes no sense: which rule, which field, and what would be right.
    case invalidSnapshot(ThrottleEngine.Snapshot.Fault)

    /// One line: the rule, what is wrong, and the way out.
    public var description: String {
        switch self {
        case .alreadyApplied(let rule):
            "\(rule.subject): the rule is applied already; change its settings, or discard it first"
        case .notApplied(let rule):
            "\(rule.subject): the rule is not applied (any more), so there is nothing to discard"
        case .conflict(let rule, let standing):
            "\(rule.subject): there is a rule in the class hierarchy already (\(standing)); discard that one first"
        case .targetIsGone(let rule):
            "\(rule.subject): the object has gone, or its message; make a rule for what is there"
        case .otherEngine(let rule):
            "\(rule.subject): the message belongs to another engine; use the one that it was declared with"
        case .noLastingName(let rule):
            "\(rule.subject): a rule for a private or local type cannot be persistent; make the type internal"
        case .unknownVersion(let version):
            "snapshot of rules: unknown version \(version); this program knows version "
                + "\(ThrottleEngine.Snapshot.currentVersion)"
        case .invalidSnapshot(let fault):
            "snapshot of rules: \(fault)"
        }
    }
}
