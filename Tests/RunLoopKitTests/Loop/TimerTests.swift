import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// Timers in virtual time: nothing here waits, and no timer can be late.
@Suite(.timeBound) struct TimerTests {
    @Test("A repeating timer does not drift")
    func noDrift() {
        let (loop, clock) = Loop.inVirtualTime()
        let times = Log<Loop.Instant>()
        let timer = Loop.Timer(every: .milliseconds(10)) { firing in
            times.add(firing.scheduledTime)
            // A slow handler, but faster than a period.
            clock.advance(by: .milliseconds(3))
            if times.entries.count == 1000 { firing.timer.invalidate() }
        }
        loop.add(timer, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(100)) == .finished)
        #expect(times.entries == (1...1000).map { Loop.Instant(nanoseconds: Int64($0) * 10_000_000) })
    }

    @Test("Every instant of the grid is a call or is counted as missed")
    func missedInstants() {
        let (loop, clock) = Loop.inVirtualTime()
        let calls = Log<(Loop.Instant, Int)>()
        var random = SplitMix(7)
        let delays = (0..<50).map { _ in Duration.milliseconds(Int64(random.next() % 95)) }
        loop.add(
            Loop.Timer(every: .milliseconds(10)) { firing in
                calls.add((firing.scheduledTime, firing.missed))
                clock.advance(by: delays[calls.entries.count - 1])
                if calls.entries.count == 50 { firing.timer.invalidate() }
            }, in: .default)
        loop.run()
        var instant = 0
        for (time, missed) in calls.entries {
            instant += missed + 1
            #expect(time.nanoseconds == Int64(instant) * 10_000_000)
        }
        #expect(calls.entries.contains { $0.1 > 3 })
    }

    @Test("A delay counts from the moment of adding")
    func delayFromAdding() {
        let (loop, clock) = Loop.inVirtualTime()
        let timer = Loop.Timer(after: .seconds(1)) { _ in }
        #expect(timer.nextFireTime == nil)
        clock.advance(by: .seconds(5))
        loop.add(timer, in: .default)
        #expect(timer.nextFireTime == seconds(6))
        // Adding it to another mode, or again, does not restart the delay.
        clock.advance(by: .seconds(0.5))
        loop.add(timer, in: "other")
        loop.remove(timer, in: .default)
        loop.add(timer, in: .default)
        #expect(timer.nextFireTime == seconds(6))
    }

    @Test("A delay inside a slow handler counts from the clock, not from the pass")
    func delayInASlowHandler() {
        let (loop, clock) = Loop.inVirtualTime()
        let late = Loop.Timer(after: .seconds(1)) { firing in #expect(firing.scheduledTime == seconds(11)) }
        loop.perform {
            clock.advance(by: .seconds(10))
            Loop.current.add(late, in: .default)
        }
        loop.run()
        #expect(clock.now == seconds(11))
    }

    @Test("No timer fires early on the real clock")
    func neverEarly() throws {
        let thread = try LoopThread()
        let lateness = Log<Duration>()
        for _ in 0..<20 {
            let delay = Duration.microseconds(300)
            let before = Loop.Instant.now
            let done = Gate()
            thread.perform(after: delay) {
                lateness.add(before.advanced(by: delay).duration(to: .now))
                done.open()
            }
            done.wait()
        }
        #expect(lateness.entries.allSatisfy { $0 >= .zero })
    }

    @Test("A timer that was not added does nothing")
    func notAdded() {
        let (loop, _) = Loop.inVirtualTime()
        let timer = Loop.Timer(after: .zero) { _ in Issue.record("fired") }
        let absolute = Loop.Timer(at: 0) { _ in Issue.record("fired") }
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(timer.isValid && absolute.isValid)
    }

    // MARK: Tolerance

    @Test("Timers within each other's tolerance share one wake-up")
    func sharedWakeUp() {
        let (loop, _) = Loop.inVirtualTime()
        let fired = Log<(String, Loop.Instant)>()
        func add(_ name: String, _ delay: Duration, _ tolerance: Duration) {
            loop.add(
                Loop.Timer(after: delay, tolerance: tolerance) { _ in fired.add((name, Loop.current.now)) },
                in: .default)
        }
        add("a", .seconds(10), .seconds(5))
        add("b", .seconds(12), .seconds(2))
        add("c", .seconds(13), .seconds(9))
        add("d", .seconds(16), .zero)
        loop.run()
        #expect(fired.entries.map(\.0) == ["a", "b", "c", "d"])
        #expect(fired.entries.map(\.1) == [seconds(14), seconds(14), seconds(14), seconds(16)])
        #expect(loop.counters.passes == 2)
    }

    @Test("Tolerance does not move the grid")
    func toleranceAndGrid() {
        let (loop, _) = Loop.inVirtualTime()
        let times = Log<[Loop.Instant]>()
        let timer = Loop.Timer(every: .seconds(10), tolerance: .seconds(3)) { firing in
            times.add([firing.scheduledTime, Loop.current.now])
            if times.entries.count == 3 { firing.timer.invalidate() }
        }
        loop.add(timer, in: .default)
        loop.run()
        #expect(
            times.entries == [[seconds(10), seconds(13)], [seconds(20), seconds(23)], [seconds(30), seconds(33)]])
    }

    @Test("Tolerance is clamped and can be changed while the loop waits")
    func toleranceIsClamped() {
        let (loop, _) = Loop.inVirtualTime()
        let repeating = Loop.Timer(every: .seconds(10), tolerance: .seconds(100)) { _ in }
        #expect(repeating.tolerance == .seconds(5))
        repeating.tolerance = .seconds(-1)
        #expect(repeating.tolerance == .zero)
        let once = Loop.Timer(after: .seconds(10), tolerance: .seconds(100)) { _ in
            #expect(Loop.current.now == seconds(11))
        }
        #expect(once.tolerance == .seconds(100))
        loop.add(once, in: .default)
        loop.perform { once.tolerance = .seconds(1) }
        loop.run()
        #expect(!once.isValid)
    }

    // MARK: Re-timing

    @Test("Setting the fire time moves the grid")
    func fireTimeMovesTheGrid() {
        let (loop, _) = Loop.inVirtualTime()
        let times = Log<Loop.Instant>()
        let timer = Loop.Timer(every: .seconds(10)) { firing in
            times.add(firing.scheduledTime)
            if times.entries.count == 3 { firing.timer.invalidate() }
        }
        loop.add(timer, in: .default)
        timer.nextFireTime = seconds(3)
        #expect(loop.nextTimerFireTime(in: .default) == seconds(3))
        loop.run()
        #expect(times.entries == [seconds(3), seconds(13), seconds(23)])
    }

    @Test("A time in the past counts as now, and nil stops")
    func pastAndNil() {
        let (loop, clock) = Loop.inVirtualTime()
        clock.advance(by: .seconds(5))
        let count = Count()
        let timer = Loop.Timer(every: .seconds(10)) { _ in count.up() }
        loop.add(timer, in: .default)
        timer.nextFireTime = seconds(1)
        #expect(timer.nextFireTime == seconds(5))
        timer.nextFireTime = nil
        #expect(timer.nextFireTime == nil && timer.isValid)
        #expect(loop.run(mode: .default, for: .seconds(100)) == .timedOut)
        #expect(count.value == 0)
        timer.nextFireTime = clock.now
        loop.run(mode: .default, for: .zero)
        #expect(count.value == 1)
    }

    @Test("A timer that is in no loop keeps the fire time that it is given")
    func fireTimeInNoLoop() {
        let (loop, _) = Loop.inVirtualTime()
        let timer = Loop.Timer(after: .seconds(1)) { firing in #expect(firing.scheduledTime == seconds(7)) }
        timer.nextFireTime = seconds(7)
        loop.add(timer, in: .default)
        loop.run()
        #expect(!timer.isValid)
        timer.nextFireTime = seconds(9)
        #expect(timer.nextFireTime == nil)
    }

    @Test("An earlier timer added by another thread fires in time although the loop sleeps")
    func addedWhileAsleep() throws {
        // On the real clock, without any wake-up.
        let thread = try LoopThread()
        thread.loop.add(Loop.Timer(after: .seconds(3600)) { _ in }, in: .default)
        spin(until: thread.loop.isWaiting)
        let writes = thread.loop.counters.wakeWrites
        let fired = Gate()
        thread.loop.add(Loop.Timer(after: .microseconds(100)) { _ in fired.open() }, in: .default)
        fired.wait()
        #expect(thread.loop.counters.wakeWrites == writes)
        // And a re-timed one.
        let again = Gate()
        let timer = Loop.Timer(after: .seconds(7200)) { _ in again.open() }
        thread.loop.add(timer, in: .default)
        spin(until: thread.loop.isWaiting)
        timer.nextFireTime = .now
        again.wait()
    }

    // MARK: Many modes, many timers

    @Test("A timer in several modes fires in whichever runs")
    func severalModes() {
        let (loop, _) = Loop.inVirtualTime()
        let modes: [Loop.Mode] = ["a", "b", "c", .default]
        let fired = Log<Loop.Mode?>()
        let timer = Loop.Timer(every: .seconds(1)) { _ in fired.add(Loop.current.currentMode) }
        for mode in modes { loop.add(timer, in: mode) }
        for mode in modes { loop.run(mode: mode, for: .seconds(2)) }
        #expect(fired.entries == ["a", "a", "b", "b", "c", "c", .default, .default])
        loop.remove(timer, in: "b")
        #expect(modes.map { loop.contains(timer, in: $0) } == [true, false, true, true])
        timer.invalidate()
        #expect(modes.allSatisfy { !loop.contains(timer, in: $0) })
    }

    @Test("Ten thousand timers fire in order")
    func tenThousandTimers() {
        let (loop, _) = Loop.inVirtualTime()
        var random = SplitMix(3)
        let last = LoopBound(Loop.Instant(nanoseconds: 0), on: loop)
        let fired = LoopBound(0, on: loop)
        for _ in 0..<10_000 {
            let delay = Duration.microseconds(Int64(random.next() % 1_000_000))
            loop.add(
                Loop.Timer(after: delay) { firing in
                    if firing.scheduledTime < last.value { Issue.record("out of order") }
                    last.value = firing.scheduledTime
                    fired.value += 1
                }, in: .default)
        }
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(fired.value == 10_000)
    }

    @Test("Timers move to another loop while they fire")
    func movedWhileFiring() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let other = Loop(clock: clock)
        let fired = Log<ObjectIdentifier>()
        let timer = Loop.Timer(every: .seconds(1)) { firing in
            fired.add(ObjectIdentifier(Loop.current))
            if Loop.current === loop {
                #expect(!other.add(firing.timer, in: .default))
                loop.remove(firing.timer, in: .default)
                #expect(other.add(firing.timer, in: .default))
            }
        }
        loop.add(timer, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(5)) == .finished)
        #expect(other.run(mode: .default, for: .seconds(3)) == .timedOut)
        #expect(fired.entries == [loop, other, other, other].map(ObjectIdentifier.init))
        timer.invalidate()
    }

    // MARK: Handlers that take long

    @Test("A handler that ends on an instant of the grid has missed that instant")
    func endOnAnInstant() {
        let (loop, clock) = Loop.inVirtualTime()
        let calls = Log<(Loop.Instant, Int)>()
        let timer = Loop.Timer(every: .seconds(1)) { firing in
            calls.add((firing.scheduledTime, firing.missed))
            if calls.entries.count == 1 { clock.advance(by: .seconds(2)) }
        }
        loop.add(timer, in: .default)
        #expect(loop.run(mode: .default, for: .milliseconds(5500)) == .timedOut)
        // The first call ended at exactly 3 s: CF's next instant is the first later one.
        #expect(calls.entries.map(\.0) == [seconds(1), seconds(4), seconds(5)])
        #expect(calls.entries.map(\.1) == [0, 2, 0])
        timer.invalidate()
    }

    @Test(
        "A timer whose handler runs is not due in a run inside the handler", arguments: [nil, Duration.milliseconds(1)])
    func notDueInItsOwnHandler(_ interval: Duration?) {
        let (loop, clock) = Loop.inVirtualTime()
        let passes = Count()
        // A run for which the timer was due would never sleep.
        loop.add(
            Loop.Observer(.beforeTimers) { _, _ in if passes.up() > 100 { Loop.current.stop() } }, in: .default)
        loop.add(
            Loop.Timer(after: .seconds(1), repeating: interval) { firing in
                #expect(Loop.current.run(mode: .default, for: .seconds(5)) == .timedOut)
                firing.timer.invalidate()
            }, in: .default)
        loop.add(Loop.Source0 {}, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(10)) == .timedOut)
        #expect(clock.now == seconds(10) && passes.value < 10)
    }

    // MARK: Input at the limits

    @Test(
        "A timer with an interval of zero or less fires once",
        arguments: [Duration.zero, .seconds(-1), .nanoseconds(-1)])
    func zeroInterval(_ interval: Duration) {
        let (loop, _) = Loop.inVirtualTime()
        let count = Count()
        let timer = Loop.Timer(after: .zero, repeating: interval) { _ in count.up() }
        #expect(!timer.repeats && timer.interval == .zero)
        loop.add(timer, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(count.value == 1 && !timer.isValid)
    }

    @Test("An interval below a nanosecond counts as one nanosecond")
    func tinyInterval() {
        let timer = Loop.Timer(every: Duration(secondsComponent: 0, attosecondsComponent: 1)) { _ in }
        #expect(timer.interval == .nanoseconds(1) && timer.repeats)
    }

    @Test("Delays beyond the clock's range never pass")
    func hugeDelays() {
        let (loop, clock) = Loop.inVirtualTime()
        let huge = Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999)
        let never = Loop.Timer(after: huge, repeating: huge, tolerance: huge) { _ in Issue.record("fired") }
        let past = Loop.Timer(after: .zero - huge) { _ in }
        let ancient = Loop.Timer(at: .distantPast, repeating: huge) { _ in }
        for timer in [never, past, ancient] { loop.add(timer, in: .default) }
        #expect(loop.run(mode: .default, for: .seconds(1_000_000_000)) == .timedOut)
        #expect(never.isValid && !past.isValid && ancient.isValid)
        #expect(clock.now == seconds(1_000_000_000))
        #expect(ancient.nextFireTime == nil)
    }

    /// The timerfd is in the epoll sets of all modes: a mode in which no timer was due lists its report as well.
    @Test("A timer that becomes due later does not overtake an older wake-up")
    func olderWakeUpFirst() throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            let log = Log<String>()
            try loop.prepare("other")
            let port = try Loop.PortSource { _ in
                log.add("port")
                let timer = Loop.Timer(after: .zero) { _ in
                    log.add("timer")
                    loop.stop()
                }
                loop.add(timer, in: "other")
            }
            loop.add(port, in: "other")
            // Ready in the other mode, in this order: the port, and the report of a timer that fires here.
            port.send()
            // A loop that does not sleep, since the time has come already, does not arm the timerfd.
            let arms = loop.counters.timerArms
            while loop.counters.timerArms == arms {
                loop.add(Loop.Timer(after: .milliseconds(5)) { _ in loop.stop() })
                loop.run()
            }
            loop.add(Loop.Observer(.beforeTimers) { _, _ in log.add("pass") }, in: "other")
            loop.add(Loop.Observer(.beforeWaiting, repeats: false) { _, _ in loop.wakeUp() }, in: "other")
            // Without a time limit: arming the timerfd for its end would withdraw the report.
            loop.run(mode: "other", until: .distantFuture)
            #expect(log.entries == ["pass", "port", "pass", "pass", "timer"], "the wake-up has a pass of its own")
        }
    }
}
