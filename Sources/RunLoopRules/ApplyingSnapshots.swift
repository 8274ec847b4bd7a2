// The engine's snapshots: taking one, applying one, and the rules that wait until they can take effect.

import RunLoopKit

extension RuleEngine {
    /// The persistent rules in force, and those that still wait for their method, so that saving loses none. Those of a
    /// method in ``waitingRuleFaults`` are left out: for them the next start would refuse the whole snapshot.
    ///
    /// A restored rule has neither the loop nor the closures of the saved one. A window of the mode `firstly` that goes
    /// on is saved with its rule: "once an hour" also holds for a program that is started every minute. It is counted
    /// on the wall clock while the program does not run. What `last` and `debounce` delay is not saved.
    ///
    /// - Throws: `noLastingName` if a rule became persistent after it was applied, and its type cannot be found again
    ///   at the next start.
    public func snapshot() throws(MethodRuleError) -> Snapshot {
        // Under one lock: a rule that stops waiting in between would be in neither list.
        let (rules, waiting) = withLock { remains in
            let refused = Set(faultsOfWaiting().keys)
            return (
                rulesWhileLocked(&remains) { $0.type != nil },
                self.waiting.map(\.rule).filter { !refused.contains($0.key) }
            )
        }
        var saved: [Snapshot.Rule] = []
        for rule in rules where rule.isPersistent { saved.append(try Snapshot.Rule(rule)) }
        return Snapshot(saved + waiting)
    }

    /// Applies the rules of a snapshot: all of them or, if it throws, none; the rules in force then stay as they are.
    ///
    /// A rule for a method that is not declared yet (Swift makes a static constant at its first use) waits, and takes
    /// effect when the method is declared. A rule for a subclass waits until the engine knows that class: the method is
    /// called on an object of it or of a class below it, a rule is applied for it, or it declares a method. That is
    /// before the first call that the rule could limit. A rule for a type that the program does not have waits forever:
    /// the engine compares names, and asks the runtime for none.
    ///
    /// What can be checked is checked now, the rest when the method and the type are known: see ``waitingRuleFaults``.
    ///
    /// For a target that has a rule in force, that rule's interval and mode change; its loop, predicate and merging do
    /// not, nor its window, if it has begun one. A new rule has no predicate and merges nothing: a program whose rules
    /// do applies them first.
    ///
    /// - Parameters:
    ///   - snapshot: The rules to apply.
    ///   - loop: The loop on whose thread the new rules run delayed calls.
    /// - Throws: `invalidSnapshot` for a known type that is no class or does not have the method, for two rules of one
    ///   target or known class hierarchy, and for one in the hierarchy of a waiting rule; `conflict` with a rule in
    ///   force; `unknownVersion`.
    public func apply(_ snapshot: Snapshot, on loop: Loop = .main) throws(MethodRuleError) {
        guard snapshot.version == Snapshot.currentVersion else { throw .unknownVersion(snapshot.version) }
        try withLock { remains throws(MethodRuleError) in
            let plan = try plan(for: snapshot, on: loop)
            for rule in plan.rules { putIntoForce(rule, &remains) }
            remains.objects += waiting.map(\.loop)
            waiting = plan.waiting
        }
    }

    /// The rules from snapshots that have not taken effect: their methods are not declared yet, or the engine knows no
    /// type of that name yet, or a fault was found when both were known.
    public var waitingRules: [Snapshot.Rule] { lock.withLock { waiting.map(\.rule) } }

    /// The faults of waiting rules whose methods are declared and whose types are known: what
    /// ``RuleEngine/apply(_:on:)`` could not know.
    ///
    /// Such a type became known later than the snapshot, for instance by a call on an object of a subclass whose
    /// superclass has a rule. None of its method's waiting rules for known types takes effect then, and a line on
    /// standard error reports it once. They take effect as soon as the fault no longer exists, for instance when a
    /// conflicting rule is discarded.
    public var waitingRuleFaults: [Snapshot.Fault] {
        lock.withLock { faultsOfWaiting().values.sorted { $0.index ?? 0 < $1.index ?? 0 } }
    }

    /// Drops the waiting rules.
    public func discardWaitingRules() {
        withLock { remains in
            remains.objects += waiting.map(\.loop)
            waiting = []
        }
    }

    // MARK: With the lock held

    private typealias Plan = (rules: [RestoredRule], waiting: [WaitingRule])

    /// A rule that was made from a saved one.
    private struct RestoredRule {
        let rule: AnyMethodRule
        let windowStart: Int64?
    }

