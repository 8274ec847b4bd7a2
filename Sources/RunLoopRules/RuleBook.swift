import RunLoopKit
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
    typealias MakeRule = @Sendable (RuleBook, Any.Type, AnyMethodRule.Settings) -> AnyMethodRule

    /// What to do with a call.
    @usableFromInline
    enum Verdict {
        case run, ignore
        case hold(HeldCalls)
    }

    /// Objects to release without the lock.
    struct Remains {
        var rules: [AnyMethodRule] = []
        var objects: [AnyObject] = []
        var delayed: [HeldCalls] = []

        /// Runs the delayed calls of rules that do not count any more, and releases everything.
        consuming func settle() { for delayed in delayed { delayed.flush() } }
    }

    let name: String
    let declaringType: Any.Type
    let isStatic: Bool
    /// The method's name in snapshots. Nil when the type that declares it has no lasting name.
    let key: MethodKey?
    let engine: RuleEngine
    private let makeRule: MakeRule

    /// Whether a call has to look here at all: there are rules, or some wait. Written with the lock held.
    @usableFromInline let hasRules = Atomic<Bool>(false)

    /// Whether any rule has ever delayed a call. Written with the lock held.
    @usableFromInline let mayHaveDelayed = Atomic<Bool>(false)

    let lock = Lock(.book)

    // Guarded by `lock`. Exclusivity is unchecked, as in `Loop`.
    @exclusivity(unchecked) private var objectRules: [ObjectIdentifier: AnyMethodRule] = [:] {
        didSet { lastFound = nil }
    }
    /// The object's rule that was found last, since hashing an address takes as long as the rest of a call.
    @exclusivity(unchecked) private var lastFound: AnyMethodRule?
    @exclusivity(unchecked) private var typeRules: [AnyMethodRule] = [] {
        didSet { lastTypeRule = nil }
    }
    /// The type's rule that was found last, and the type of the target. A class's rule is for subclasses too, and only
    /// a dynamic cast recognizes them.
    @exclusivity(unchecked) private var lastTypeRule: AnyMethodRule?
    @exclusivity(unchecked) private var lastType: ObjectIdentifier?
    /// Whether rules from a snapshot wait for this method: for subclasses, which the engine knows only when a call has
    /// shown them.
    @exclusivity(unchecked) var awaitsTargets = false {
        didSet { updateHasRules() }
    }
    /// The targets' types that calls have shown to the engine.
    @exclusivity(unchecked) private var metTypes: Set<ObjectIdentifier> = []
    /// Whether the method is deallocated, so that it cannot be called any more.
    @exclusivity(unchecked) private var isClosed = false
    /// The number of objects' rules at which to remove those of deallocated objects. Grows with the rules that remain,
    /// so that the cost for each rule is constant.
    @exclusivity(unchecked) private var purgeCount = 16
    /// How many rules all purges together have looked at. For tests.
    @exclusivity(unchecked) private(set) var purgeLooks = 0

    init(
        _ name: String, of declaringType: Any.Type, isStatic: Bool, engine: RuleEngine, makeRule: @escaping MakeRule
    ) {
        (self.name, self.declaringType, self.isStatic) = (name, declaringType, isStatic)
        key = MethodKey(method: name, of: declaringType, isStatic: isStatic)
        (self.engine, self.makeRule) = (engine, makeRule)
    }

    func makeRule(for type: Any.Type, _ settings: AnyMethodRule.Settings) -> AnyMethodRule {
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
    func verdict(on object: ObjectIdentifier?, of type: Any.Type, isException: (AnyMethodRule) -> Bool) -> Verdict {
        var superseded: HeldCalls?
        var stale: AnyMethodRule?
        /// The rule whose predicate was asked. That may have released the other references.
        var questioned: AnyMethodRule?
        lock.lock()
        // Without the general case, whose result is retained. That takes 60 instructions.
        if objectRules.isEmpty, let lastTypeRule, lastType == ObjectIdentifier(type), lastTypeRule.ignoresCall {
            lock.unlock()
            return .ignore
        }
        if awaitsTargets { meet(type) }
        var rule = rule(for: object, of: type, &stale)
        if let asked = rule, asked.hasPredicate {
            lock.unlock()
            if isException(asked) { return .run }
            questioned = asked
            lock.lock()
            // The predicate or another thread may have changed the rules. A call asks one predicate only: otherwise one
            // that always applies a new rule with a predicate would never let the call finish.
            rule = self.rule(for: object, of: type, &stale)
        }
        var begins = false
        let verdict = rule?.decide(superseding: &superseded, beginning: &begins) ?? .run
        lock.unlock()
        superseded?.giveWay()
        if begins, case .hold(let made) = verdict { made.reportIfMainIsGone() }
        withExtendedLifetime((stale, questioned)) {}
        return verdict
    }

    /// Shows the engine a type that it may not know. The lock is held, but not while the engine works.
    @inline(never)
    private func meet(_ type: Any.Type) {
        if metTypes.contains(ObjectIdentifier(type)) { return }
        lock.unlock()
        engine.meet(type, in: self)
        lock.lock()
    }

    /// The engine knows a type. The lock is held.
    func noteAsMet(_ type: Any.Type) { metTypes.insert(ObjectIdentifier(type)) }

    /// The `DelayedCall` that takes a call on an object, if that has the object's last call: then the object is alive,
    /// and the rule at its address is its own. Otherwise `verdict` decides. Looking at the rule's weak reference would
    /// take 250 instructions.
    @usableFromInline
    func delayedCall(on object: ObjectIdentifier, of type: Any.Type) -> HeldCalls? {
        lock.lock()
        defer { lock.unlock() }
        // Most calls. Without the general case, whose result is retained.
        if let lastFound, lastFound.targetID == object { return lastFound.delayedCall }
        return (lookUpRule(at: object) ?? typeRule(for: type))?.delayedCall
    }

    /// A rule will delay calls. The lock is held.
    func mayDelay() {
        // Relaxed: it guards nothing. A thread that does not see it asks `verdict`, which finds the same.
        mayHaveDelayed.store(true, ordering: .relaxed)
    }

    // MARK: Finding. The lock is held. What every call does is inlined: that takes a third of the time.

    /// The rule that counts for a call: the object's own, or its class's.
    ///
    /// - Parameter stale: Set to the rule of a deallocated object that was at this address. There is one at most.
    @inline(__always)
    private func rule(for object: ObjectIdentifier?, of type: Any.Type, _ stale: inout AnyMethodRule?) -> AnyMethodRule?
    {
        if let object, let rule = ownRule(of: object, &stale) { return rule }
        return typeRule(for: type)
    }

    /// The rule for a type, or for a class above it.
    @inline(__always)
    private func typeRule(for type: Any.Type) -> AnyMethodRule? {
        if let lastTypeRule, lastType == ObjectIdentifier(type) { return lastTypeRule }
        return typeRules.isEmpty ? nil : lookUpTypeRule(for: type)
    }

    @inline(never)
    private func lookUpTypeRule(for type: Any.Type) -> AnyMethodRule? {
        guard let rule = rule(for: type) ?? typeRules.first(where: { isSubtype(type, of: $0.type!) }) else {
            return nil
        }
        (lastTypeRule, lastType) = (rule, ObjectIdentifier(type))
        return rule
    }

    /// The object's own rule. One found at its address may belong to a deallocated object; its weak reference is nil
    /// then, since only one object can live at this address.
    @inline(__always)
    private func ownRule(of id: ObjectIdentifier, _ stale: inout AnyMethodRule?) -> AnyMethodRule? {
        guard let rule = rule(at: id) else { return nil }
        // Not the last reference: the caller has another.
        if rule.liveObject != nil { return rule }
        objectRules[id] = nil
        retire(rule)
        stale = rule
        return nil
    }

    @inline(__always)
    private func rule(at id: ObjectIdentifier) -> AnyMethodRule? {
        if objectRules.isEmpty { return nil }
        if let lastFound, lastFound.targetID == id { return lastFound }
        return lookUpRule(at: id)
    }

    @inline(never)
    private func lookUpRule(at id: ObjectIdentifier) -> AnyMethodRule? {
        guard let rule = objectRules[id] else { return nil }
        lastFound = rule
        return rule
    }

    /// The rule of a class above or below `type`.
    func obstacle(for type: Any.Type) -> AnyMethodRule? {
        let id = ObjectIdentifier(type)
        return typeRules.first { $0.targetID != id && areRelated($0.type!, type) }
    }

    func rule(for type: Any.Type) -> AnyMethodRule? {
        let id = ObjectIdentifier(type)
        return typeRules.first { $0.targetID == id }
    }

    /// All rules in force.
    func all(_ remains: inout Remains) -> [AnyMethodRule] {
        purge(&remains)
        return typeRules + objectRules.values
    }

    // MARK: Changing. The lock is held.

    /// Applies a rule, which replaces one for the same target.
    func apply(_ rule: AnyMethodRule, at place: Int, _ remains: inout Remains) throws(MethodRuleError) {
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
            var stale: AnyMethodRule?
            let old = ownRule(of: rule.targetID, &stale)
            // The class's rule would run them after later calls, which it does not see.
            if old == nil, let delayed = typeRule(for: type(of: object))?.delayed(on: rule.targetID) {
                remains.delayed.append(delayed)
            }
            replace(old, by: rule, at: place, &remains)
            if let stale { remains.rules.append(stale) }
            objectRules[rule.targetID] = rule
        }
        updateHasRules()
    }

    private func replace(_ old: AnyMethodRule?, by rule: AnyMethodRule, at place: Int, _ remains: inout Remains) {
        rule.place = old?.place ?? place
        guard let old else { return }
        rule.takeOver(from: old)
        typeRules.removeAll { $0 === old }
        retire(old, &remains)
    }

    /// Takes a rule out of force. Its delayed calls are added to the remains.
    func discard(_ rule: AnyMethodRule, _ remains: inout Remains) throws(MethodRuleError) {
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

    private func retire(_ rule: AnyMethodRule, _ remains: inout Remains) {
        retire(rule)
        remains.rules.append(rule)
    }

    private func retire(_ rule: AnyMethodRule) {
        rule.place = nil
        updateHasRules()
    }

    private func updateHasRules() {
        // Relaxed: see `LimitedMethod.callAsFunction(_:_:)`, which reads it.
        hasRules.store(!typeRules.isEmpty || !objectRules.isEmpty || awaitsTargets, ordering: .relaxed)
    }
}
