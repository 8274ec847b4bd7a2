import Synchronization

/// The rules of one method.
///
/// Objects' rules are found by address, types' rules by a linear search: there are few. The lock guards the rules,
/// their settings and their states. It is never held when an object is released whose `deinit` may call back: such
/// objects are collected in `Remains`.
///
/// **Lock order.** The engine's, this one, a limiter's, a loop's.
///
/// It does not know the types of targets and inputs: a call would be many times slower in generic code.
@usableFromInline
final class RuleBook: @unchecked Sendable {
    typealias MakeRule = @Sendable (RuleBook, Any.Type, ThrottleRule.Settings) -> ThrottleRule

    /// What to do with a call.
    @usableFromInline
    enum Verdict {
        case run, ignore
        case hold(DelayedCall)
        /// A `MergedCalls` of the method's input.
        case merge(AnyObject)
    }

    /// Objects to release without the lock.
    struct Remains {
        var rules: [ThrottleRule] = []
        var objects: [AnyObject] = []
        var delayed: [any HeldCalls] = []

        /// Runs the delayed calls of discarded rules, and releases everything.
        consuming func settle() { for delayed in delayed { delayed.flush() } }
    }

    let name: String
    let declaringType: Any.Type
    let isStatic: Bool
    let engine: ThrottleEngine
    private let makeRule: MakeRule

    /// Whether a call has to look here at all. Written with the lock held.
    @usableFromInline let hasRules = Atomic<Bool>(false)

    let lock = Lock(.book)

    // Guarded by `lock`.
    private var objectRules: [ObjectIdentifier: ThrottleRule] = [:]
    private var typeRules: [ThrottleRule] = []
    /// Whether the method is deallocated, so that it cannot be called any more.
    private var isClosed = false
    /// The number of objects' rules at which to remove those of deallocated objects. Grows with the rules that remain,
    /// so that the cost for each rule is constant.
    private var purgeCount = 16
    /// How many rules all purges together have looked at. For tests.
    private(set) var purgeLooks = 0

    init(
        _ name: String, of declaringType: Any.Type, isStatic: Bool, engine: ThrottleEngine, makeRule: @escaping MakeRule
    ) {
        (self.name, self.declaringType, self.isStatic) = (name, declaringType, isStatic)
        (self.engine, self.makeRule) = (engine, makeRule)
    }

    func makeRule(for type: Any.Type, _ settings: ThrottleRule.Settings) -> ThrottleRule {
        makeRule(self, type, settings)
    }

    // MARK: Calling

    /// Decides what to do with a call that is made now.
    ///
    /// - Parameters:
    ///   - object: The target; nil for a static method.
    ///   - type: The target's type; for a static method the target itself.
    ///   - isException: Asks a rule's predicate. Called without the lock.
    @usableFromInline
    func verdict(on object: ObjectIdentifier?, of type: Any.Type, isException: (ThrottleRule) -> Bool) -> Verdict {
        var superseded: (any HeldCalls)?
        var remains = Remains()
        lock.lock()
        var rule = rule(for: object, of: type, &remains)
        if let asked = rule, asked.hasPredicate {
            lock.unlock()
            if isException(asked) { return .run }
            lock.lock()
            // The predicate or another thread may have changed the rules. A call asks one predicate only: otherwise one
            // that always applies a new rule with a predicate would never let the call finish.
            rule = self.rule(for: object, of: type, &remains)
        }
        let verdict = rule?.decide(superseding: &superseded) ?? .run
        lock.unlock()
        superseded?.giveWay()
        withExtendedLifetime(remains) {}
        return verdict
    }

    // MARK: Finding. The lock is held.

    /// The rule that counts for a call: the object's own, or its class's.
    private func rule(for object: ObjectIdentifier?, of type: Any.Type, _ remains: inout Remains) -> ThrottleRule? {
        if !objectRules.isEmpty, let object, let rule = ownRule(of: object, &remains) { return rule }
        if typeRules.isEmpty { return nil }
        let id = ObjectIdentifier(type)
        return typeRules.first { $0.targetID == id } ?? typeRules.first { isSubtype(type, of: $0.type!) }
    }

