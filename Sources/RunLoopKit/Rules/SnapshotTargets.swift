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

    /// Whether the two are for one method, and for the same target or targets of one class hierarchy.
    func clashes(with other: FoundRule) -> Bool {
        guard waiting.rule.key == other.waiting.rule.key else { return false }
        if waiting.rule.target == other.waiting.rule.target { return true }
        guard let target, let otherTarget = other.target else { return false }
        return areRelated(target, otherTarget)
    }
}
