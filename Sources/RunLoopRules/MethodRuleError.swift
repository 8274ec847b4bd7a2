import RunLoopKit

/// The reason why a rule, or a snapshot of rules, could not be applied or discarded. Nothing was changed then.
///
/// After a `catch` for one case write another one without a pattern: in some programs the compiler of Swift 6.3 crashes
/// without it.
public enum MethodRuleError: Error, CustomStringConvertible {
    /// The rule is in force already.
    case alreadyApplied(AnyMethodRule)

    /// The rule is not in force: it was never applied, was discarded or replaced, or its object is deallocated.
    case notApplied(AnyMethodRule)

    /// A class above or below the rule's already has a rule for the method: there is one for each class hierarchy. A
    /// `catch` for this case alone needs another one without a pattern after it: see ``MethodRuleError``.
    case conflict(AnyMethodRule, standing: AnyMethodRule)

    /// The object that the rule is for is deallocated, or its method.
    case targetIsGone(AnyMethodRule)

    /// The rule's method belongs to another engine.
    case otherEngine(AnyMethodRule)

    /// The rule is persistent, but its type is private or local to a function: the names of such types change from one
    /// start to the next. Or the type's mangled name is longer than 4,096 bytes.
    case noLastingName(AnyMethodRule)

    /// The snapshot has a version that this engine does not know.
    case unknownVersion(Int)

    /// The snapshot is invalid: in which rule and which field, and what would be valid.
    case invalidSnapshot(RuleEngine.Snapshot.Fault)

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
            "\(rule.subject): the object or its method is deallocated; make a rule for one that is there"
        case .otherEngine(let rule):
            "\(rule.subject): the method belongs to another engine; use the one that it was declared with"
        case .noLastingName(let rule):
            "\(rule.subject): a rule for a private or local type cannot be persistent; make the type internal, "
                + "and its mangled name no longer than \(longestTypeName) bytes"
        case .unknownVersion(let version):
            "snapshot of rules: unknown version \(version); this program knows version "
                + "\(RuleEngine.Snapshot.currentVersion)"
        case .invalidSnapshot(let fault):
            "snapshot of rules: \(fault)"
        }
    }
}
