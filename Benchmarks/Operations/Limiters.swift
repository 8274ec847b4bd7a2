import RunLoopKit

extension Operation {
    /// Calls inside bursts, except where the name says otherwise.
    static let limiters = [
        Operation("debounce-call") { loop in
            let limiter = Debounce<Int>(interval: .anHour, on: loop) { _ in }
            return { count in for number in 0..<count { limiter(number) } }
        },
        Operation("throttle-call") { loop in
            let limiter = Throttle<Int>(interval: .anHour, on: loop) { _ in }
            return { count in for number in 0..<count { limiter(number) } }
        },
        Operation("async-debounce-call") { loop in
            let limiter = AsyncLimiter<Int, Void>.debounce(interval: .anHour, on: loop) { _ in }
            return { count in for number in 0..<count { _ = limiter(number) } }
        },
        // A burst of one call, and its end.
        Operation("debounce-burst") { loop in
            let limiter = Debounce<Int>(interval: .anHour, on: loop) { _ in }
            return { count in
                for number in 0..<count {
                    limiter(number)
                    limiter.flush()
                }
            }
        },
        Operation("keyed-debounce-known-key") { loop in
            let limiter = KeyedDebounce<Int, Int>(interval: .anHour, on: loop) { _, _ in }
            return { count in for number in 0..<count { limiter(number, for: 1) } }
        },
        Operation("keyed-debounce-new-key") { loop in
            let limiter = KeyedDebounce<Int, Int>(interval: .anHour, on: loop) { _, _ in }
            let keys = NewKeys()
            return { count in for key in keys.next(count) { limiter(key, for: key) } }
        },
        Operation("quota-allowed") { loop in
            let quota = Quota(1 << 30, per: .seconds(1), on: loop)
            return { count in for _ in 0..<count { _ = quota.take() } }
        },
        Operation("quota-refused") { loop in
            let quota = Quota(1, per: .anHour, on: loop)
            _ = quota.take()
            return { count in for _ in 0..<count { _ = quota.take() } }
        },
        // A call that acts at once.
        Operation("paced-queue-call") { loop in
            let queue = PacedQueue<Int>(1, per: .zero, capacity: 1, on: loop) { _ in }
            return { count in for number in 0..<count { _ = queue(number) } }
        },
        // A call that has to wait, in virtual time, and the run in which its action is due.
        Operation("paced-queue-and-run") { _ in
            let loop = Loop(clock: VirtualClock())
            let period = Duration.microseconds(1)
            let queue = PacedQueue<Int>(1, per: period, capacity: 1, on: loop) { _ in }
            _ = queue(0)
            return { count in
                for number in 0..<count {
                    _ = queue(number)
                    loop.run(for: period)
                }
            }
        },
    ]
}

private final class NewKeys {
    private var used = 0

    func next(_ count: Int) -> Range<Int> {
        defer { used += count }
        return used..<used + count
    }
}
