/// So many tokens in a period: whether the caller may go on, and if not, when. Any thread and any task may call
/// everything here; no call waits but ``wait(_:)``.
///
/// ```swift
/// let logins = Quota(5, per: .seconds(60))  // five at once, and one every twelve seconds
/// let answer = logins.take()
/// guard answer.isAllowed else { return print("come again after \(answer.retryAfter!)") }
/// ```
///
/// There are two kinds:
///
/// - *A token bucket,* as above, is full at first and holds `burst` tokens, of which each call takes its cost. Tokens
///   come back continuously: here one every twelve seconds, and a half of one in six. So five in a minute, with a burst
///   of five, can be nine in the first minute.
/// - *Windows* allow never more than so many in any period: `Quota(.atMost(5, inAny: .seconds(60)))`. The tokens of a
///   call come back a period after it. Several windows hold together: five a second *and* a hundred a minute.
///
/// - *For each client,* user or address there is a ``KeyedQuota``.
/// - *To delay what is too much* instead of refusing it, take a ``PacedQueue``; or let tasks ``wait(_:)``.
/// - *A cost that is known only afterwards,* such as the bytes that came, goes to ``reserve(_:)``.
///
/// It has no timer and no loop: it reads a clock at each call, and counts from that. A bucket keeps one number, and
/// windows the times of the calls that they count, 16 bytes for each. The arithmetic is exact: a year of calls adds no
/// error. The clock is that of ordinary loops unless you name another. It stands still in suspend (<doc:Timers>).
///
/// A quota's settings are fixed. To change them, make another.
///
/// A bucket is Go's `rate.Limiter`, Guava's `RateLimiter` and Bucket4j's `Bucket`. nginx's `limit_req` has a burst of
/// its own. Windows are the sliding log of API gateways. MessageThrottle and HWThrottle have neither.
public final class Quota: CustomStringConvertible, @unchecked Sendable {
    let rules: QuotaRules
    let clock: LoopTime
    let lock = Lock(.limiter)
    /// Guarded by `lock`, with which the clock is read, too. Exclusivity is unchecked, as in `Loop`.
    @exclusivity(unchecked) var tokens = QuotaTokens()
    /// The tasks that wait; nil if none does. Guarded by `lock`.
    @exclusivity(unchecked) var line: QuotaLine?
    private let settings: QuotaSettings

    init(_ settings: QuotaSettings, _ clock: LoopTime) {
        (self.settings, self.clock) = (settings, clock)
        rules = settings.rules
    }

    /// Makes a quota that is full. On any thread.
    ///
    /// - Parameters:
    ///   - tokens: How many tokens come in a period. If zero or less, none ever come.
    ///   - period: The period, rounded up to a whole nanosecond. If it is zero or less, all tokens come back at once.
    ///   - burst: How many tokens the quota holds, and so how many calls may come at once. Nil, the default: `tokens`.
    ///     Zero or less refuses every call that costs anything.
    ///   - clock: The clock to count on, in tests; nil for that of ordinary loops.
    public convenience init(_ tokens: Int, per period: Duration, burst: Int? = nil, clock: VirtualClock? = nil) {
        self.init(.bucket(BucketSettings(tokens, period, burst ?? tokens)), clock.map { .virtual($0) } ?? .monotonic)
    }

    /// Makes a quota that is full, and counts on a loop's clock. It does not retain the loop, which need not run.
    ///
    /// - Parameters:
    ///   - tokens: How many tokens come in a period. If zero or less, none ever come.
    ///   - period: The period, rounded up to a whole nanosecond. If it is zero or less, all tokens come back at once.
    ///   - burst: How many tokens the quota holds. Nil, the default: `tokens`.
    ///   - loop: The loop whose clock counts.
    public convenience init(_ tokens: Int, per period: Duration, burst: Int? = nil, on loop: Loop) {
        self.init(.bucket(BucketSettings(tokens, period, burst ?? tokens)), loop.clock)
    }

    /// Makes a quota that allows so many tokens in any period of each window, and is full. On any thread.
    ///
    /// ```swift
    /// let calls = Quota(.atMost(5, inAny: .seconds(1)), .atMost(100, inAny: .seconds(60)))
    /// ```
    ///
    /// - Parameters:
    ///   - window: The limit.
    ///   - others: Further limits, which hold as well.
    ///   - clock: The clock to count on, in tests; nil for that of ordinary loops.
    public convenience init(_ window: Window, _ others: Window..., clock: VirtualClock? = nil) {
        self.init(.windows([window] + others), clock.map { .virtual($0) } ?? .monotonic)
    }

