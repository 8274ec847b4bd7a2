import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

@Suite(.timeBound) struct TimerRestartTests {
    /// Runs the loop, and returns whether it found nothing that keeps a run going.
    private func ends(_ loop: Loop) -> Bool { loop.run(mode: .default, for: .seconds(100_000)) == .finished }

    @Test("A restartable timer fires once for each restart, and then waits")
    func onceForEachRestart() {
        let (loop, clock) = Loop.inVirtualTime()
        let fired = Log<Loop.Instant>()
        let timer = Loop.Timer(restartableAfter: .seconds(10)) { firing in fired.add(firing.scheduledTime) }
        #expect(!timer.repeats && timer.interval == .zero)
        loop.add(timer)
        // The run ends when nothing is left that could fire, although the timer is in the mode.
        #expect(ends(loop))
        #expect(fired.entries == [seconds(10)])
        #expect(timer.isValid && loop.contains(timer) && timer.nextFireTime == nil)
        #expect(loop.nextTimerFireTime(in: .default) == nil)
        clock.advance(by: .seconds(5))
        #expect(timer.restart())
        #expect(timer.nextFireTime == seconds(25))
        #expect(ends(loop))
        #expect(timer.restart(after: .seconds(1)))
        #expect(ends(loop))
        #expect(fired.entries == [seconds(10), seconds(25), seconds(26)])
        // The other delay counted once.
        timer.restart()
        #expect(timer.nextFireTime == seconds(36))
        timer.invalidate()
        #expect(!timer.restart() && !timer.restart(after: .zero) && timer.nextFireTime == nil)
        #expect(ends(loop))
        #expect(fired.entries.count == 3)
    }

    @Test("Pushing a timer out postpones its call, and pulling it in does so, too")
    func pushedOut() {
        let (loop, _) = Loop.inVirtualTime()
        let fired = Log<(String, Loop.Instant)>()
        let timer = Loop.Timer(restartableAfter: .seconds(10)) { _ in fired.add(("timeout", Loop.current.now)) }
        loop.add(timer)
        let packets = Count()
        loop.add(
            Loop.Timer(every: .seconds(6)) { firing in
                packets.up()
                fired.add(("packet", Loop.current.now))
                timer.restart()
                if packets.value == 3 { firing.timer.invalidate() }
            })
        loop.run()
        #expect(fired.entries.map(\.0) == ["packet", "packet", "packet", "timeout"])
        #expect(fired.entries.map(\.1) == [seconds(6), seconds(12), seconds(18), seconds(28)])
        timer.restart(after: .seconds(100))
        timer.restart(after: .seconds(200))
        #expect(loop.nextTimerFireTime(in: .default) == seconds(228))
        timer.restart(after: .seconds(2))
        #expect(loop.nextTimerFireTime(in: .default) == seconds(30))
        loop.run()
        #expect(fired.entries.last?.1 == seconds(30))
    }

    @Test("Timers of one time fire in the order in which they got it, also if one was pushed out")
    func orderOfEqualTimes() {
        let (loop, _) = Loop.inVirtualTime()
        let order = Log<String>()
        func timer(_ name: String) -> Loop.Timer {
            let timer = Loop.Timer(restartableAfter: .seconds(1)) { _ in order.add(name) }
            loop.add(timer)
            return timer
        }
        let (a, b, c) = (timer("a"), timer("b"), timer("c"))
        for timer in [b, a, c, b] { timer.restart(after: .seconds(5)) }
        loop.run()
        #expect(order.entries == ["a", "c", "b"])
    }

    @Test("A handler restarts its own timer")
    func insideTheHandler() {
        let (loop, _) = Loop.inVirtualTime()
        let fired = Log<Loop.Instant>()
        let timer = Loop.Timer(restartableAfter: .seconds(1)) { firing in
            fired.add(firing.scheduledTime)
            #expect(firing.timer.nextFireTime == nil && firing.missed == 0)
            switch fired.entries.count {
            case 1: firing.timer.restart()
            case 2: firing.timer.restart(after: .zero)
            case 3: firing.timer.nextFireTime = firing.scheduledTime
            case 4:
                firing.timer.restart()
                firing.timer.nextFireTime = nil
            default: Issue.record("called again")
            }
        }
        loop.add(timer)
        #expect(ends(loop))
        #expect(fired.entries == [seconds(1), seconds(2), seconds(2), seconds(2)])
    }

