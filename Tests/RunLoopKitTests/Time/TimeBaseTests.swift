import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Timers on the continuous clock, as far as that needs no suspend; TimeBaseProgram covers the difference between the
/// clocks.
@Suite(.timeBound) struct TimeBaseTests {
    @Test("In virtual time there is one clock")
    func oneVirtualClock() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        loop.add(Loop.Timer(after: .seconds(2)) { _ in log.add("suspending 2") }, in: .default)
        loop.add(Loop.Timer(after: .seconds(1), timeBase: .continuous) { _ in log.add("continuous 1") }, in: .default)
        loop.add(Loop.Timer(at: seconds(3), timeBase: .continuous) { _ in log.add("continuous 3") }, in: .default)
        #expect(loop.nextTimerFireTime(in: .default) == seconds(1))
        #expect(loop.now(.continuous) == loop.now)
        loop.run()
        #expect(log.entries == ["continuous 1", "suspending 2", "continuous 3"])
        #expect(loop.now(.continuous) == seconds(3))
    }

    @Test("Timers of both clocks fire in real time")
    func realClocks() throws {
        let thread = try LoopThread()
        let (log, isDone) = (Log<String>(), Gate())
        for base in [Loop.TimeBase.continuous, .suspending, .continuous] {
            let timer = Loop.Timer(after: .milliseconds(1), timeBase: base) { firing in
                #expect(firing.scheduledTime <= thread.loop.now(base))
                log.add("\(base)")
                if log.entries.count == 3 { isDone.open() }
            }
            thread.loop.add(timer, in: .common)
        }
        isDone.wait()
        #expect(log.entries.sorted() == ["continuous", "continuous", "suspending"])
        thread.stop()
        thread.join()
    }

    @Test("A continuous timer that has left or ended is in no heap")
    func removedContinuousTimer() throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            let timer = Loop.Timer(after: .seconds(3600), timeBase: .continuous) { _ in }
            loop.add(timer, in: .default)
            loop.add(timer, in: .tracking)
            #expect(loop.contains(timer, in: .default) && timer.nextFireTime != nil)
            #expect(loop.description.contains("of the continuous clock"))
            loop.remove(timer, in: .default)
            #expect(loop.nextTimerFireTime(in: .default) == nil)
            #expect(loop.nextTimerFireTime(in: .tracking) != nil)
            timer.invalidate()
            #expect(loop.nextTimerFireTime(in: .tracking) == nil)
            #expect(loop.run(mode: .tracking, for: .zero) == .finished)
        }
    }

    @Test("A continuous timer is re-timed on its own clock")
    func advanceOneself() throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            let fired = Count()
            let timer = Loop.Timer(after: .seconds(3600), timeBase: .continuous) { _ in fired.up() }
            loop.add(timer, in: .default)
            // A time in the past counts as now, on the timer's clock.
            timer.nextFireTime = .distantPast
            #expect(timer.nextFireTime.map { $0 <= loop.now(.continuous) && $0 > 0 } == true)
            loop.run(mode: .default, for: .zero)
            #expect(fired.value == 1 && !timer.isValid)
        }
    }
}
