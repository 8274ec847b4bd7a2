extension Quota {
    /// A limit of a quota that holds in every period, wherever it begins: at most so many tokens.
    public struct Window: Hashable, Sendable, CustomStringConvertible {
        /// Zero or more.
        let tokens: Int
        /// In nanoseconds, zero or more.
        let period: Int64

        /// At most so many tokens in any period.
        ///
        /// - Parameters:
        ///   - tokens: How many. Zero or less refuses every call that costs anything.
        ///   - period: The period, rounded up to a whole nanosecond. If it is zero or less, the window limits only the
        ///     cost of each call.
        public static func atMost(_ tokens: Int, inAny period: Duration) -> Window {
            Window(tokens: max(0, tokens), period: max(0, period.wholeNanoseconds))
        }

        /// For people: `5 in any 1.0 seconds`.
        public var description: String { "\(tokens) in any \(Duration.nanoseconds(period))" }

        /// When tokens that were taken at `time` count no more.
        fileprivate func end(of time: Int64) -> Int64 { time.addingSaturating(period) }
    }
}

/// The calls that a window counts. Those that lie in the future are tokens that the quota owes.
struct WindowLog: Sendable {
    private struct Call {
        let time: Int64
        var cost: Int
    }

    private let window: Quota.Window
    /// In the order of their times. Those before `start` count no more.
    private var calls: [Call] = []
    private var start = 0
    /// The cost of those that count. One above what the window allows counts as that. Two may not fit into 64 bits.
    private var cost: Int128 = 0

    init(of window: Quota.Window) { self.window = window }

    var period: Int64 { window.period }

    /// The calls in memory. For tests.
    var callCount: Int { calls.count }

    private func counted(_ cost: Int) -> Int128 { Int128(min(cost, window.tokens)) }

    /// Forgets the calls that count no more.
    private mutating func forget(at now: Int64) {
        while start < calls.count, window.end(of: calls[start].time) <= now { removeFirst() }
        // Each call is moved once or twice on the whole.
        guard start > 8, start > calls.count / 2 else { return }
        calls.removeFirst(start)
        start = 0
        if calls.isEmpty, calls.capacity > 64 { calls = [] }
    }

    private mutating func removeFirst() {
        cost -= counted(calls[start].cost)
        start += 1
    }

    private func forgetting(at now: Int64) -> WindowLog {
        var copy = self
        // Moves no call, so it copies none.
        while copy.start < calls.count, window.end(of: calls[copy.start].time) <= now { copy.removeFirst() }
        return copy
    }

    /// Whether no call counts.
    var isEmpty: Bool { start == calls.count }

    func isEmpty(at now: Int64) -> Bool { forgetting(at: now).isEmpty }

    // MARK: Taking

    /// When a call of that cost may be made, at the earliest: not before those that were made, or promised. The end of
    /// time if never.
    ///
    /// A cost above what the window allows waits until the window is empty, and then for as many periods as it fills.
    mutating func earliest(for cost: Int, at now: Int64) -> Int64 {
        forget(at: now)
        return earliestAfterForgetting(cost, at: now)
    }

    private func earliestAfterForgetting(_ cost: Int, at now: Int64) -> Int64 {
        var time = max(now, isEmpty ? now : calls[calls.count - 1].time)
        guard cost > 0 else { return time }
        guard window.tokens > 0 else { return .max }
        var (counted, index) = (self.cost, start)
        while index < calls.count, counted + self.counted(cost) > window.tokens {
            time = max(time, window.end(of: calls[index].time))
            counted -= self.counted(calls[index].cost)
            index += 1
        }
        let (periods, overflows) = Int64((cost - 1) / window.tokens).multipliedReportingOverflow(by: window.period)
        return overflows ? .max : time.addingSaturating(periods)
    }

    /// Notes a call, at the time that all windows of the quota allow.
    mutating func append(_ cost: Int, at time: Int64) {
        let last = calls.count - 1
        // What is owed for ever is one call, whatever the window allows: it uses no more memory.
        if !isEmpty, calls[last].time == time, time == .max || cost <= window.tokens - calls[last].cost {
            let sum = Int(clamping: Int128(calls[last].cost) + Int128(cost))
            self.cost += counted(sum) - counted(calls[last].cost)
            calls[last].cost = sum
        } else {
            self.cost += counted(cost)
            calls.append(Call(time: time, cost: cost))
        }
    }

    /// Forgets the oldest calls up to a cost, or parts of them. Returns what it has forgotten.
    mutating func removeOldest(_ cost: Int, at now: Int64) -> [(time: Int64, cost: Int)] {
        forget(at: now)
        var (removed, rest) = ([(time: Int64, cost: Int)](), cost)
        while rest > 0, !isEmpty {
            let part = min(rest, calls[start].cost)
            removed.append((calls[start].time, part))
            remove(part, from: start)
            rest -= part
        }
        return removed
    }

    /// Forgets a cost, or the part of it that still counts, of the calls of a time.
    mutating func remove(_ cost: Int, ofTime time: Int64, at now: Int64) {
        forget(at: now)
        var (rest, index) = (cost, calls.count - 1)
        while rest > 0, index >= start, calls[index].time >= time {
            if calls[index].time == time {
                let part = min(rest, calls[index].cost)
                remove(part, from: index)
                rest -= part
            }
            index -= 1
        }
    }

    private mutating func remove(_ part: Int, from index: Int) {
        let left = calls[index].cost - part
        cost -= counted(calls[index].cost) - counted(left)
        calls[index].cost = left
        guard left == 0 else { return }
        if index == start { start += 1 } else { calls.remove(at: index) }
    }

    // MARK: Questions

    /// When the last call was made, or is to be made: nil if none counts.
    private var lastTime: Int64? { isEmpty ? nil : calls[calls.count - 1].time }

    /// How long until nothing is owed, in nanoseconds; nil if that is never.
    func debt(at now: Int64) -> Int64? {
        guard let lastTime, lastTime > now else { return 0 }
        return lastTime == .max ? nil : lastTime.subtractingSaturating(now)
    }

    /// How long until the tokens are there; nil if they never are.
    func wait(for cost: Int, at now: Int64) -> Int64? {
        guard cost <= window.tokens else { return nil }
        let time = forgetting(at: now).earliestAfterForgetting(cost, at: now)
        return time == .max ? nil : time.subtractingSaturating(now)
    }

    func remaining(at now: Int64) -> Int {
        let current = forgetting(at: now)
        return current.debt(at: now) == 0 ? Int(max(0, Int128(window.tokens) - current.cost)) : 0
    }

    /// How long until no call counts; nil if that is never.
    func timeToEmpty(at now: Int64) -> Int64? {
        guard let lastTime = forgetting(at: now).lastTime else { return 0 }
        let end = window.end(of: lastTime)
        return end == .max ? nil : end.subtractingSaturating(now)
    }
}
