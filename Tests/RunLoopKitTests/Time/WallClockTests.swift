import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Timers on the wall clock, in virtual time, and in real time as far as that needs no clock to be set.
///
/// `RUNLOOPKIT_SET_CLOCK` permits a test to set the machine's clock, if it runs as root: back by 50 ms, and forward
/// again. Never on a machine that does other work.
@Suite(.timeBound) struct WallClockTests {
    /// A loop in virtual time, an hour after the start of 1970 by its wall clock.
    private func makeLoop(_ advance: VirtualClock.Advance = .automatic) -> (Loop, VirtualClock) {
        let (loop, clock) = Loop.inVirtualTime(advance)
        clock.setWallClock(to: seconds(3600))
        return (loop, clock)
    }

    /// Makes a timer that logs for which instant it is called, in seconds by the wall clock.
    private func makeTimer(
        at time: Loop.Instant, repeating interval: Duration? = nil, _ log: Log<Int64>,
        handler: @escaping @Sendable (Loop.Timer.Firing) -> Void = { _ in }
    ) -> Loop.Timer {
        Loop.Timer(at: time, repeating: interval, timeBase: .wallClock) { firing in
            log.add(firing.scheduledTime.nanoseconds / 1_000_000_000)
            handler(firing)
        }
    }

    @Test("A timer fires at a time of the wall clock")
    func atATime() {
        let (loop, clock) = makeLoop()
        let log = Log<Int64>()
        loop.add(makeTimer(at: seconds(3605), log), in: .default)
        #expect(loop.nextTimerFireTime(in: .default) == seconds(5))
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(log.entries == [3605])
        #expect(clock.now == seconds(5) && clock.now(.wallClock) == seconds(3605))
        #expect(loop.now(.wallClock) == seconds(3605) && loop.now(.continuous) == seconds(5))
    }

    @Test("A time in the past names a grid for a repeating timer, and means now for another")
    func pastTimes() {
        let (loop, clock) = makeLoop()
        clock.advance(by: .milliseconds(300))
        let (once, grid, moved) = (Log<Int64>(), Log<Int64>(), Log<Int64>())
        loop.add(makeTimer(at: seconds(7), once), in: .default)
        loop.add(makeTimer(at: 0, repeating: .seconds(60), grid), in: .default)
        let timer = makeTimer(at: .distantFuture, repeating: .seconds(60), moved)
        loop.add(timer, in: .default)
        timer.nextFireTime = seconds(15)
        #expect(timer.nextFireTime == seconds(3615))
        loop.run(mode: .default, for: .seconds(150))
        #expect(once.entries == [3600])
        #expect(grid.entries == [3660, 3720])
        #expect(moved.entries == [3615, 3675, 3735])
    }

    @Test("When the clock is set forward, a timer is called once, and then at the next instant of its grid")
    func setForward() {
        let (loop, clock) = makeLoop()
        let (log, missed) = (Log<Int64>(), Log<Int>())
        loop.add(makeTimer(at: 0, repeating: .seconds(10), log) { missed.add($0.missed) }, in: .default)
        loop.add(makeTimer(at: seconds(5000), log), in: .default)
        loop.run(mode: .default, for: .seconds(15))
        clock.setWallClock(to: seconds(7203))
        loop.run(mode: .default, for: .seconds(10))
        #expect(log.entries == [3600, 3610, 3620, 5000, 7210])
        #expect(missed.entries == [0, 0, 0, 358])
    }

    @Test("When the clock is set back, a timer is called at the next instant of its grid, and others wait longer")
    func setBack() {
        let (loop, clock) = makeLoop()
        let (log, once) = (Log<Int64>(), Log<Int64>())
        loop.add(makeTimer(at: 0, repeating: .seconds(10), log), in: .default)
        loop.add(makeTimer(at: seconds(3650), once), in: .default)
        loop.run(mode: .default, for: .seconds(25))
        clock.setWallClock(to: seconds(1001))
        #expect(loop.nextTimerFireTime(in: .default) == seconds(34))
        loop.run(mode: .default, for: .seconds(20))
        #expect(log.entries == [3600, 3610, 3620, 1010, 1020])
        #expect(once.entries.isEmpty)
        clock.setWallClock(to: seconds(3645))
        loop.run(mode: .default, for: .seconds(8))
        #expect(log.entries == [3600, 3610, 3620, 1010, 1020, 1030, 3650])
        #expect(once.entries == [3650])
    }