    /// Checks everything and changes nothing: first the snapshot by itself, then against the rules that exist.
    private func plan(for snapshot: Snapshot, on loop: Loop) throws(MethodRuleError) -> Plan {
        let saved = snapshot.rules.enumerated().map { WaitingRule(index: $0.offset, rule: $0.element, loop: loop) }
        let books = booksByKey()
        let found = saved.map { find($0, in: books[$0.rule.key]) }
        if let fault = fault(of: found) { throw .invalidSnapshot(fault) }

        let replaced = Set(saved.map(\.target))
        var plan: Plan = ([], waiting.filter { !replaced.contains($0.target) })
        // For a declared method the rules in force are checked below.
        var others = CompatibleRules()
        for rule in plan.waiting where books[rule.rule.key] == nil { others.add(find(rule, in: nil)) }
        for rule in found {
            let new = rule.waiting
            if let other = others.rule(clashingWith: rule) {
                throw .invalidSnapshot(
                    rule.clash("a rule that waits for the same method is", with: other, "discardWaitingRules() first"))
            }
            guard let book = books[new.rule.key], let type = rule.target else {
                plan.waiting.append(new)
                continue
            }
            let made = makeRule(new, for: type, of: book)
            if let standing = book.lock.withLock({ book.obstacle(for: type) }) {
                throw .conflict(made.rule, standing: standing)
            }
            plan.rules.append(made)
        }
        return plan
    }

    private func find(_ waiting: WaitingRule, in book: RuleBook?) -> FoundRule {
        FoundRule(
            waiting: waiting, declaringType: book?.declaringType ?? types[waiting.rule.type],
            target: types[waiting.rule.target])
    }

    private func makeRule(_ saved: WaitingRule, for type: Any.Type, of book: RuleBook) -> RestoredRule {
        RestoredRule(
            rule: book.makeRule(for: type, saved.rule.settings(on: saved.loop)),
            windowStart: saved.rule.windowStartNanoseconds)
    }

    /// Applies a rule that conflicts with none.
    private func putIntoForce(_ restored: RestoredRule, _ remains: inout RuleBook.Remains) {
        let rule = restored.rule
        let place = takePlace()
        remains.rules.append(rule)
        rule.book.lock.withLock {
            if let standing = rule.book.rule(for: rule.type!) {
                standing.settings.interval = rule.settings.interval
                standing.settings.mode = rule.settings.mode
                standing.settings.isPersistent = true
                // On the clock of its own loop.
                standing.continueWindow(from: restored.windowStart)
            } else {
                try! rule.book.apply(rule, at: place, &remains)
                rule.continueWindow(from: restored.windowStart)
            }
        }
    }

    /// Applies the rules that have waited for this method, for a type, or for another rule's end: all or none of those
    /// whose types are known.
    ///
    /// - Returns: The fault of one of them.
    @discardableResult
    func applyWaiting(to book: RuleBook, _ remains: inout RuleBook.Remains) -> Snapshot.Fault? {
        guard let key = book.key, awaitedKeys.contains(key) else { return nil }
        let ready = waitingRules(for: book, key)
        if ready.isEmpty { return nil }
        if let fault = fault(of: ready, in: book) { return fault }
        remains.objects += waiting.map(\.loop)
        for rule in ready {
            putIntoForce(makeRule(rule.waiting, for: rule.target!, of: book), &remains)
        }
        let done = Set(ready.map(\.waiting.target))
        waiting.removeAll { done.contains($0.target) }
        return nil
    }

    /// The waiting rules for a method whose types are known.
    private func waitingRules(for book: RuleBook, _ key: MethodKey) -> [FoundRule] {
        waiting.filter { $0.rule.key == key }.map { find($0, in: book) }.filter { $0.target != nil }
    }

    /// The first fault of rules by themselves, against each other, and against the rules in force of `book`.
    private func fault(of rules: [FoundRule], in book: RuleBook? = nil) -> Snapshot.Fault? {
        var before = CompatibleRules()
        for rule in rules {
            if let fault = rule.fault { return fault }
            if let other = before.rule(clashingWith: rule) {
                return rule.clash("rules[\(other.waiting.index)] is", with: other, "remove one of the two")
            }
            if let book, let standing = book.lock.withLock({ book.obstacle(for: rule.target!) }) {
                return rule.fault(
                    "target", "is in the class hierarchy of a rule in force (\(standing)); discard that one first")
            }
            before.add(rule)
        }
        return nil
    }

    private func faultsOfWaiting() -> [MethodKey: Snapshot.Fault] {
        guard !waiting.isEmpty else { return [:] }
        let books = booksByKey()
        var faults: [MethodKey: Snapshot.Fault] = [:]
        for key in Set(waiting.map(\.rule.key)) {
            if let book = books[key] { faults[key] = fault(of: waitingRules(for: book, key), in: book) }
        }
        return faults
    }
}
