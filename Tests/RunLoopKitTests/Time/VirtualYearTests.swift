import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// A year of virtual time. What happens in it is known exactly: nothing is missed, nothing comes twice, nothing drifts.
@Suite(.timeBound) struct VirtualYearTests {
    private static let hour: Int64 = 3_600_000_000_000
    private static let day = 24 * hour
    private static let year = 365 * day

    // MARK: Timers

    /// What one timer did.
    private final class Record: @unchecked Sendable {
        // Accessed on the loop's thread only.
        var calls: Int64 = 0
        var faults: [String] = []
    }

    /// One of many timers that repeat for a year.
    private struct Repetition {
        let number: Int
        let base: Loop.TimeBase
        let tolerance: Int64
        /// Between 20 and 220 days, and a number of nanoseconds that only one timer has: most calls come alone.
        let period: Int64
        let delay: Int64

        init(_ number: Int) {
            self.number = number
            base = [.suspending, .continuous, .wallClock][number % 3]
            tolerance = number % 5 == 0 ? hour : 0
            period = (20 + Int64(number % 201)) * day + Int64(number)
            delay = number % 2 == 0 ? period : 1 + Int64(number)
        }

        /// The time of the call with this number, which begins at 0.
        func due(_ call: Int64) -> Int64 { delay + call * period }

        /// How many times the timer is due in the year. A tolerant call at the end may come later.
        var counts: ClosedRange<Int64> { count(until: year - tolerance)...count(until: year) }

        private func count(until end: Int64) -> Int64 { end < delay ? 0 : (end - delay) / period + 1 }

        func makeTimer(_ clock: VirtualClock, _ record: Record) -> Loop.Timer {
            Loop.Timer(
                after: .nanoseconds(delay), repeating: .nanoseconds(period), tolerance: .nanoseconds(tolerance),
                timeBase: base
            ) { firing in
                let due = due(record.calls)
                let late = clock.now(base).nanoseconds - due
                record.calls += 1
                if firing.scheduledTime.nanoseconds == due, firing.missed == 0, (0...tolerance).contains(late) {
                    return
                }
                record.faults.append("\(firing.scheduledTime), \(firing.missed) missed, \(late) ns late, not \(due)")
            }
        }
    }

    /// Ten thousand timers in a long run.
    @Test("Each of many timers fires as often as its period fits into a year, to the nanosecond")
    func timers() {
        let (loop, clock) = Loop.inVirtualTime()
        defer { loop.end() }
        let repetitions = (0..<Int(programCount(10_000))).map(Repetition.init)
        let records = repetitions.map { _ in Record() }
        for (repetition, record) in zip(repetitions, records) { loop.add(repetition.makeTimer(clock, record)) }
        #expect(loop.run(for: .nanoseconds(Self.year)) == .timedOut)
        #expect(clock.now.nanoseconds == Self.year)
        for (repetition, record) in zip(repetitions, records) {
            guard record.faults.isEmpty, repetition.counts.contains(record.calls) else {
                Issue.record("\(repetition): \(record.calls) calls, \(record.faults)")
                return
            }
        }
    }

    /// A day passes, and another second would come too early: the timeout is restarted in between.
    @Test("A timeout that is restarted every hour of a year fires once, a day after the last restart")
    func timeout() {
        let (loop, clock) = Loop.inVirtualTime()
        defer { loop.end() }
        let calls = Log<Int64>()
        let timeout = Loop.Timer(restartableAfter: .nanoseconds(Self.day)) { _ in calls.add(clock.now.nanoseconds) }
        let restarts = Count()
        let driver = Loop.Timer(every: .nanoseconds(Self.hour)) { firing in
            restarts.up()
            timeout.restart()
            if restarts.value == 8_000 { firing.timer.invalidate() }
        }
        loop.add(timeout)
        loop.add(driver)
        loop.run(for: .nanoseconds(Self.year))
        #expect(restarts.value == 8_000)
        #expect(calls.entries == [8_000 * Self.hour + Self.day])
    }