    @Test("The first call does not come before the time that was given")
    func firstCall() {
        let (loop, clock) = makeLoop()
        let (log, delayed) = (Log<Int64>(), Log<Int64>())
        let timer = makeTimer(at: seconds(3700), repeating: .seconds(10), log)
        loop.add(timer, in: .default)
        let every = Loop.Timer(every: .seconds(60), timeBase: .wallClock) { firing in
            delayed.add(firing.scheduledTime.nanoseconds / 1_000_000_000)
        }
        loop.add(every, in: .default)
        clock.setWallClock(to: seconds(3595))
        // A delay gives no time, so this timer has a grid from the beginning.
        #expect(every.nextFireTime == seconds(3600) && timer.nextFireTime == seconds(3700))
        loop.run(mode: .default, for: .seconds(115))
        #expect(log.entries == [3700, 3710] && delayed.entries == [3600, 3660])
        clock.setWallClock(to: seconds(3595))
        #expect(timer.nextFireTime == seconds(3600))
    }

    @Test(
        "A delay longer than the interval is kept", arguments: ["added again", "set forward", "set back", "restarted"])
    func longDelay(_ cause: String) {
        let (loop, clock) = makeLoop()
        let delay: Duration = cause == "restarted" ? .seconds(10) : .seconds(1000)
        let timer = Loop.Timer(after: delay, repeating: .seconds(10), timeBase: .wallClock) { _ in }
        loop.add(timer, in: .default)
        if cause == "restarted" { timer.restart(after: .seconds(1000)) }
        switch cause {
        case "added again":
            loop.remove(timer, in: .default)
            loop.add(timer, in: .default)
        case "set forward": clock.setWallClock(to: seconds(3601))
        default: clock.setWallClock(to: seconds(3599))
        }
        #expect(timer.nextFireTime == seconds(4600))
    }

    @Test("A timer that waited for a time, and was restarted, follows its grid")
    func restartedFromATime() {
        let (loop, clock) = makeLoop()
        let timer = makeTimer(at: seconds(9000), repeating: .seconds(10), Log<Int64>())
        loop.add(timer, in: .default)
        timer.restart(after: .seconds(1))
        clock.setWallClock(to: seconds(100))
        #expect(timer.nextFireTime == seconds(101))
    }

    @Test("The clock is set by the timer's own handler, and while the timer is in no loop")
    func setElsewhere() {
        let (loop, clock) = makeLoop()
        let log = Log<Int64>()
        let timer = makeTimer(at: 0, repeating: .seconds(10), log) { firing in
            if firing.scheduledTime == seconds(3610) { clock.setWallClock(to: seconds(2000)) }
        }
        loop.add(timer, in: .default)
        loop.run(mode: .default, for: .seconds(31))
        #expect(log.entries == [3600, 3610, 2010, 2020])
        loop.remove(timer, in: .default)
        clock.setWallClock(to: seconds(55))
        loop.add(timer, in: .default)
        #expect(timer.nextFireTime == seconds(60))
    }

    @Test("A timer in several modes follows the clock in all of them, in whatever mode the loop runs")
    func manyModes() {
        let (loop, clock) = makeLoop()
        let log = Log<Int64>()
        let timer = makeTimer(at: 0, repeating: .seconds(10), log)
        loop.add(timer, in: .default)
        loop.add(timer, in: .tracking)
        loop.run(mode: .default, for: .seconds(5))
        loop.add(Loop.Timer(after: .seconds(1)) { _ in clock.setWallClock(to: seconds(95)) }, in: "other")
        loop.run(mode: "other", for: .seconds(2))
        #expect(loop.nextTimerFireTime(in: .default) == seconds(11))
        loop.run(mode: .tracking, for: .seconds(20))
        #expect(log.entries == [3600, 100, 110])
    }

