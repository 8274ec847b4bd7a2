/// A rule from a snapshot that cannot take effect yet.
struct WaitingRule {
    let rule: ThrottleEngine.Snapshot.Rule
    let loop: Loop
}

extension ThrottleEngine {
    /// The persistent rules in force, and those that still wait for their message, so that saving loses none.
    ///
    /// - Throws: `noLastingName` when a persistent rule's type cannot be found again at the next start.
    public func snapshot() throws(ThrottleRuleError) -> Snapshot {
        var remains = RuleBook.Remains()
        defer { remains.settle() }
        // Together: a rule that stops waiting in between would be in neither list.
        let (rules, waiting) = lock.withLock { () -> ([ThrottleRule], [Snapshot.Rule]) in
            (rulesWhileLocked(&remains) { $0.type != nil }, self.waiting.map(\.rule))
        }
        var saved: [Snapshot.Rule] = []
        for rule in rules where rule.isPersistent { saved.append(try rule.saved()) }
        return Snapshot(saved + waiting)
    }

    /// Puts the rules of a snapshot into force: all of them or, when it throws, none; the rules in force stay as they
    /// are then.
    ///
    /// A rule for a message that is not declared yet, as a constant that nobody has used, waits and takes effect when
    /// it is; so does one for a type that the program does not have. A rule for a target that has one in force changes
    /// its interval and mode, and leaves its loop and its predicate alone.
    ///
    /// - Parameter loop: Where messages run that the new rules held back.
    /// - Throws: `conflict` when a rule in force stands in the way; `unknownVersion` and `corruptSnapshot`.
    public func apply(_ snapshot: Snapshot, on loop: Loop = .main) throws(ThrottleRuleError) {
        var remains = RuleBook.Remains()
        defer { remains.settle() }
        try lock.withLock { () throws(ThrottleRuleError) in
            let plan = try plan(for: snapshot, on: loop)
            for rule in plan.rules { putIntoForce(rule, &remains) }
            remains.objects += waiting.map(\.loop)
            waiting.removeAll { old in snapshot.rules.contains { $0.hasTarget(of: old.rule) } }
            waiting += plan.waiting
        }
    }

    /// The rules from snapshots that have not taken effect: their messages are not declared yet, or the program has
    /// no type of that name, or, found when the message was declared, another rule stood in the way.
    public var waitingRules: [Snapshot.Rule] { lock.withLock { waiting.map(\.rule) } }

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
        var waiting: [WaitingRule] = []
    }

    /// Checks everything and changes nothing.
    private func plan(for snapshot: Snapshot, on loop: Loop) throws(ThrottleRuleError) -> Plan {
        guard snapshot.version == Snapshot.currentVersion else { throw .unknownVersion(snapshot.version) }
        var plan = Plan()
        for saved in snapshot.rules {
            guard let book = book(of: saved), let type = type(withLastingName: saved.target) else {
                plan.waiting.append(WaitingRule(rule: saved, loop: loop))
                continue
            }
            guard isSubtype(type, of: book.declaringType) else {
                throw .corruptSnapshot("\(saved): \(type) does not have this message")
            }
            let rule = book.makeRule(for: type, saved.settings(on: loop))
            if let standing = book.lock.withLock({ book.obstacle(for: type) }) {
                throw .conflict(rule, standing: standing)
            }
            let others = plan.rules.filter { $0.book === book }
            if let other = others.first(where: { isSubtype(type, of: $0.type!) || isSubtype($0.type!, of: type) }) {
                throw .corruptSnapshot("it has two rules for one class hierarchy (\(other), \(rule))")
            }
            plan.rules.append(rule)
        }
        return plan
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

    /// Rules that have waited for this message, or for another rule's end, take effect.
    func applyWaiting(to book: RuleBook, _ remains: inout RuleBook.Remains) {
        guard !waiting.isEmpty else { return }
        remains.objects += waiting.map(\.loop)
        waiting.removeAll { waiting in
            guard waiting.rule.isFor(book), let type = type(withLastingName: waiting.rule.target),
                isSubtype(type, of: book.declaringType), book.lock.withLock({ book.obstacle(for: type) == nil })
            else { return false }
            putIntoForce(book.makeRule(for: type, waiting.rule.settings(on: waiting.loop)), &remains)
            return true
        }
    }
}

extension ThrottleRule {
    fileprivate func saved() throws(ThrottleRuleError) -> ThrottleEngine.Snapshot.Rule {
        guard let type, let target = lastingName(of: type), let declaring = lastingName(of: book.declaringType) else {
            throw .noLastingName(self)
        }
        return .init(
            message: book.name, type: declaring, isStatic: book.isStatic, target: target,
            intervalNanoseconds: interval.wholeNanoseconds, mode: mode)
    }
}
