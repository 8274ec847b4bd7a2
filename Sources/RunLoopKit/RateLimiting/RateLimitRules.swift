/// The rules of throttle and debounce: how an event changes the times of a burst. All bursts of a limiter share them.
///
/// See `RateLimitState`, which documents them and puts them together with the times of one burst.
/// 19 bytes, since every limiter has its own.
struct RateLimitRules: Hashable, Sendable {
    /// Never negative.
    private(set) var interval: Int64

    /// As it was given; zero for a throttle, whose interval is its limit, and where there is no limit.
    private var givenLimit: Int64 = 0
    private var hasLimit = true
    let isThrottle: Bool
    let edges: RateLimitEdges

    init(_ kind: RateLimitState.Kind, interval: Int64, edges: RateLimitEdges) {
        self.interval = max(0, interval)
        self.edges = edges.intersection([.leading, .trailing])
        isThrottle = kind == .throttle
        if case .debounce(let maxWait) = kind { changeMaxWait(to: maxWait) }
    }

    var kind: RateLimitState.Kind { isThrottle ? .throttle : .debounce(maxWait: maxWait) }

    mutating func changeInterval(to interval: Int64) { self.interval = max(0, interval) }

    /// The longest time between actions while calls keep coming. lodash: `maxWait`. Follows the interval.
    @inline(__always)
    private var limit: Int64? { hasLimit ? max(givenLimit, interval) : nil }

    /// The `maxWait` of a debounce, as it was given.
    var maxWait: Int64? { hasLimit && !isThrottle ? givenLimit : nil }

    /// - Precondition: The rules are those of a debounce.
    mutating func changeMaxWait(to maxWait: Int64?) { (hasLimit, givenLimit) = (maxWait != nil, maxWait ?? 0) }

    // MARK: Events

    /// Handles an ordinary call, which changes only the time of the last call. For any other it does nothing, and
    /// returns false.
    ///
    /// Inlined: otherwise the rules are copied first, which takes as long as the rest.
    @inline(__always)
    func continueBurst(_ burst: inout BurstTimes, at now: Int64) -> Bool {
        guard let timer = burst.timer, timer > now, !isOfLongerInterval(timer, at: now), !isLimitOver(burst, at: now),
            burst.isPending == edges.contains(.trailing)
        else { return false }
        burst.lastCall = now
        return true
    }

    /// Handles the timer if its time has come and nothing is pending. Its event then only moves or stops it, and may
    /// come right before the next one. So a limiter needs a timer only for what is pending.
    @inline(__always)
    func catchUp(_ burst: inout BurstTimes, at now: Int64) {
        guard !burst.isPending, let timer = burst.timer, timer <= now else { return }
        _ = timerFired(&burst, at: now)
    }

    /// Returns whether to act now.
    @inline(never)
    func call(_ burst: inout BurstTimes, at now: Int64) -> Bool {
        let isDue = isDue(burst, at: now)
        burst.lastCall = now
        burst.isPending = edges.contains(.trailing)
        guard let timer = burst.timer else { return callWithoutTimer(&burst, at: now, isDue) }
        // The timer is late: the time is up, but its event has not come. A call acts without it only if the limit is
        // over.
        guard isLimitOver(burst, at: now) else {
            if isOfLongerInterval(timer, at: now) { burst.timer = nextLook(burst) }
            return false
        }
        burst.timer = now.addingSaturating(interval)
        return act(&burst, at: now)
    }

    /// Returns whether to act now on what is pending.
    func timerFired(_ burst: inout BurstTimes, at now: Int64) -> Bool {
        guard let timer = burst.timer, timer <= now else { return false }
        guard isDue(burst, at: now) else {
            burst.timer = nextLook(burst)
            return false
        }
        return trailingEdge(&burst, at: now)
    }

    /// Returns whether to act now on what is pending.
    func flush(_ burst: inout BurstTimes, at now: Int64) -> Bool { burst.timer != nil && trailingEdge(&burst, at: now) }

    /// Whether a burst behaves like a new one, and can be dropped. Nothing is pending then.
    func isQuiet(_ burst: inout BurstTimes, at now: Int64) -> Bool {
        catchUp(&burst, at: now)
        return quietTime(burst).map { $0 <= now } ?? false
    }

