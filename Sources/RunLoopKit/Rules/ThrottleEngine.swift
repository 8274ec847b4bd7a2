/// Keeps the rules that limit how often messages run: applies them, discards them, lists them.
///
/// For limits that are a matter of configuration, not of the code that calls: from outside, for one object or a whole
/// class, changeable while the program runs, and saved from one start to the next.
///
/// ```swift
/// let rule = Document.saving.rule(for: Document.self, interval: .seconds(2), mode: .last)
/// do throws(ThrottleRuleError) {
///     try ThrottleEngine.shared.apply(rule)  // or rule.apply()
///     rule.interval = .seconds(5)  // seen by the next message
///     try ThrottleEngine.shared.discard(rule)
/// } catch .conflict(_, let standing) {
///     print("first discard \(standing)")
/// }
/// ```
///
/// **Targets.** A rule is for one object, for a class with its subclasses, whose objects it counts together, or for a
/// type's static message. An object's rule goes before its class's. A message has one rule in a class hierarchy: where
/// a class has one, those above and below it cannot have another.
///
/// **Lifetime.** The engine retains the rules in force, and a rule retains no object: it discards itself when its
/// object goes, and an object that comes to the same address has nothing to do with it. What is left of such a rule is
/// cleared away when the message is next sent from that address, and when rules are applied or listed. A message that
/// is held back keeps its target and its input until it has run, as MessageThrottle's do: a call that was made is not
/// lost because its object is let go of. Only a target whose `deinit` sends the message cannot be kept: there it runs
/// at once.
///
/// **Order.** When a rule is discarded, what it holds back runs at once, as if the rule had not been there. So a later
/// message, which no rule delays, cannot overtake it where all of this happens on the loop's thread. A message that
/// takes the place of one that is held back, since it runs at once under changed settings, makes the older one never
/// run, unless the rule merges.
///
/// **Threads.** Everything may be called from any thread, and while other threads send messages. MessageThrottle:
/// `MTEngine`.
public final class ThrottleEngine: @unchecked Sendable {
    // For the maintainer. Rules are applied and discarded with the engine's lock held, so that checking many rules and
    // applying them is one step. Sending a message takes its book's lock only.

    /// The one that messages belong to unless they are declared otherwise.
    public static let shared = ThrottleEngine()

    private struct BookKey: Hashable {
        let type: ObjectIdentifier
        let name: String
        let isStatic: Bool

        init(_ book: RuleBook) {
            (type, name, isStatic) = (ObjectIdentifier(book.declaringType), book.name, book.isStatic)
        }
    }

    let lock = Lock(.engine)

    // Guarded by `lock`.
    private var books: [BookKey: RuleBook] = [:]
    private var nextPlace = 0
    /// Rules from snapshots whose messages or types are not known yet, or that another rule stands in the way of.
    var waiting: [WaitingRule] = []

    /// Finds the type of a lasting name. Another one in tests, whose types come late.
    let typeNamed: @Sendable (String) -> Any.Type?

    /// Makes an engine of its own, for messages declared with it: for tests.
    public convenience init() { self.init { type(withLastingName: $0) } }

    init(typeNamed: @escaping @Sendable (String) -> Any.Type?) { self.typeNamed = typeNamed }

    // MARK: Applying and discarding

    /// Puts a rule into force: the next message sees it.
    ///
    /// If there is a rule for the same target and message the new one takes its place, and what it holds back and the
    /// window it is in; the old one is not applied any more. MessageThrottle: `applyRule:`.
    public func apply(_ rule: ThrottleRule) throws(ThrottleRuleError) {
        try change(rule) { book, remains throws(ThrottleRuleError) in
            try book.apply(rule, at: takePlace(), &remains)
        }
    }

    /// Takes a rule out of force. What it holds back runs now, on the rule's loop: here, if the caller is on its
    /// thread. It may be applied again. MessageThrottle: `discardRule:`, which lets it run when it was due.
    public func discard(_ rule: ThrottleRule) throws(ThrottleRuleError) {
        try change(rule) { book, remains throws(ThrottleRuleError) in
            try book.discard(rule, &remains)
        }
    }

    private func change(
        _ rule: ThrottleRule, _ body: (RuleBook, inout RuleBook.Remains) throws(ThrottleRuleError) -> Void
    ) throws(ThrottleRuleError) {
        guard rule.book.engine === self else { throw .otherEngine(rule) }
        var remains = RuleBook.Remains()
        defer { remains.settle() }
        try lock.withLock { () throws(ThrottleRuleError) in
            try rule.book.lock.withLock { () throws(ThrottleRuleError) in try body(rule.book, &remains) }
            applyWaiting(to: rule.book, &remains)
        }
    }

    /// The lock is held.
    func takePlace() -> Int {
        nextPlace += 1
        return nextPlace
    }

    // MARK: Asking

    /// All rules in force, in the order in which they were applied. MessageThrottle: `allRules`.
    public var rules: [ThrottleRule] { rules { _ in true } }

    /// The rules that count for an object: its own and those of its class and the classes above. Where a message has
    /// both, the object's own goes before.
    public func rules(for object: AnyObject) -> [ThrottleRule] {
        let id = ObjectIdentifier(object)
        let type: Any.Type = type(of: object)
        return rules { rule in
            if let target = rule.type { return !rule.book.isStatic && isSubtype(type, of: target) }
            return rule.targetID == id
        }
    }

    /// The rules that count for a type, for its objects and its static messages: its own and those of the classes
    /// above.
    public func rules(for type: Any.Type) -> [ThrottleRule] {
        rules { rule in rule.type.map { isSubtype(type, of: $0) } ?? false }
    }

    private func rules(where isWanted: (ThrottleRule) -> Bool) -> [ThrottleRule] {
        var remains = RuleBook.Remains()
        defer { remains.settle() }
        return lock.withLock { rulesWhileLocked(&remains, where: isWanted) }
    }

    func rulesWhileLocked(
        _ remains: inout RuleBook.Remains, where isWanted: (ThrottleRule) -> Bool
    ) -> [ThrottleRule] {
        let found = books.values.flatMap { book in
            book.lock.withLock { book.all(&remains).filter(isWanted).map { (place: $0.place!, rule: $0) } }
        }
        return found.sorted { $0.place < $1.place }.map(\.rule)
    }

    // MARK: Messages

    /// A message is declared. Rules that have waited for it take effect.
    func register(_ book: RuleBook) {
        var remains = RuleBook.Remains()
        defer { remains.settle() }
        let fault = lock.withLock { () -> Snapshot.Fault? in
            guard books.updateValue(book, forKey: BookKey(book)) == nil else {
                fatalError(
                    "RunLoopKit: the message \"\(book.name)\" of \(book.declaringType) was made twice. Keep it in a "
                        + "'static let'.")
            }
            return applyWaiting(to: book, &remains)
        }
        // A declaration cannot throw.
        if let fault { System.complain("RunLoopKit: rules from a snapshot are not applied: \(fault)") }
    }

    /// A message goes: its rules with it.
    func unregister(_ book: RuleBook) {
        var remains = RuleBook.Remains()
        defer { remains.settle() }
        lock.withLock {
            books[BookKey(book)] = nil
            book.lock.withLock { book.close(&remains) }
        }
    }

    /// The declared messages, by what they are called at every start. The lock is held.
    func booksByKey() -> [MessageKey: RuleBook] {
        var found: [MessageKey: RuleBook] = [:]
        for book in books.values { if let key = MessageKey(book) { found[key] = book } }
        return found
    }
}