    /// Makes a quota of windows that is full, and counts on a loop's clock. It does not retain the loop, which need not
    /// run.
    ///
    /// - Parameters:
    ///   - window: The limit.
    ///   - others: Further limits, which hold as well.
    ///   - loop: The loop whose clock counts.
    public convenience init(_ window: Window, _ others: Window..., on loop: Loop) {
        self.init(.windows([window] + others), loop.clock)
    }

    /// Takes tokens if there are enough, and otherwise none. Go: `Allow`. Bucket4j: `tryConsumeAndReturnRemaining`.
    ///
    /// - Parameter cost: How many. Zero or less is allowed unless the quota owes tokens: see ``reserve(_:)``.
    public func take(_ cost: Int = 1) -> Answer {
        lock.withLock {
            let now = clock.nanoseconds
            return rules.answer(taking: cost, from: &tokens, at: now)
        }
    }

    /// Says what ``take(_:)`` would answer, and takes nothing. So ``Answer/remaining`` and ``Answer/fullAfter`` are
    /// those of now. Bucket4j: `estimateAbilityToConsume`.
    public func check(_ cost: Int = 1) -> Answer {
        lock.withLock {
            let now = clock.nanoseconds
            return rules.answer(checking: cost, in: tokens, at: now)
        }
    }

    /// Takes tokens even if they are not there yet, and returns how long to wait until they are.
    ///
    /// The quota owes them then, and refuses calls of ``take(_:)`` until it has enough again. So the cost may exceed
    /// what the quota holds. A reader that must keep to so many bytes a second calls this after each read, and pauses:
    ///
    /// ```swift
    /// let bytes = Quota(1_000_000, per: .seconds(1), burst: 64_000)
    /// let input = try Loop.FileDescriptorSource(socket) { input, _ in
    ///     var block = [UInt8](repeating: 0, count: 4096)
    ///     let pause = bytes.reserve(read(input.descriptor, &block, block.count))!
    ///     guard pause > .zero else { return }
    ///     input.disarm()
    ///     loop.add(Loop.Timer(after: pause) { _ in input.rearm() })
    /// }
    /// ```
    ///
    /// Go: `Reserve`. Guava: `acquire`, which waits itself.
    ///
    /// - Returns: How long until nothing is owed; zero if nothing is. Nil if that is never, since no tokens come.
    @discardableResult
    public func reserve(_ cost: Int) -> Duration? {
        lock.withLock {
            let now = clock.nanoseconds
            rules.charge(cost, to: &tokens, at: now)
            return rules.debt(of: tokens, at: now).map { .nanoseconds($0) }
        }
    }

    /// Gives tokens back, such as those of work that was not done. It never holds more than its burst. A quota of
    /// windows takes back its oldest tokens, so that it never exceeds its limits. A task whose turn in ``wait(_:)`` has
    /// come continues no earlier.
    ///
    /// - Parameter cost: How many. Zero or less does nothing.
    public func giveBack(_ cost: Int = 1) {
        lock.withLock { rules.giveBack(cost, to: &tokens, at: clock.nanoseconds) }
    }

    /// Makes it full, as it was at first. A task whose turn in ``wait(_:)`` has come continues no earlier, and if it is
    /// cancelled, it gives nothing back.
    public func reset() { lock.withLock { tokens = QuotaTokens() } }

    /// The settings, and how many tokens are left.
    public var description: String { "Quota: \(settings.rate), \(check(0).remaining) left" }
}

/// What a quota is made with.
enum QuotaSettings: Sendable {
    case bucket(BucketSettings)
    case windows([Quota.Window])

    var rules: QuotaRules {
        switch self {
        case .bucket(let bucket): .bucket(bucket.rules)
        case .windows(let windows): .windows(windows)
        }
    }

    /// For people.
    var rate: String {
        switch self {
        case .bucket(let bucket): bucket.rate
        case .windows(let windows): windows.map { "\($0)" }.joined(separator: ", ")
        }
    }
}