    // MARK: Limiters

    /// Calls something at every hour of the year, and returns at what hours its action ran.
    ///
    /// - Parameter make: Makes the limiter. Its result is called with the hour.
    private func hours(
        _ make: (Loop, @escaping @Sendable () -> Void) -> @Sendable (Int) -> Void
    ) -> [Double] {
        let (loop, clock) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<Double>()
        let call = make(loop) { log.add(Double(clock.now.nanoseconds) / Double(Self.hour)) }
        let hour = Count()
        loop.add(
            Loop.Timer(every: .nanoseconds(Self.hour)) { _ in
                hour.up()
                call(hour.value)
            })
        loop.run(for: .nanoseconds(Self.year + Self.hour / 2))
        #expect(hour.value == 8_760)
        return log.entries
    }

    private func every(_ hours: Double, from first: Double, count: Int) -> [Double] {
        (0..<count).map { first + hours * Double($0) }
    }

    @Test("A throttle that is called every hour acts every day")
    func throttle() {
        let found = hours { loop, act in
            let throttle = Throttle<Int>(interval: .seconds(23 * 3_600 + 1_800), on: loop) { _ in act() }
            return { throttle($0) }
        }
        #expect(found == every(24, from: 1, count: 365))
    }

    @Test("A throttle with both edges acts at the same hours of every eleven, all the year")
    func throttleWithBothEdges() {
        let found = hours { loop, act in
            let edges: RateLimitEdges = [.leading, .trailing]
            let throttle = Throttle<Int>(interval: .seconds(5 * 3_600 + 900), edges: edges, on: loop) { _ in act() }
            return { throttle($0) }
        }
        // As lodash: the first call after an action at the trailing edge waits, up to an interval from that action; the
        // call that comes then acts.
        let expected = every(11, from: 1, count: 797) + every(11, from: 6.25, count: 796)
        #expect(found == expected.sorted())
    }

    @Test("A debounce acts once after the calls of each day")
    func debounce() {
        let found = hours { loop, act in
            let debounce = Debounce<Int>(interval: .seconds(7_200), on: loop) { _ in act() }
            return { if $0 % 24 < 10 { debounce($0) } }
        }
        #expect(found == every(24, from: 11, count: 365))
    }

    @Test("A debounce that never comes to rest acts after its maximal wait")
    func debounceWithMaximalWait() {
        let found = hours { loop, act in
            let wait = Duration.seconds(24 * 3_600 + 1_800)
            let debounce = Debounce<Int>(interval: .seconds(7_200), maxWait: wait, on: loop) { _ in act() }
            return { debounce($0) }
        }
        // As lodash: the wait counts from the last action.
        #expect(found == every(24.5, from: 25.5, count: 357))
    }

    @Test("A quota of twelve a day admits twelve at first, and then every second hour")
    func quota() {
        let found = hours { loop, act in
            let quota = Quota(12, per: .nanoseconds(Self.day), on: loop)
            return { _ in if quota.take().isAllowed { act() } }
        }
        #expect(found.count == 12 + 8_759 / 2)
    }

    @Test("A paced queue of one a day takes a year for its inputs")
    func pacedQueue() {
        let found = hours { loop, act in
            let queue = PacedQueue<Int>(1, per: .nanoseconds(Self.day), capacity: 1_000, on: loop) { _ in act() }
            return { if $0 <= 365 { _ = queue($0) } }
        }
        #expect(found == every(24, from: 1, count: 365))
    }

    @Test("A throttle of a thousand keys acts for each as if it were alone")
    func keyedThrottle() {
        let found = hours { loop, act in
            let throttle = KeyedThrottle<Int, Int>(interval: .nanoseconds(30 * Self.day), on: loop) { _, _ in act() }
            // Each key is called once in a thousand hours, which are more than 41 days.
            return { throttle($0, for: $0 % 1_000) }
        }
        #expect(found == every(1, from: 1, count: 8_760))
    }
}