    /// The time from which a burst without a timer behaves like a new one. Nil when a timer runs.
    func quietTime(_ burst: BurstTimes) -> Int64? {
        guard burst.timer == nil else { return nil }
        let call = burst.lastCall?.addingSaturating(interval) ?? .min
        guard isThrottle else { return call }
        return max(call, burst.lastAction?.addingSaturating(interval) ?? .min)
    }

    // MARK: Rules

    /// Whether a timer was set before the interval became shorter.
    @inline(__always)
    private func isOfLongerInterval(_ timer: Int64, at now: Int64) -> Bool { timer > now.addingSaturating(interval) }

    /// Whether the burst is over, or has lasted as long as it may. lodash: `shouldInvoke`.
    @inline(__always)
    private func isDue(_ burst: BurstTimes, at now: Int64) -> Bool {
        guard let lastCall = burst.lastCall else { return true }
        return now >= lastCall.addingSaturating(interval) || isLimitOver(burst, at: now)
    }

    /// Whether the burst has lasted as long as it may.
    @inline(__always)
    private func isLimitOver(_ burst: BurstTimes, at now: Int64) -> Bool {
        guard let limit, let lastAction = burst.lastAction else { return false }
        return now >= lastAction.addingSaturating(limit)
    }

    /// The time at which the burst becomes due if no call comes. lodash: `remainingWait`.
    private func nextLook(_ burst: BurstTimes) -> Int64 {
        let endOfBurst = (burst.lastCall ?? .min).addingSaturating(interval)
        guard let limit, let lastAction = burst.lastAction else { return endOfBurst }
        return min(endOfBurst, lastAction.addingSaturating(limit))
    }

    private func callWithoutTimer(_ burst: inout BurstTimes, at now: Int64, _ isDue: Bool) -> Bool {
        burst.timer = now.addingSaturating(interval)
        guard isDue else { return false }
        if isThrottle, let lastAction = burst.lastAction {
            // The second fix. Without it the end of one interval and the start of the next could be one instant apart.
            let endOfInterval = lastAction.addingSaturating(interval)
            if now < endOfInterval {
                burst.timer = endOfInterval
                return false
            }
        }
        // lodash: `leadingEdge`.
        burst.lastAction = now
        return edges.contains(.leading) && act(&burst, at: now)
    }

    private func trailingEdge(_ burst: inout BurstTimes, at now: Int64) -> Bool {
        burst.timer = nil
        return burst.isPending && act(&burst, at: now)
    }

    /// lodash: `invokeFunc`.
    private func act(_ burst: inout BurstTimes, at now: Int64) -> Bool {
        burst.isPending = false
        burst.lastAction = now
        return true
    }
}

/// What the rules know of one burst: 28 bytes, since a limiter may have a million of them.
struct BurstTimes: Hashable, Sendable {
    // Zero where the flag below is false. Three optionals would take 48 bytes.
    private var callTime: Int64 = 0
    private var actionTime: Int64 = 0
    private var timerTime: Int64 = 0
    private var wasCalled = false
    private var hasActed = false
    private var timerRuns = false

    /// Whether an input waits for the trailing edge. lodash: `lastArgs`.
    var isPending = false

    /// The time of the last call; nil before the first one and after a cancel. lodash: `lastCallTime`.
    var lastCall: Int64? {
        get { wasCalled ? callTime : nil }
        set { (wasCalled, callTime) = (newValue != nil, newValue ?? 0) }
    }

    /// The time of the last action or, if later, of the first call of a burst that did not act on its leading edge. Nil
    /// before either, and after a cancel. lodash: `lastInvokeTime`.
    var lastAction: Int64? {
        get { hasActed ? actionTime : nil }
        set { (hasActed, actionTime) = (newValue != nil, newValue ?? 0) }
    }

    /// When the timer fires; nil when none runs. lodash: `timerId`.
    var timer: Int64? {
        get { timerRuns ? timerTime : nil }
        set { (timerRuns, timerTime) = (newValue != nil, newValue ?? 0) }
    }

    /// When the timer fires for a pending input; nil if nothing is pending. See `RateLimitRules.catchUp`.
    var timerOfPending: Int64? { isPending ? timer : nil }
}
