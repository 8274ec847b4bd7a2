/// A ``Quota`` for each key: so many tokens in a period for one client, user or address, independently of all others.
/// Any thread and any task may call everything here; no call waits but ``wait(_:for:)`` and
/// ``run(_:for:limitedBy:on:_:)``.
///
/// ```swift
/// let requests = KeyedQuota<String>(5, per: .seconds(10))
/// let answer = requests.take(for: "10.0.0.1")
/// guard answer.isAllowed else { return print("come again after \(answer.retryAfter!)") }
/// ```
///
/// It treats each key as a ``Quota`` of its own would: five per ten seconds, with a burst of five, can be nine in the
/// first ten. *Never more than that* is `KeyedQuota<String>(.atMost(5, inAny: .seconds(10)))`.
///
/// - *Memory:* a key whose quota is full is forgotten during a later call, for whatever key. So it keeps about as many
///   keys as were used in the time in which an empty quota fills: a burst divided by the rate. A quota that is never
///   called again keeps its last keys; ``resetAll()`` drops them. One to which no tokens come forgets no key.
/// - *Comparing keys* happens with a lock held: `==` and `hash(into:)` must not call the quota.
public final class KeyedQuota<Key: Hashable & Sendable>: CustomStringConvertible, @unchecked Sendable {
    private let settings: QuotaSettings
    let rules: QuotaRules
    let clock: LoopTime
    private let lock = Lock(.limiter)
    // Guarded by `lock`, with which the clock is read, too. Exclusivity is unchecked, as in `Loop`.
    @exclusivity(unchecked) private var tokensOfKeys = Tokens()
    /// The tasks that wait for a key, if any do.
    @exclusivity(unchecked) private var lines: [Key: QuotaLine] = [:]

    private init(_ settings: QuotaSettings, _ clock: LoopTime) {
        (self.settings, self.clock) = (settings, clock)
        rules = settings.rules
    }

    /// Makes a quota that is full for every key. On any thread.
    /// ``Quota/init(_:per:burst:clock:)`` has the details of each parameter.
    ///
    /// - Parameters:
    ///   - tokens: How many tokens come in a period, for each key.
    ///   - period: The period.
    ///   - burst: How many tokens the quota of a key holds. Nil, the default: `tokens`.
    ///   - clock: The clock to count on, in tests; nil for that of ordinary loops.
    public convenience init(_ tokens: Int, per period: Duration, burst: Int? = nil, clock: VirtualClock? = nil) {
        self.init(.bucket(BucketSettings(tokens, period, burst ?? tokens)), clock.map { .virtual($0) } ?? .monotonic)
    }

    /// Makes a quota that is full for every key, and counts on a loop's clock. It does not retain the loop, which need
    /// not run.
    ///
    /// - Parameters:
    ///   - tokens: How many tokens come in a period, for each key.
    ///   - period: The period.
    ///   - burst: How many tokens the quota of a key holds. Nil, the default: `tokens`.
    ///   - loop: The loop whose clock counts.
    public convenience init(_ tokens: Int, per period: Duration, burst: Int? = nil, on loop: Loop) {
        self.init(.bucket(BucketSettings(tokens, period, burst ?? tokens)), loop.clock)
    }

    /// Makes a quota that allows each key so many tokens in any period of each window, and is full. On any thread.
    ///
    /// ```swift
    /// let calls = KeyedQuota<String>(.atMost(5, inAny: .seconds(1)), .atMost(100, inAny: .seconds(60)))
    /// ```
    ///
    /// - Parameters:
    ///   - window: The limit.
    ///   - others: Further limits, which hold as well.
    ///   - clock: The clock to count on, in tests; nil for that of ordinary loops.
    public convenience init(_ window: Quota.Window, _ others: Quota.Window..., clock: VirtualClock? = nil) {
        self.init(.windows([window] + others), clock.map { .virtual($0) } ?? .monotonic)
    }

    /// Makes a quota of windows that is full, and counts on a loop's clock. It does not retain the loop, which need not
    /// run.
    ///
    /// - Parameters:
    ///   - window: The limit.
    ///   - others: Further limits, which hold as well.
    ///   - loop: The loop whose clock counts.
    public convenience init(_ window: Quota.Window, _ others: Quota.Window..., on loop: Loop) {
        self.init(.windows([window] + others), loop.clock)
    }

    // MARK: Tokens

    /// Takes tokens of a key if there are enough, and otherwise none, as ``Quota/take(_:)`` does.
    public func take(_ cost: Int = 1, for key: Key) -> Quota.Answer {
        change(key) { tokens, now in
            rules.answer(taking: cost, from: &tokens, at: now)
        }
    }

    /// Says what ``take(_:for:)`` would answer, as ``Quota/check(_:)`` does. It takes nothing, and does not remember
    /// the key.
    public func check(_ cost: Int = 1, for key: Key) -> Quota.Answer {
        lock.withLock {
            let (now, tokens) = (clock.nanoseconds, tokensOfKeys[key])
            return rules.answer(checking: cost, in: tokens, at: now)
        }
    }

