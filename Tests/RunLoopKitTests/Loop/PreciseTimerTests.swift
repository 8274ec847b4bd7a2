import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Precise timers: what they do, but not how precise they are, which depends on the machine. `timer-accuracy` measures
/// that.
@Suite(.timeBound) struct PreciseTimerTests {
    @Test("The head start grows with late wake-ups, and shrinks slowly, within its limits")
    func headStart() {
        var start = HeadStart()
        #expect(start.nanoseconds == 50_000)
        start.learn(lateness: 60_000)
        #expect(start.nanoseconds == 62_500)
        start.learn(lateness: 60_000)
        #expect(start.nanoseconds == 62_012)
        start.learn(lateness: HeadStart.most + 1)
        #expect(start.nanoseconds == 62_012, "a busy CPU teaches nothing")
        for _ in 0..<100 { start.learn(lateness: HeadStart.most) }
        #expect(start.nanoseconds == HeadStart.most)
        for _ in 0..<1_000 { start.learn(lateness: 0) }
        #expect(start.nanoseconds == HeadStart.least)
        // In the long run one of about thirty wake-ups is too late.
        let late = (0..<10_000).count { number in
            let lateness = Int64(30_000 + number * 7_919 % 40_000)
            defer { start.learn(lateness: lateness) }
            return lateness > start.nanoseconds
        }
        #expect((100..<1_000).contains(late))
    }