    /// The object's own rule. One found at its address may belong to a deallocated object; its weak reference is nil
    /// then, since only one object can live at this address.
    private func ownRule(of id: ObjectIdentifier, _ remains: inout Remains) -> ThrottleRule? {
        guard let rule = objectRules[id] else { return nil }
        // Not the last reference: the caller has another.
        if rule.liveObject != nil { return rule }
        objectRules[id] = nil
        retire(rule, &remains)
        return nil
    }

    /// The rule of a class above or below `type`.
    func obstacle(for type: Any.Type) -> ThrottleRule? {
        let id = ObjectIdentifier(type)
        return typeRules.first { $0.targetID != id && areRelated($0.type!, type) }
    }

    func rule(for type: Any.Type) -> ThrottleRule? {
        let id = ObjectIdentifier(type)
        return typeRules.first { $0.targetID == id }
    }

    /// All rules in force.
    func all(_ remains: inout Remains) -> [ThrottleRule] {
        purge(&remains)
        return typeRules + objectRules.values
    }

    // MARK: Changing. The lock is held.

    /// Applies a rule, which replaces one for the same target.
    func apply(_ rule: ThrottleRule, at place: Int, _ remains: inout Remains) throws(ThrottleRuleError) {
        guard rule.place == nil else { throw .alreadyApplied(rule) }
        guard !isClosed else { throw .targetIsGone(rule) }
        if let type = rule.type {
            if let obstacle = obstacle(for: type) { throw .conflict(rule, standing: obstacle) }
            replace(self.rule(for: type), by: rule, at: place, &remains)
            typeRules.append(rule)
        } else {
            guard let object = rule.liveObject else { throw .targetIsGone(rule) }
            remains.objects.append(object)
            if objectRules.count >= purgeCount { purge(&remains) }
            replace(ownRule(of: rule.targetID, &remains), by: rule, at: place, &remains)
            objectRules[rule.targetID] = rule
        }
        updateHasRules()
    }

    private func replace(_ old: ThrottleRule?, by rule: ThrottleRule, at place: Int, _ remains: inout Remains) {
        rule.place = old?.place ?? place
        guard let old else { return }
        rule.takeOver(from: old)
        typeRules.removeAll { $0 === old }
        retire(old, &remains)
    }

    /// Takes a rule out of force. Its delayed calls are added to the remains.
    func discard(_ rule: ThrottleRule, _ remains: inout Remains) throws(ThrottleRuleError) {
        guard rule.place != nil else { throw .notApplied(rule) }
        let object = rule.liveObject
        if let object { remains.objects.append(object) }
        typeRules.removeAll { $0 === rule }
        if rule.type == nil { objectRules[rule.targetID] = nil }
        if let delayed = rule.takeDelayed() { remains.delayed.append(delayed) }
        retire(rule, &remains)
        // The rule had discarded itself with its object.
        if rule.type == nil, object == nil { throw .notApplied(rule) }
    }

    /// Discards all rules, since the method is deallocated. That breaks the cycles between the rules and the book.
    func close(_ remains: inout Remains) {
        isClosed = true
        for rule in typeRules + objectRules.values {
            if let delayed = rule.takeDelayed() { remains.delayed.append(delayed) }
            retire(rule, &remains)
        }
        (typeRules, objectRules) = ([], [:])
        updateHasRules()
    }

    /// Removes the rules of deallocated objects.
    private func purge(_ remains: inout Remains) {
        purgeLooks += objectRules.count
        for (id, rule) in objectRules {
            if let object = rule.liveObject {
                remains.objects.append(object)
            } else {
                objectRules[id] = nil
                retire(rule, &remains)
            }
        }
        purgeCount = max(16, 2 * objectRules.count)
    }

    private func retire(_ rule: ThrottleRule, _ remains: inout Remains) {
        rule.place = nil
        remains.rules.append(rule)
        updateHasRules()
    }

    private func updateHasRules() {
        // Relaxed: see `ThrottledMethod.callAsFunction(_:_:)`, which reads it.
        hasRules.store(!typeRules.isEmpty || !objectRules.isEmpty, ordering: .relaxed)
    }
}
