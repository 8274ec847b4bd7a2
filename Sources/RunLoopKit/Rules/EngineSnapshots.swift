extension ThrottleEngine {
    /// The persistent rules in force, and those that still wait for their message, so that saving loses none. Those of
    /// a message in `waitingRuleFaults` are left out: the next start would refuse the whole snapshot for them.
    ///
    /// - Throws: `noLastingName` when a persistent rule's type cannot be found again at the next start.
    public func snapshot() throws(ThrottleRuleError) -> Snapshot {
        var remains = RuleBook.Remains()
        defer { remains.settle() }
        // Together: a rule that stops waiting in between would be in neither list.
        let (rules, waiting) = lock.withLock { () -> ([ThrottleRule], [Snapshot.Rule]) in
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

    /// Puts the rules of a snapshot into force: all of them or, when it throws, none; the rules in force stay as they
    /// are then.
    ///
    /// A rule for a message that is not declared yet, as a constant that nobody has used, waits and takes effect when
    /// it is; so does one for a type that the program does not have. All that can be known is checked now, and the rest
    /// when the message is declared: see `waitingRuleFaults`. A rule for a target that has one in force changes its
    /// interval and mode, and leaves its loop, its predicate and its merging alone.
    ///
    /// - Parameter loop: Where messages run that the new rules held back.
    /// - Throws: `invalidSnapshot` for a type that is no class or does not have the message, for two rules of one class
    ///   hierarchy, and for one in the hierarchy of a rule that waits; `conflict` when a rule in force stands in the
    ///   way; `unknownVersion`.
    public func apply(_ snapshot: Snapshot, on loop: Loop = .main) throws(ThrottleRuleError) {
        guard snapshot.version == Snapshot.currentVersion else { throw .unknownVersion(snapshot.version) }
        var remains = RuleBook.Remains()
        defer { remains.settle() }
        try lock.withLock { () throws(ThrottleRuleError) in
            let plan = try plan(for: snapshot, on: loop)
            for rule in plan.rules { putIntoForce(rule, &remains) }
            remains.objects += waiting.map(\.loop)
            waiting = plan.waiting
        }
    }

    /// The rules from snapshots that have not taken effect: their messages are not declared yet, or the program has
    /// no type of that name, or there is a fault, found when the message was declared.
    public var waitingRules: [Snapshot.Rule] { lock.withLock { waiting.map(\.rule) } }

    /// Why rules wait whose messages are declared and whose types are there: what `apply(_:on:)` could not know yet.
    ///
    /// Such a type came later than the snapshot, with a library that was loaded meanwhile. None of its message's
    /// waiting rules takes effect then, and a line on standard error says so when the message is declared. They take effect as
    /// soon as nothing is wrong with them any more, as when a rule in their way is discarded.
    public var waitingRuleFaults: [Snapshot.Fault] {
        lock.withLock { faultsOfWaiting().values.sorted { $0.index ?? 0 < $1.index ?? 0 } }
    }

    /// Forgets the rules that wait.
    public func discardWaitingRules() {
        let dropped = lock.withLock { () -> [WaitingRule] in
            defer { waiting = [] }
            return waiting
        }
        withExtendedLifetime(dropped) {}
    }

    // MARK: With the lock held

    private struct Plan {
        var rules: [ThrottleRule] = []
        var waiting: [WaitingRule]
    }

    /// Checks everything and changes nothing: first the snapshot by itself, then against what there is.
    private func plan(for snapshot: Snapshot, on loop: Loop) throws(ThrottleRuleError) -> Plan {
        let entries = snapshot.rules.enumerated().map { WaitingRule(index: $0.offset, rule: $0.element, loop: loop) }
        let books = booksByKey()
        let found = entries.map { find($0, in: books[$0.rule.key]) }
        var hierarchies: [MessageKey: TargetHierarchy] = [:]
        for rule in found {
            if let fault = rule.fault { throw .invalidSnapshot(fault) }
            if let other = hierarchies[rule.entry.rule.key, default: TargetHierarchy()].add(rule) {
                throw .invalidSnapshot(
                    rule.entry.clash("rules[\(other.index)] is", with: other, "remove one of the two"))
            }
        }

        let replaced = Set(entries.map(\.target))
        var plan = Plan(waiting: waiting.filter { !replaced.contains($0.target) })
        // Where a message is declared, what counts is in force.
        hierarchies = [:]
        for old in plan.waiting where books[old.rule.key] == nil {
            _ = hierarchies[old.rule.key, default: TargetHierarchy()].add(find(old, in: nil))
        }
        for rule in found {
            let entry = rule.entry
            if let other = hierarchies[entry.rule.key]?.add(rule) {
                throw .invalidSnapshot(
                    entry.clash("a rule that waits for the same message is", with: other, "discardWaitingRules() first")
                )
            }
            guard let book = books[entry.rule.key], let type = rule.target else {
                plan.waiting.append(entry)
                continue
            }
            let made = book.makeRule(for: type, entry.rule.settings(on: loop))
            if let standing = book.lock.withLock({ book.obstacle(for: type) }) {
                throw .conflict(made, standing: standing)
            }
            plan.rules.append(made)
        }
        return plan
    }

    private func find(_ entry: WaitingRule, in book: RuleBook?) -> FoundRule {
        FoundRule(
            entry: entry, declaringType: book?.declaringType ?? typeNamed(entry.rule.type),
            target: typeNamed(entry.rule.target))
    }

    /// A rule that nothing stands in the way of.
    private func putIntoForce(_ rule: ThrottleRule, _ remains: inout RuleBook.Remains) {
        let place = takePlace()
        remains.rules.append(rule)
        rule.book.lock.withLock {
            if let standing = rule.book.rule(for: rule.type!) {
                standing.changeWhileLocked(to: rule.settings)
            } else {
                try! rule.book.apply(rule, at: place, &remains)
            }
        }
    }

    /// Rules that have waited for this message, or for another rule's end, take effect: all of them or none.
    ///
    /// - Returns: What is wrong with one of them.
    @discardableResult
    func applyWaiting(to book: RuleBook, _ remains: inout RuleBook.Remains) -> Snapshot.Fault? {
        guard !waiting.isEmpty, let key = MessageKey(book) else { return nil }
        let ready = waitingRules(for: book, key)
        if let fault = fault(of: ready, in: book) { return fault }
        remains.objects += waiting.map(\.loop)
        for rule in ready {
            putIntoForce(book.makeRule(for: rule.target!, rule.entry.rule.settings(on: rule.entry.loop)), &remains)
        }
        let done = Set(ready.map(\.entry.target))
        waiting.removeAll { done.contains($0.target) }
        return nil
    }

    /// Those for a message whose types are there.
    private func waitingRules(for book: RuleBook, _ key: MessageKey) -> [FoundRule] {
        waiting.filter { $0.rule.key == key }.map { find($0, in: book) }.filter { $0.target != nil }
    }

    private func fault(of rules: [FoundRule], in book: RuleBook) -> Snapshot.Fault? {
        var hierarchy = TargetHierarchy()
        for rule in rules {
            if let fault = rule.fault { return fault }
            if let other = hierarchy.add(rule) {
                return rule.entry.clash("rules[\(other.index)] is", with: other, "remove one of the two")
            }
            if let standing = book.lock.withLock({ book.obstacle(for: rule.target!) }) {
                return rule.entry.fault(
                    "target", "is in the class hierarchy of a rule in force (\(standing)); discard that one first")
            }
        }
        return nil
    }

    private func faultsOfWaiting() -> [MessageKey: Snapshot.Fault] {
        guard !waiting.isEmpty else { return [:] }
        let books = booksByKey()
        var faults: [MessageKey: Snapshot.Fault] = [:]
        for key in Set(waiting.map(\.rule.key)) {
            if let book = books[key] { faults[key] = fault(of: waitingRules(for: book, key), in: book) }
        }
        return faults
    }
}

extension WaitingRule {
    /// The fault that there is another rule in the class hierarchy, or for the same target.
    fileprivate func clash(
        _ others: String, with other: WaitingRule, _ wayOut: String
    ) -> ThrottleEngine.Snapshot.Fault {
        let isSame = rule.target == other.rule.target
        return fault(
            "target",
            (isSame
                ? "appears twice: \(others) for it too"
                : "is one of two in a class hierarchy: \(others) for "
                    + typeText(other.rule.target)) + "; a message has one rule there: \(wayOut)")
    }
}
