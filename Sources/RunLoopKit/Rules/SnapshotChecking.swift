// Checks whether the rules of a snapshot can take effect: against the program's types and methods, and each other.

/// A rule from a snapshot, with its index there. It waits until it can take effect.
struct WaitingRule {
    let index: Int
    let rule: ThrottleEngine.Snapshot.Rule
    let loop: Loop

    /// The method and the target that it is for.
    struct Target: Hashable {
        let method: MethodKey
        let name: String
    }

    var target: Target { Target(method: rule.key, name: rule.target) }

    func fault(_ field: String, _ reason: String) -> ThrottleEngine.Snapshot.Fault {
        .init(index: index, method: rule.method, target: rule.target, field: field, reason: reason)
    }
}

/// A rule from a snapshot, with the program's types of its names.
struct FoundRule {
    let waiting: WaitingRule
    let declaringType: Any.Type?
    let target: Any.Type?

    /// The fault of the types, as far as they are known.
    var fault: ThrottleEngine.Snapshot.Fault? {
        if let declaringType, !waiting.rule.isStatic, !(declaringType is AnyClass) {
            return waiting.fault(
                "type", "is \(declaringType), which is no class; it must be a class, unless \"isStatic\" is true")
        }
        guard let target else { return nil }
        guard let declaringType else {
            // A program that has a class also has the classes above it.
            return waiting.fault(
                "type", "names no type of this program; it must be \(target), the target, or a class above it")
        }
        guard isSubtype(target, of: declaringType) else {
            return waiting.fault(
                "target",
                "is \(target), which does not have this method; it must be \(declaringType) or a class below it")
        }
        return nil
    }
}

/// The targets of one method's rules, so that another rule can be checked against all of them at once.
struct TargetHierarchy {
    private var names: [String: WaitingRule] = [:]
    private var types: [ObjectIdentifier: WaitingRule] = [:]
    /// The rule below each class that is above one of `types`.
    private var above: [ObjectIdentifier: WaitingRule] = [:]

    /// Adds a rule, unless there is one in its hierarchy already, which it returns.
    mutating func add(_ rule: FoundRule) -> WaitingRule? {
        let waiting = rule.waiting
        if let same = names.updateValue(waiting, forKey: waiting.rule.target) { return same }
        guard let type = rule.target else { return nil }
        let id = ObjectIdentifier(type)
        let higher = superclasses(of: type).map { ObjectIdentifier($0) }
        if let other = types[id] ?? above[id] ?? higher.lazy.compactMap({ [types] in types[$0] }).first { return other }
        types[id] = waiting
        for id in higher { above[id] = waiting }
        return nil
    }
}
