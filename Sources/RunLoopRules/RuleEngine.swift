import RunLoopKit
import Synchronization

/// Keeps the rules that limit how often methods run: applies, discards and lists them.
///
/// For limits that are a matter of configuration, not of the code that calls: made from outside, for one object or a
/// whole class, changeable while the program runs, and saved from one start to the next.
///
/// ```swift
/// let rule = Document.saving.rule(for: Document.self, interval: .seconds(2), mode: .last)
/// do throws(MethodRuleError) {
///     try RuleEngine.shared.apply(rule)  // or rule.apply()
///     rule.interval = .seconds(5)  // seen by the next call
///     try RuleEngine.shared.discard(rule)
/// } catch .conflict(_, let standing) {
///     print("first discard \(standing)")
/// } catch {
///     print(error)
/// }
/// ```
///
/// **Targets.** A rule is for one object, for a class with its subclasses, whose objects it counts together, or for a
/// type's static method. An object's rule takes precedence over its class's. A method has one rule in a class
/// hierarchy: if a class has one, the classes above and below it cannot have another.
///
/// **Lifetime.** The engine retains the rules in force. A rule does not retain its object: it discards itself when the
/// object is deallocated, and does not apply to a new object at the same address. Such a rule is removed when the
/// method is next called on that address, when rules are listed, and when one is applied after the method's rules for
/// objects have doubled in number, to 16 at least. A delayed call retains its target and its input until it has run, as
/// MessageThrottle's do: it is not lost when the program releases its target. A target cannot be retained while its
/// `deinit` runs: a call made there runs at once.
///
/// **Order.** When a rule is discarded, its delayed calls run at once. When an object gets a rule of its own, so does a
/// call on it that its class's rule delays. So a later call, which that rule does not delay, cannot overtake them if
/// all of this happens on the loop's thread. A call that runs at once under changed settings replaces the delayed ones:
/// they never run, unless the rule merges.
///
/// **Threads.** Everything may be called from any thread, even while other threads call the methods. MessageThrottle:
/// `MTEngine`.
public final class RuleEngine: @unchecked Sendable {
    // For the maintainer. Rules are applied and discarded with the engine's lock held, so that checking many rules and
    // applying them is one step. A call takes its method's book's lock only.

    /// The engine of all methods that are declared without one.
    public static var shared: RuleEngine {
        // Acquire: the engine is complete.
        let known = sharedEngine.load(ordering: .acquiring)
        return known != 0 ? engine(at: known) : makeShared()
    }

    /// Its address, and retained; 0 before the first use. No lazy global: see `ProcessMark`.
    private static let sharedEngine = Atomic<UInt>(0)

    private static func engine(at address: UInt) -> RuleEngine {
        Unmanaged<RuleEngine>.fromOpaque(UnsafeRawPointer(bitPattern: address)!).takeUnretainedValue()
    }

    /// Of two threads that do so at the same moment, one drops its engine.
    @inline(never)
    private static func makeShared() -> RuleEngine {
        let made = Unmanaged.passRetained(RuleEngine())
        let (isFirst, found) = sharedEngine.compareExchange(
            expected: 0, desired: UInt(bitPattern: made.toOpaque()), successOrdering: .releasing,
            failureOrdering: .acquiring)
        if isFirst { return made.takeUnretainedValue() }
        made.release()
        return engine(at: found)
    }

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
    /// Rules from snapshots whose methods or types are not known yet, or that conflict with another rule. Each one
    /// whose method and target are known has been tried.
    var waiting: [WaitingRule] = [] {
        didSet {
            awaitedKeys = Set(waiting.lazy.map(\.rule.key))
            tellBooksWhoWaits()
        }
    }
    /// The methods that they wait for. A snapshot may have very many rules.
    private(set) var awaitedKeys: Set<MethodKey> = []
    /// The types that declare methods, those that have had rules, and targets of calls that a rule may have waited for.
    private(set) var types = KnownTypes()

    /// Makes an engine for the methods that are declared with it. For tests.
    public init() {}

    // MARK: Applying and discarding

    /// Applies a rule: it is in force from the next call on.
    ///
    /// It replaces a rule for the same target and method, and takes over that rule's delayed calls and its window; the
    /// old rule is not applied any more. If an object had none, a call on it that its class's rule delays runs now, by
    /// the ``AnyMethodRule/flush()`` of that rule. MessageThrottle: `applyRule:`.
    ///
    /// - Throws: `alreadyApplied`; `conflict` if a class above or below has a rule; `targetIsGone` if the rule's object
    ///   or method is deallocated; `otherEngine`; `noLastingName` for a persistent rule that cannot be saved.
    public func apply(_ rule: AnyMethodRule) throws(MethodRuleError) {
        if rule.isPersistent { _ = try Snapshot.Rule(rule) }
        try change(rule) { book, remains throws(MethodRuleError) in
            try book.apply(rule, at: takePlace(), &remains)
        }
    }

    /// Takes a rule out of force. Its delayed calls run now, on the rule's loop: before this returns, if the caller is
    /// on that loop's thread. The rule may be applied again. MessageThrottle: `discardRule:`, where they run when they
    /// were due.
    ///
    /// - Throws: `notApplied`; `otherEngine`.
    public func discard(_ rule: AnyMethodRule) throws(MethodRuleError) {
        try change(rule) { book, remains throws(MethodRuleError) in
            try book.discard(rule, &remains)
        }
    }

