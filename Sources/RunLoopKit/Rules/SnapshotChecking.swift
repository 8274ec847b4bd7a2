// Whether the rules of a snapshot can take effect: against the program's types and messages, and each other.

/// A rule from a snapshot, and where in it. It waits as long as it cannot take effect.
struct WaitingRule {
    let index: Int
    let rule: ThrottleEngine.Snapshot.Rule
    let loop: Loop

    /// What it is for.
    struct Target: Hashable {
        let message: MessageKey
        let name: String
    }

    var target: Target { Target(message: rule.key, name: rule.target) }

    func fault(_ field: String, _ reason: String) -> ThrottleEngine.Snapshot.Fault {
        .init(index: index, message: rule.message, target: rule.target, field: field, reason: reason)
    }
}

/// A rule from a snapshot, with the types that the program has for its names.
struct FoundRule {
    let entry: WaitingRule
    let declaringType: Any.Type?
    let target: Any.Type?

    /// What is wrong with the types, as far as they are known.
    var fault: ThrottleEngine.Snapshot.Fault? {
        if let declaringType, !entry.rule.isStatic, !(declaringType is AnyClass) {
            return entry.fault(
                "type", "is \(declaringType), which is no class; it must be a class, unless \"isStatic\" is true")
        }
        guard let target else { return nil }
        guard let declaringType else {
            // A class brings the classes above it along.
            return entry.fault(
                "type", "names no type of this program; it must be \(target), the target, or a class above it")
        }
        guard isSubtype(target, of: declaringType) else {
            return entry.fault(
                "target",
                "is \(target), which does not have this message; it must be \(declaringType) or a class below it")
        }
        return nil
    }
}

/// The targets of one message's rules, so that a further one can be checked against all of them in one look.
struct TargetHierarchy {
    private var names: [String: WaitingRule] = [:]
    private var types: [ObjectIdentifier: WaitingRule] = [:]
    /// For each class above one of them.
    private var above: [ObjectIdentifier: WaitingRule] = [:]

    /// Adds a rule, and returns the one in its hierarchy that was there before.
    mutating func add(_ rule: FoundRule) -> WaitingRule? {
        let entry = rule.entry
        if let same = names.updateValue(entry, forKey: entry.rule.target) { return same }
        guard let type = rule.target else { return nil }
        let id = ObjectIdentifier(type)
        let higher = superclasses(of: type).map { ObjectIdentifier($0) }
        if let other = types[id] ?? above[id] ?? higher.lazy.compactMap({ [types] in types[$0] }).first { return other }
        types[id] = entry
        for id in higher { above[id] = entry }
        return nil
    }
}