    @Test("A precise timer is never early, and costs one system call a firing as others do")
    func firing() throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            let fired = Count()
            let timer = Loop.Timer(every: .milliseconds(2)) { firing in
                #expect(loop.now >= firing.scheduledTime)
                if fired.up() == 10 { firing.timer.invalidate() }
            }
            #expect(!timer.isPrecise)
            timer.isPrecise = true
            #expect(timer.isPrecise)
            loop.add(timer, in: .default)
            #expect(loop.run(mode: .default, for: .seconds(3600)) == .finished)
            #expect(fired.value == 10)
            // On a busy machine a timer is due at once, and needs none.
            #expect(loop.counters.timerArms <= 10)
        }
    }

    @Test("The loop wakes up early for a precise timer, and others do not change that")
    func sleep() throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            let due = loop.now.nanoseconds + 1_000_000_000_000
            let timer = Loop.Timer(at: Loop.Instant(nanoseconds: due), tolerance: .seconds(5)) { _ in }
            timer.isPrecise = true
            loop.add(timer, in: .default)
            let mode = loop.lock.withLock { loop.state(for: .default) }
            func plan() -> (deadline: Int64, precise: PreciseSleep?) {
                loop.own.preciseSleep = nil
                return loop.lock.withLock {
                    var sleep = loop.nextSleep(in: mode)
                    loop.wakeUpEarly(from: &sleep, in: mode)
                    return (sleep.deadline, loop.own.preciseSleep)
                }
            }
            #expect(plan().deadline == due - 50_000)
            #expect(plan().precise?.end == due - HeadStart.ofPass && plan().precise?.isInTime == true)
            // Within the head start another timer ends the spin.
            let second = Loop.Timer(at: Loop.Instant(nanoseconds: due - 20_000)) { _ in }
            loop.add(second, in: .default)
            #expect(plan().deadline == due - 50_000 && plan().precise?.end == due - 20_000)
            second.nextFireTime = Loop.Instant(nanoseconds: due - 1_000_000)
            #expect(plan().deadline == due - 1_000_000 && plan().precise == nil)
            second.invalidate()
            #expect(loop.nextTimerFireTime(in: .default)?.nanoseconds == due)
            // The tolerance counts again.
            timer.isPrecise = false
            #expect(plan().deadline == due + 5_000_000_000 && plan().precise == nil)
        }
    }

    @Test("A spin before a sleep leaves the time that a precise timer's call takes to get there")
    func spinBeforeSleep() throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            let due = loop.now.nanoseconds + 1_000_000_000_000
            let timer = Loop.Timer(at: Loop.Instant(nanoseconds: due)) { _ in }
            loop.add(timer, in: .default)
            let observer = Loop.Observer(.beforeWaiting) { _, _ in
                func end() -> Int64 { loop.lock.withLock { loop.endOfSleep(in: loop.innermostRun!) } }
                #expect(end() == due)
                timer.isPrecise = true
                #expect(end() == due - HeadStart.ofPass)
                loop.stop()
            }
            loop.add(observer, in: .default)
            #expect(loop.run(mode: .default, for: .seconds(2_000)) == .stopped)
        }
    }

    @Test("A post ends the spin")
    func postDuringSpin() throws {
        let thread = try LoopThread()
        let (fired, isSpinning) = (Count(), Gate())
        let timer = Loop.Timer(after: .seconds(3600)) { _ in fired.up() }
        timer.isPrecise = true
        try thread.performAndWait {
            // So the loop spins from now on.
            thread.loop.own.headStart = HeadStart(nanoseconds: 7_200_000_000_000)
            thread.loop.add(timer, in: .default)
            thread.loop.add(
                Loop.Observer(.beforeWaiting, repeats: false) { _, _ in isSpinning.open() }, in: .default)
        }
        isSpinning.wait()
        for _ in 0..<100 { try thread.performAndWait {} }
        #expect(fired.value == 0)
        timer.invalidate()
        thread.stop()
        thread.join()
    }

    @Test("Another thread adds a precise timer to a loop that sleeps")
    func addedDuringSleep() throws {
        let thread = try LoopThread()
        let isDone = Gate()
        spin(until: thread.loop.isWaiting)
        let timer = Loop.Timer(after: .milliseconds(3)) { firing in
            #expect(thread.loop.now >= firing.scheduledTime)
            isDone.open()
        }
        timer.isPrecise = true
        thread.loop.add(timer, in: .default)
        isDone.wait()
        thread.stop()
        thread.join()
    }

    @Test("A timer becomes precise in all its modes, at any time")
    func change() throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            let fired = Count()
            let timer = Loop.Timer(every: .milliseconds(1)) { firing in
                firing.timer.isPrecise.toggle()
                if fired.up() == 9 { loop.stop() }
            }
            for mode in [Loop.Mode.default, .tracking, "third"] { loop.add(timer, in: mode) }
            for isPrecise in [true, true, false, true] {
                timer.isPrecise = isPrecise
                for mode in [Loop.Mode.default, .tracking, "third"] {
                    let isIn = loop.lock.withLock {
                        let state = loop.state(for: mode)
                        return [!state.timers.suspending.isEmpty, !state.timers.others!.precise.isEmpty]
                    }
                    #expect(isIn == [!isPrecise, isPrecise])
                    #expect(loop.nextTimerFireTime(in: mode) == timer.nextFireTime)
                }
            }
            loop.remove(timer, in: .tracking)
            #expect(loop.run(mode: "third", for: .seconds(3600)) == .stopped)
            timer.invalidate()
            #expect(loop.run(mode: .default, for: .zero) == .finished)
            timer.isPrecise = true
        }
    }

    /// The two threads are not ordered by anything but the library's locks: for ThreadSanitizer.
    @Test("A timer that left its loop becomes precise while that one calls others")
    func changeAfterLeaving() throws {
        let thread = try LoopThread(name: "fires")
        let (hasBegun, isChanged) = (Gate(), UnorderedFlag())
        let second = Loop.Timer(after: .zero) { _ in Issue.record("a timer that was removed") }
        let first = Loop.Timer(after: .zero) { _ in
            hasBegun.open()
            spin(until: isChanged.isSet)
        }
        // Both are due in the same pass.
        thread.perform {
            thread.loop.add(first)
            thread.loop.add(second)
        }
        hasBegun.wait()
        thread.loop.remove(second)
        second.isPrecise = true
        isChanged.set()
        try thread.performAndWait {}
        #expect(second.isPrecise && !first.isValid)
        thread.stop()
        thread.join()
    }

    @Test("A timer changes while the loop that it is in is being deallocated")
    func changeInDyingLoop() throws {
        for _ in 0..<100 {
            nonisolated(unsafe) var loop: Loop? = Loop(clock: .monotonic, owner: ThreadLoops.currentID)
            let timer = Loop.Timer(every: .seconds(1)) { _ in }
            timer.isPrecise = true
            loop!.add(timer)
            let mode = try #require(timer.currentModes.first)
            nonisolated(unsafe) let state = mode
            let (isLocked, isLeft) = (Gate(), Gate())
            // The lock keeps the deallocation from emptying the heaps until there is no loop any more.
            let thread = try System.startThread(stackSize: nil) {
                state.waker.lock.lock()
                isLocked.open()
                isLeft.wait()
                spin(until: state.waker.lock.hasWaiters)
                state.waker.lock.unlock()
                timer.isPrecise = false
                timer.tolerance = .seconds(1)
                timer.invalidate()
            }
            isLocked.wait()
            isLeft.open()
            loop = nil
            System.join(thread)
            #expect(!timer.isValid && timer.currentModes.isEmpty && !timer.isPrecise)
        }
    }

    @Test("It changes nothing in virtual time, and for other clocks")
    func elsewhere() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Loop.Instant>()
        for base in [Loop.TimeBase.suspending, .continuous, .wallClock] {
            let timer = Loop.Timer(after: .seconds(1), timeBase: base) { log.add($0.scheduledTime) }
            timer.isPrecise = true
            loop.add(timer, in: .default)
        }
        loop.run()
        #expect(log.entries == [seconds(1), seconds(1), seconds(1)] && clock.now == seconds(1))
        try onThreadOfItsOwn {
            let loop = Loop.current
            let timer = Loop.Timer(after: .milliseconds(1), timeBase: .continuous) { _ in }
            timer.isPrecise = true
            loop.add(timer, in: .default)
            #expect(loop.run(mode: .default, for: .seconds(3600)) == .finished)
        }
    }

    @Test("A host serves it")
    func hosted() throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            let fired = Count()
            let timer = Loop.Timer(after: .milliseconds(2)) { firing in
                #expect(loop.now >= firing.scheduledTime)
                fired.up()
            }
            timer.isPrecise = true
            loop.add(timer, in: .default)
            let descriptor = try! loop.hosting.begin()
            while fired.value == 0 {
                System.waitUntilReadable(descriptor)
                loop.hosting.pass()
            }
            loop.hosting.end()
        }
    }

    /// The one that is due first ends the sleep, whichever was added first.
    @Test("An earlier timer that another thread adds beside a precise one ends the sleep", arguments: [false, true])
    func earlierTimerDuringASleep(isPrecise: Bool) throws {
        let thread = try LoopThread()
        let late = Loop.Timer(after: .seconds(3600)) { _ in }
        late.isPrecise = true
        try thread.performAndWait { Loop.current.add(late) }
        spin(until: thread.loop.waker.isAsleep)
        let early = Loop.Timer(after: .seconds(1800)) { _ in }
        early.isPrecise = isPrecise
        thread.loop.add(early)
        let due = try #require(early.nextFireTime).nanoseconds
        let (armed, deadline) = thread.loop.lock.withLock {
            (thread.loop.timerFDs.suspending?.armedTime, thread.loop.sleep?.deadline)
        }
        let expected = isPrecise ? due - HeadStart.most : due
        #expect(armed == expected && deadline == expected)
    }
}