    /// Runs the delayed calls of all rules now, as ``AnyMethodRule/flush()`` does for one: for the loop on whose thread
    /// the caller is before this returns, outside its runs or in a common mode. The rules stay in force.
    ///
    /// For the end of a program, which runs no delayed calls by itself. A call that runs may call a limited method, and
    /// that may be delayed: so that nothing is lost, repeat it.
    ///
    /// ```swift
    /// while RuleEngine.shared.flushAll() {}
    /// ```
    ///
    /// From any thread; other loops must go on until they have run theirs, as the loop of a `LoopThread` does before
    /// it ends. MessageThrottle: none.
    ///
    /// - Returns: Whether any call was delayed, and its loop accepted it.
    @discardableResult
    public func flushAll() -> Bool {
        var hasFlushed = false
        for rule in rules where rule.flush() { hasFlushed = true }
        return hasFlushed
    }

    private func change(
        _ rule: AnyMethodRule, _ body: (RuleBook, inout RuleBook.Remains) throws(MethodRuleError) -> Void
    ) throws(MethodRuleError) {
        guard rule.book.engine === self else { throw .otherEngine(rule) }
        var faults: [Snapshot.Fault] = []
        defer { report(faults) }
        try withLock { remains throws(MethodRuleError) in
            // First, since the snapshot was applied before: a rule from it gives way to this one.
            if let type = rule.type { faults = learn(type, &remains) }
            try rule.book.lock.withLock { () throws(MethodRuleError) in try body(rule.book, &remains) }
            applyWaiting(to: rule.book, &remains)
        }
    }

    /// Calls `body` with the lock held, and settles what remains without it.
    func withLock<Result, Failure>(
        _ body: (_ remains: inout RuleBook.Remains) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var remains = RuleBook.Remains()
        defer { remains.settle() }
        return try lock.withLock { () throws(Failure) in try body(&remains) }
    }

    /// The lock is held.
    func takePlace() -> Int {
        nextPlace += 1
        return nextPlace
    }

    // MARK: Asking

    /// All rules in force, in the order in which they were applied. MessageThrottle: `allRules`.
    public var rules: [AnyMethodRule] { rules { _ in true } }

    /// The rules that count for an object: its own and those of its class and the classes above. If a method has both,
    /// the object's own takes precedence.
    public func rules(for object: AnyObject) -> [AnyMethodRule] {
        let id = ObjectIdentifier(object)
        let type: Any.Type = type(of: object)
        return rules { rule in
            if let target = rule.type { return !rule.book.isStatic && isSubtype(type, of: target) }
            return rule.targetID == id
        }
    }

    /// The rules that count for a type, for its objects and its static methods: its own and those of the classes above.
    public func rules(for type: Any.Type) -> [AnyMethodRule] {
        rules { rule in rule.type.map { isSubtype(type, of: $0) } ?? false }
    }

    private func rules(where isWanted: (AnyMethodRule) -> Bool) -> [AnyMethodRule] {
        withLock { rulesWhileLocked(&$0, where: isWanted) }
    }

    func rulesWhileLocked(_ remains: inout RuleBook.Remains, where isWanted: (AnyMethodRule) -> Bool) -> [AnyMethodRule]
    {
        let found = books.values.flatMap { book in
            book.lock.withLock { book.all(&remains).filter(isWanted).map { (place: $0.place!, rule: $0) } }
        }
        return found.sorted { $0.place < $1.place }.map(\.rule)
    }

    // MARK: Methods

    /// Adds a method that is declared. Rules that have waited for it take effect.
    func register(_ book: RuleBook) {
        let faults = withLock { remains in
            guard books.updateValue(book, forKey: BookKey(book)) == nil else {
                fatalError(
                    "RunLoopKit: the method \"\(book.name.printable)\" of \(book.declaringType) was declared twice. "
                        + "Keep it in a 'static let'.")
            }
            let faults = learn(book.declaringType, &remains)
            let fault = applyWaiting(to: book, &remains)
            tellBooksWhoWaits()
            return faults.filter { $0 != fault } + [fault].compactMap(\.self)
        }
        report(faults)
    }

    /// Removes a method that is deallocated, with its rules.
    func unregister(_ book: RuleBook) {
        withLock { remains in
            books[BookKey(book)] = nil
            book.lock.withLock { book.close(&remains) }
        }
    }

    /// Learns the type of a call's target, for which a rule may wait.
    func meet(_ type: Any.Type, in book: RuleBook) {
        let faults = withLock { remains in
            let faults = learn(type, &remains)
            book.lock.withLock { book.noteAsMet(type) }
            return faults
        }
        report(faults)
    }

    /// Learns a type and the classes above it. Rules that have waited for one of them take effect. The lock is held.
    private func learn(_ type: Any.Type, _ remains: inout RuleBook.Remains) -> [Snapshot.Fault] {
        let new = types.learn(type)
        guard !waiting.isEmpty, !new.isEmpty else { return [] }
        let keys = Set(waiting.lazy.filter { new.contains($0.rule.target) }.map(\.rule.key))
        return books.values.compactMap { book in
            guard let key = book.key, keys.contains(key) else { return nil }
            return applyWaiting(to: book, &remains)
        }
    }

    /// Neither a declaration nor a call can throw.
    private func report(_ faults: [Snapshot.Fault]) {
        for fault in faults { Mistakes.shared.report(.rulesNotApplied(fault: "\(fault)")) }
    }

    /// Calls to a method for which rules wait show the engine their targets' types. The lock is held.
    private func tellBooksWhoWaits() {
        for book in books.values {
            let isAwaited = book.key.map(awaitedKeys.contains) ?? false
            book.lock.withLock { book.awaitsTargets = isAwaited }
        }
    }

    /// The declared methods by their lasting names. The lock is held.
    func booksByKey() -> [MethodKey: RuleBook] {
        var found: [MethodKey: RuleBook] = [:]
        for book in books.values { if let key = book.key { found[key] = book } }
        return found
    }
}