    @Test("A nested run does not call a handler that runs, and keeps running for its timer")
    func nestedRun() {
        let (loop, _) = Loop.inVirtualTime()
        let fired = Log<Loop.Instant>()
        let timer = Loop.Timer(restartableAfter: .seconds(1)) { firing in
            fired.add(Loop.current.now)
            guard fired.entries.count == 1 else { return }
            firing.timer.restart()
            #expect(loop.run(mode: .default, for: .seconds(5)) == .timedOut)
            #expect(fired.entries.count == 1)
        }
        loop.add(timer)
        #expect(ends(loop))
        #expect(fired.entries == [seconds(1), seconds(6)])
    }

    @Test("A timer that fires once is restarted until it fires, but not in its handler")
    func timerThatFiresOnce() {
        let (loop, clock) = Loop.inVirtualTime()
        let fired = Log<Loop.Instant>()
        let timer = Loop.Timer(after: .seconds(10)) { firing in
            fired.add(firing.scheduledTime)
            #expect(!firing.timer.restart())
        }
        loop.add(timer)
        clock.advance(by: .seconds(4))
        #expect(timer.restart())
        #expect(ends(loop))
        #expect(fired.entries == [seconds(14)] && !timer.isValid)
        // One that was made for a time has no delay.
        let absolute = Loop.Timer(at: seconds(20)) { firing in fired.add(firing.scheduledTime) }
        loop.add(absolute)
        #expect(!absolute.restart())
        #expect(absolute.nextFireTime == seconds(20))
        #expect(absolute.restart(after: .seconds(1)))
        #expect(ends(loop))
        #expect(fired.entries == [seconds(14), seconds(15)])
    }

    @Test("A repeating timer begins anew: its delay, then its interval")
    func repeatingTimer() {
        let (loop, clock) = Loop.inVirtualTime()
        let fired = Log<Loop.Instant>()
        let timer = Loop.Timer(after: .seconds(1), repeating: .seconds(10)) { firing in fired.add(firing.scheduledTime)
        }
        loop.add(timer)
        loop.run(mode: .default, for: .seconds(5))
        timer.restart()
        loop.run(mode: .default, for: .seconds(15))
        #expect(fired.entries == [seconds(1), seconds(6), seconds(16)])
        timer.invalidate()
        // Made for a time, it has only the interval.
        let absolute = Loop.Timer(at: clock.now, repeating: .seconds(3)) { firing in fired.add(firing.scheduledTime) }
        loop.add(absolute)
        absolute.restart()
        loop.run(mode: .default, for: .seconds(4))
        #expect(fired.entries.dropFirst(3) == [seconds(23)])
    }

    @Test("In no loop, the delay counts from when the timer is added")
    func inNoLoop() {
        let (loop, clock) = Loop.inVirtualTime()
        let fired = Log<Loop.Instant>()
        let timer = Loop.Timer(restartableAfter: .seconds(10)) { firing in fired.add(firing.scheduledTime) }
        #expect(timer.restart(after: .seconds(3)))
        clock.advance(by: .seconds(1))
        loop.add(timer)
        #expect(timer.nextFireTime == seconds(4))
        loop.run()
        loop.remove(timer)
        #expect(timer.restart())
        #expect(timer.nextFireTime == nil)
        clock.advance(by: .seconds(6))
        loop.add(timer)
        #expect(timer.nextFireTime == seconds(20))
        loop.run()
        #expect(fired.entries == [seconds(4), seconds(20)])
        // Removed and added without a restart, it still waits.
        loop.remove(timer)
        loop.add(timer)
        #expect(timer.nextFireTime == nil && ends(loop))
    }