    /// Takes tokens of a key even if they are not there yet, as ``Quota/reserve(_:)`` does.
    ///
    /// - Returns: How long until the key owes nothing; zero if nothing is owed, and nil if that is never.
    @discardableResult
    public func reserve(_ cost: Int, for key: Key) -> Duration? {
        change(key) { tokens, now in
            rules.charge(cost, to: &tokens, at: now)
            return rules.debt(of: tokens, at: now).map { .nanoseconds($0) }
        }
    }

    /// Gives tokens of a key back, as ``Quota/giveBack(_:)`` does.
    public func giveBack(_ cost: Int = 1, for key: Key) {
        change(key) { rules.giveBack(cost, to: &$0, at: $1) }
    }

    /// Makes the quota of a key full, and forgets the key.
    public func reset(_ key: Key) {
        let forgotten = lock.withLock { tokensOfKeys.remove(key) }
        withExtendedLifetime(forgotten) {}
    }

    /// Makes the quotas of all keys full, and forgets the keys.
    public func resetAll() {
        let forgotten = lock.withLock { exchange(&tokensOfKeys, with: Tokens()) }
        withExtendedLifetime(forgotten) {}
    }

    /// The number of keys whose quota is not full. Takes time that grows with the number of keys in memory, with the
    /// quota's lock held.
    public var keyCount: Int {
        lock.withLock {
            let now = clock.nanoseconds
            return tokensOfKeys.all.count { !rules.isFull($0.tokens, at: now) }
        }
    }

    /// The number of keys in memory, full ones as well.
    var rememberedCount: Int { lock.withLock { tokensOfKeys.all.count } }

    /// The number of keys for which tasks wait.
    var lineCount: Int { lock.withLock { lines.count } }

    /// The settings, and how many keys have a quota that is not full.
    public var description: String { "KeyedQuota: \(settings.rate), \(keyCount) keys" }

    // MARK: Keys

    /// How many other keys a call looks at, for those to forget.
    private static var looks: Int { 2 }

    private func change<Result>(_ key: Key, _ body: (inout QuotaTokens, _ now: Int64) -> Result) -> Result {
        // Released without the lock: a key's deinit may call the quota.
        var forgotten: [Key] = []
        defer { withExtendedLifetime(forgotten) {} }
        return lock.withLock {
            let now = clock.nanoseconds
            for _ in 0..<Self.looks {
                if let key = tokensOfKeys.takeNext(where: { rules.isLikeNew($0, at: now) }) { forgotten.append(key) }
            }
            return tokensOfKeys.change(key) { body(&$0, now) }
        }
    }

    /// Changes the tokens of a key, and the line of the tasks that wait for it.
    func changeWithLine<Result>(
        _ key: Key, _ body: (inout QuotaTokens, inout QuotaLine?, _ now: Int64) -> Result
    ) -> Result {
        // Released without the lock, as above.
        var forgotten: Key?
        defer { withExtendedLifetime(forgotten) {} }
        return change(key) { tokens, now in
            let place = lines.isEmpty ? nil : lines.index(forKey: key)
            var line = place.map { lines.values[$0] }
            let result = body(&tokens, &line, now)
            if let place {
                guard line == nil else { return result }
                forgotten = lines.remove(at: place).key
                // A dictionary never gives memory back by itself.
                if lines.isEmpty, lines.capacity > 64 { lines = [:] }
            } else if let line {
                lines[key] = line
            }
            return result
        }
    }

    /// The tokens of the keys in memory, in a list that a hand goes round.
    private struct Tokens {
        private(set) var all: [(key: Key, tokens: QuotaTokens)] = []
        private var places: [Key: Int] = [:]
        private var hand = 0

        subscript(key: Key) -> QuotaTokens { places[key].map { all[$0].tokens } ?? QuotaTokens() }

        /// Changes the tokens of a key, which is remembered unless they are as new ones.
        mutating func change<Result>(_ key: Key, _ body: (inout QuotaTokens) -> Result) -> Result {
            if let place = places[key] { return body(&all[place].tokens) }
            var tokens = QuotaTokens()
            let result = body(&tokens)
            if !tokens.isNew {
                places[key] = all.count
                all.append((key, tokens))
            }
            return result
        }

        /// Moves the hand to the next key, and takes it out if its tokens are such. Returns what was taken out.
        mutating func takeNext(where isSuch: (QuotaTokens) -> Bool) -> Key? {
            guard !all.isEmpty else { return nil }
            hand = hand + 1 < all.count ? hand + 1 : 0
            return isSuch(all[hand].tokens) ? remove(all[hand].key) : nil
        }

        /// Takes a key out, and returns the one in memory, which the caller releases.
        mutating func remove(_ key: Key) -> Key? {
            guard let place = places.removeValue(forKey: key) else { return nil }
            let removed = all[place].key
            let last = all.removeLast()
            if place < all.count {
                all[place] = last
                places[last.key] = place
            }
            if all.capacity > 64, all.count < all.capacity / 8 { giveMemoryBack() }
            return removed
        }

        /// A dictionary never does by itself.
        private mutating func giveMemoryBack() {
            all = all.map { $0 }
            places = Dictionary(uniqueKeysWithValues: zip(all.map(\.key), all.indices))
        }
    }
}
