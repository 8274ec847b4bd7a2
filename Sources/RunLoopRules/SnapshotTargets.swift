// Checks whether the rules of a snapshot can take effect: against the program's types and methods, and each other.

import RunLoopKit

/// A rule from a snapshot, with its index there. It waits until it can take effect.
struct WaitingRule {
    let index: Int
    let rule: RuleEngine.Snapshot.Rule
    let loop: Loop

    /// The method and the target that it is for.
    struct Target: Hashable {
        let method: MethodKey
        let name: String
    }

    var target: Target { Target(method: rule.key, name: rule.target) }
}

/// A rule from a snapshot, with the types of its names, as far as the engine knows them.
struct FoundRule {
    let waiting: WaitingRule
    let declaringType: Any.Type?
    let target: Any.Type?

    /// The name of the target in messages.
    var targetText: String { (target.map { "\($0)" } ?? waiting.rule.target).excerpt }

    func fault(_ field: String, _ reason: String) -> RuleEngine.Snapshot.Fault {
        let rule = waiting.rule
        return .init(
            index: waiting.index, method: rule.method, target: rule.target, targetText: targetText, field: field,
            reason: reason)
    }

    /// The fault of the types, as far as they are known.
    var fault: RuleEngine.Snapshot.Fault? {
        if let declaringType, !waiting.rule.isStatic, !(declaringType is AnyClass) {
            return fault(
                "type", "is \(declaringType), which is no class; it must be a class, unless \"isStatic\" is true")
        }
        guard let target else { return nil }
        guard let declaringType else {
            // The engine knows all classes above one that it knows.
            return fault(
                "type",
                "is \"\(waiting.rule.type.excerpt)\"; it must be \(target), the target, or a class above it")
        }
        guard isSubtype(target, of: declaringType) else {
            return fault(
                "target",
                "is \(target), which does not have this method; it must be \(declaringType) or a class below it")
        }
        return nil
    }

    /// The fault that there is another rule in the class hierarchy, or for the same target.
    func clash(_ others: String, with other: FoundRule, _ wayOut: String) -> RuleEngine.Snapshot.Fault {
        let clash =
            waiting.target == other.waiting.target
            ? "appears twice: \(others) for it too"
            : "is one of two in a class hierarchy: \(others) for \(other.targetText)"
        return fault("target", "\(clash); a method has one rule there: \(wayOut)")
    }
}

/// Rules of which no two are for the same target of a method, nor for two targets of one class hierarchy.
///
/// Finding a rule takes as long as there are known targets of the method: a snapshot may have many unknown ones.
struct CompatibleRules {
    private var byTarget: [WaitingRule.Target: FoundRule] = [:]
    private var withKnownTargets: [MethodKey: [FoundRule]] = [:]

    mutating func add(_ rule: FoundRule) {
        byTarget[rule.waiting.target] = rule
        if rule.target != nil { withKnownTargets[rule.waiting.rule.key, default: []].append(rule) }
    }

    /// The rule for the same target, or for one of the same class hierarchy.
    func rule(clashingWith rule: FoundRule) -> FoundRule? {
        if let same = byTarget[rule.waiting.target] { return same }
        guard let target = rule.target else { return nil }
        return withKnownTargets[rule.waiting.rule.key]?.first { areRelated($0.target!, target) }
    }
}