    @Test("Another thread sets the clock of a loop that sleeps")
    func setFromAnotherThread() throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let log = Log<Int64>()
        thread.loop.add(makeTimer(at: seconds(1000), log), in: .default)
        thread.loop.add(makeTimer(at: 0, repeating: .seconds(100), log), in: .default)
        clock.advance(by: .seconds(150))
        #expect(log.entries == [0, 100])
        clock.setWallClock(to: seconds(40))
        clock.advance(by: .seconds(60))
        #expect(log.entries == [0, 100, 100])
        clock.setWallClock(to: seconds(1000))
        clock.advance(by: .zero)
        #expect(log.entries == [0, 100, 100, 200, 1000] || log.entries == [0, 100, 100, 1000, 200])
        thread.stop()
        thread.join()
    }

    @Test("A hosted loop follows its clock")
    func hosted() throws {
        let (loop, clock) = makeLoop(.manual)
        let log = Log<Int64>()
        loop.add(makeTimer(at: seconds(3650), log), in: .default)
        let descriptor = try loop.hosting.begin()
        loop.hosting.pass()
        #expect(loop.hosting.timeout == .seconds(50) && !System.isReadable(descriptor))
        clock.setWallClock(to: seconds(4000))
        #expect(System.isReadable(descriptor))
        loop.hosting.pass()
        #expect(log.entries == [3650])
        loop.hosting.end()
    }

    @Test("A task sleeps until a time of the wall clock")
    func clock() async throws {
        let virtual = VirtualClock()
        virtual.setWallClock(to: seconds(3600))
        let thread = try LoopThread(clock: virtual)
        let clock = LoopClock(thread.loop, timeBase: .wallClock)
        let task = Task(executorPreference: thread.loop.taskExecutor) {
            try await clock.sleep(until: seconds(3700))
            return (clock.now, virtual.now)
        }
        #expect(try await task.value == (seconds(3700), seconds(100)))
    }

    @Test("A clock that is set while the loop sleeps moves the end of its sleep")
    func setDuringSleep() throws {
        let (_, clock) = makeLoop()
        let thread = try LoopThread(clock: clock)
        let times = Log<Loop.Instant>()
        let hold = clock.hold()
        let start = clock.now
        let timer = Loop.Timer(at: clock.now(.wallClock) + .seconds(1000), timeBase: .wallClock) { _ in
            times.add(clock.now)
        }
        thread.loop.add(timer)
        while !thread.loop.isWaiting { sched_yield() }
        clock.setWallClock(to: clock.now(.wallClock) + .seconds(900))
        hold.release()
        while times.entries.isEmpty { sched_yield() }
        #expect(times.entries == [start + .seconds(100)])
        thread.stop()
        thread.join()
    }

    @Test("In real time, too; and it costs a descriptor only then")
    func realTime() throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            let fired = Count()
            let timer = Loop.Timer(every: .milliseconds(1), timeBase: .wallClock) { firing in
                #expect(firing.scheduledTime <= loop.now(.wallClock))
                if fired.up() == 3 { firing.timer.invalidate() }
            }
            #expect(loop.lock.withLock { loop.watchedTimers.isEmpty })
            loop.add(timer, in: .default)
            #expect(loop.lock.withLock { loop.watchedTimers.count } == 1)
            #expect(loop.run(mode: .default, for: .seconds(3600)) == .finished)
            #expect(fired.value == 3)
            #expect(loop.description.contains("of the wall clock") == false)
            loop.add(Loop.Timer(at: .distantFuture, timeBase: .wallClock) { _ in }, in: .default)
            #expect(loop.description.contains("of the wall clock"))
        }
    }

    @Test("A loop that only polls learns that the clock was set, though a timer is due in each poll")
    func setWhilePolling() throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            let start = Loop.Instant(nanoseconds: 0)
            loop.add(Loop.Timer(at: start, repeating: .seconds(3600), timeBase: .wallClock) { _ in })
            loop.add(Loop.Timer(every: .nanoseconds(1)) { _ in })
            loop.run(mode: .default, for: .zero)
            // Readable, as after a setting.
            loop.lock.withLock { _ = loop.timerFDs.wallClock?.arm(at: 1) }
            loop.run(mode: .default, for: .zero)
            let armedTime = loop.lock.withLock { loop.timerFDs.wallClock?.armedTime }
            #expect(armedTime ?? 0 > 1, "nobody has armed it again")
        }
    }

    @Test("A restartable timer has no next time in its own handler", arguments: [Loop.TimeBase.wallClock, .suspending])
    func noNextTimeInHandler(_ timeBase: Loop.TimeBase) {
        let (loop, clock) = Loop.inVirtualTime()
        clock.setWallClock(to: Loop.Instant(nanoseconds: 1_000_000_000_000))
        let times = Log<Loop.Instant?>()
        loop.add(
            Loop.Timer(restartableAfter: .seconds(1), timeBase: timeBase) { firing in
                times.add(loop.nextTimerFireTime(in: .default))
                if times.entries.count == 1 { firing.timer.restart(after: .seconds(Int64.max)) }
                times.add(loop.nextTimerFireTime(in: .default))
            })
        loop.run(mode: .default, for: .seconds(2))
        #expect(times.entries == [nil, nil])
    }

    @Test("A timerfd that is armed in the past or the far future makes one system call")
    func timerfd() throws {
        var timer = try TimerFD(.wallClock)
        #expect(timer.armedTime == .max && !timer.wasClockSet)
        #expect(!System.isReadable(timer.descriptor))
        #expect(timer.arm(at: 5) && !timer.arm(at: 5))
        #expect(System.isReadable(timer.descriptor) && !timer.wasClockSet)
    }

    private static let maySetClock = ProcessInfo.processInfo.environment["RUNLOOPKIT_SET_CLOCK"] != nil

    @Test("The machine's clock is set while the loop sleeps", .enabled(if: maySetClock))
    func setMachineClock() throws {
        let thread = try LoopThread()
        let times = Log<Loop.Instant>()
        let timer = Loop.Timer(at: 0, repeating: .milliseconds(20), timeBase: .wallClock) {
            times.add($0.scheduledTime)
        }
        let later = Loop.Timer(at: .distantFuture, timeBase: .wallClock) { _ in }
        thread.loop.add(later, in: .default)
        thread.loop.add(timer, in: .default)
        spin(until: times.entries.count >= 2)
        try setMachineClock(by: .milliseconds(-50))
        defer { #expect(throws: Never.self) { try setMachineClock(by: .milliseconds(50)) } }
        // Earlier instants come again.
        spin(until: zip(times.entries, times.entries.dropFirst()).contains { $0 > $1 })
        let now = thread.loop.now(.wallClock)
        later.nextFireTime = now + .milliseconds(1)
        spin(until: !later.isValid)
        #expect(thread.loop.now(.wallClock) >= now + .milliseconds(1))
        thread.stop()
        thread.join()
    }

    @Test("A timer of a nanosecond survives a wall clock that its handler sets back as far as it goes")
    func setBackToTheDistantPast() {
        let (loop, clock) = Loop.inVirtualTime()
        clock.setWallClock(to: Loop.Instant(nanoseconds: 1_000))
        let calls = Count()
        let timer = Loop.Timer(every: .nanoseconds(1), timeBase: .wallClock) { firing in
            calls.up()
            if calls.value == 1 { clock.setWallClock(to: .distantPast) } else { firing.timer.invalidate() }
        }
        loop.add(timer)
        loop.run(mode: .default, for: .nanoseconds(10))
        #expect(calls.value == 2)
    }

    private func setMachineClock(by step: Duration) throws {
        let time = Loop.Instant(nanoseconds: System.wallClockNanoseconds()) + step
        var value = timespec()
        value.tv_sec = .init(time.nanoseconds / 1_000_000_000)
        value.tv_nsec = .init(time.nanoseconds % 1_000_000_000)
        if clock_settime(CLOCK_REALTIME, &value) != 0 { throw LoopError(call: "clock_settime") }
    }
}