    @Test("In several modes there is one fire time, which any of them serves")
    func severalModes() {
        let (loop, _) = Loop.inVirtualTime()
        let fired = Log<Loop.Mode?>()
        let timer = Loop.Timer(restartableAfter: .seconds(1)) { _ in fired.add(Loop.current.currentMode) }
        for mode in ["a", "b"] as [Loop.Mode] { loop.add(timer, in: mode) }
        loop.run(mode: "b", for: .seconds(5))
        #expect(loop.run(mode: "a", for: .seconds(5)) == .finished)
        // The heap of one mode learns of a later time before that of the other.
        timer.restart()
        timer.restart(after: .seconds(9))
        #expect(loop.nextTimerFireTime(in: "a") == timer.nextFireTime)
        timer.restart(after: .seconds(4))
        #expect(loop.nextTimerFireTime(in: "b") == timer.nextFireTime)
        #expect(loop.nextTimerFireTime(in: "a") == timer.nextFireTime)
        loop.run(mode: "a", for: .seconds(5))
        #expect(fired.entries == ["b", "a"])
    }

    @Test("The tolerance stays")
    func tolerance() {
        let (loop, _) = Loop.inVirtualTime()
        let fired = Log<Loop.Instant>()
        let timer = Loop.Timer(restartableAfter: .seconds(10), tolerance: .seconds(3)) { _ in
            fired.add(Loop.current.now)
        }
        loop.add(timer)
        timer.restart(after: .seconds(20))
        loop.run()
        timer.restart(after: .seconds(1))
        timer.tolerance = .zero
        loop.run()
        #expect(timer.tolerance == .zero)
        #expect(fired.entries == [seconds(23), seconds(24)])
    }

    @Test("A delay that never ends keeps a run going, unlike a timer that waits")
    func hugeDelay() {
        let (loop, _) = Loop.inVirtualTime()
        let timer = Loop.Timer(restartableAfter: .seconds(1)) { _ in Issue.record("fired") }
        loop.add(timer)
        timer.restart(after: .seconds(Int64.max))
        #expect(loop.run(mode: .default, for: .seconds(10)) == .timedOut)
        timer.nextFireTime = nil
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
    }

    @Test("Another thread restarts the timer of a loop that sleeps, earlier and later")
    func otherThread() throws {
        let thread = try LoopThread()
        let fired = Count()
        let timer = Loop.Timer(restartableAfter: .seconds(3600)) { firing in
            #expect(firing.scheduledTime <= .now)
            fired.up()
        }
        thread.loop.add(timer)
        spin(until: thread.loop.waker.isAsleep)
        let writes = thread.loop.counters.wakeWrites
        for number in 1...100 {
            timer.restart()
            #expect(timer.restart(after: .microseconds(50)))
            spin(until: fired.value == number)
        }
        // The thread of a restart arms the kernel's timer of a loop that sleeps.
        #expect(thread.loop.counters.wakeWrites == writes)
        #expect(timer.isValid && timer.nextFireTime == nil)
    }

    @Test("Threads that restart a timer in two modes at once leave it with one time")
    func manyThreads() throws {
        let thread = try LoopThread()
        let timer = Loop.Timer(restartableAfter: .seconds(3600)) { _ in }
        thread.loop.add(timer, in: .default)
        thread.loop.add(timer, in: "other")
        let threads = try (0..<3).map { _ in try LoopThread() }
        for number in 0..<threads.count {
            threads[number].loop.perform {
                for round in 0..<2000 { timer.restart(after: .seconds(100 + (round * 7 + number * 31) % 50)) }
            }
        }
        for other in threads { try other.performAndWait {} }
        for mode in [.default, "other"] as [Loop.Mode] {
            #expect(thread.loop.nextTimerFireTime(in: mode) == timer.nextFireTime)
        }
    }

    @Test("A timeout without end keeps a run going, as one that is restarted does")
    func endlessTimeout() {
        let (loop, _) = Loop.inVirtualTime()
        let timeout = Loop.Timer(restartableAfter: .seconds(Int64.max)) { _ in }
        loop.add(timeout)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut && timeout.nextFireTime == nil)
        timeout.restart()
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut && timeout.nextFireTime == nil)
        timeout.nextFireTime = nil
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
    }
}
