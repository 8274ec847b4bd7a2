import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

@Suite(.timeBound) struct VirtualClockTests {
    @Test("Automatic time jumps to the next deadline")
    func automaticTime() {
        let (loop, clock) = Loop.inVirtualTime()
        loop.add(
            Loop.Timer(after: .seconds(86_400)) { _ in #expect(Loop.current.now == seconds(86_400)) }, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(1_000_000)) == .finished)
        #expect(clock.now == seconds(86_400))
        loop.add(Loop.Source0 {}, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(100)) == .timedOut)
        #expect(clock.now == seconds(86_500))
        // The loop never asked the kernel to wait.
        #expect(loop.counters.waits == 0)
    }

    @Test("Time starts at the given instant")
    func startTime() {
        let clock = VirtualClock(startingAt: seconds(7))
        #expect(clock.now == seconds(7) && Loop(clock: clock).now == seconds(7))
    }

    @Test("Ports and posts of other threads work")
    func postsOfOtherThreads() throws {
        let clock = VirtualClock()
        let loop = Loop(clock: clock)
        let received = Log<String>()
        let port = try Loop.PortSource { _ in
            received.add("port")
            Loop.current.stop()
        }
        loop.add(port, in: .default)
        let other = try LoopThread()
        other.perform {
            loop.perform {
                received.add("block")
                port.send()
            }
        }
        #expect(loop.run(mode: .default, until: .distantFuture) == .stopped)
        #expect(received.entries == ["block", "port"])
        #expect(clock.now == seconds(0))
    }

    @Test("A hold stops the jumps while another thread works")
    func hold() throws {
        let clock = VirtualClock()
        let loop = Loop(clock: clock)
        let other = try LoopThread()
        let order = Log<String>()
        loop.add(
            Loop.Timer(after: .seconds(1)) { _ in
                order.add("timer")
                Loop.current.stop()
            }, in: .default)
        let hold = clock.hold()
        other.perform {
            spin(until: loop.isWaiting)
            loop.perform { order.add("block") }
            hold.release()
            hold.release()
        }
        loop.run()
        #expect(order.entries == ["block", "timer"])
        #expect(clock.now == seconds(1))
    }

    @Test("Releasing a hold's last reference releases the hold")
    func droppedHold() {
        let (loop, clock) = Loop.inVirtualTime()
        _ = clock.hold()
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in }, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(2)) == .finished)
    }

    @Test("A send under a hold is served before the time jumps")
    func sendUnderAHold() throws {
        let clock = VirtualClock()
        let thread = try LoopThread(clock: clock)
        let times = Log<Loop.Instant>()
        let port = try Loop.PortSource { _ in times.add(Loop.current.now) }
        thread.loop.add(port, in: .default)
        for round in 1...1000 {
            let hold = clock.hold()
            let before = clock.now
            thread.perform(after: .seconds(1)) {}
            port.send()
            hold.release()
            spin(until: times.entries.count == round)
            #expect(times.entries.last == before)
            spin(until: clock.now > before)
        }
    }

    @Test("Loops of one thread take turns")
    func loopsTakeTurns() {
        let clock = VirtualClock(.manual)
        let (a, b) = (Loop(clock: clock), Loop(clock: clock))
        let order = Log<String>()
        a.add(Loop.Timer(every: .seconds(2)) { _ in order.add("a \(Loop.current.now)") }, in: .default)
        b.add(Loop.Timer(every: .seconds(1)) { _ in order.add("b \(Loop.current.now)") }, in: .default)
        clock.advance(by: .seconds(4))
        #expect(order.entries.filter { $0.hasPrefix("a") } == ([2, 4] as [Int64]).map { "a \(seconds($0))" })
        #expect(order.entries.filter { $0.hasPrefix("b") } == ([1, 2, 3, 4] as [Int64]).map { "b \(seconds($0))" })
        #expect(clock.now == seconds(4))
    }

    @Test("A loop runs inside a handler of another one on the same clock")
    func nestedLoop() {
        let clock = VirtualClock()
        let (outer, inner) = (Loop(clock: clock), Loop(clock: clock))
        let seen = Log<String>()
        inner.add(Loop.Timer(after: .seconds(2)) { _ in seen.add("inner \(Loop.current === inner)") }, in: .default)
        outer.add(
            Loop.Timer(after: .seconds(1)) { _ in
                inner.run()
                seen.add("outer \(Loop.current === outer) \(Loop.current.now)")
            }, in: .default)
        outer.run()
        #expect(seen.entries == ["inner true", "outer true \(seconds(2))"])
    }

    @Test("The time does not jump to a timer that was deallocated")
    func deallocatedTimer() throws {
        let clock = VirtualClock()
        let thread = try LoopThread(clock: clock)
        let (removed, moved) = (Loop.Timer(after: .seconds(100)) { _ in }, Loop.Timer(after: .seconds(100)) { _ in })
        let hold = clock.hold()
        thread.loop.add(removed, in: .default)
        thread.loop.add(moved, in: .default)
        spin(until: thread.loop.isWaiting)
        removed.invalidate()
        moved.nextFireTime = seconds(7)
        hold.release()
        spin(until: !moved.isValid)
        #expect(clock.now == seconds(7))
    }

    @Test("The time does not jump to a timer that leaves a sleeping loop", arguments: [true, false])
    func timerThatLeaves(invalidates: Bool) throws {
        let clock = VirtualClock()
        let worker = try LoopThread(clock: clock)
        let hold = clock.hold()
        let timer = Loop.Timer(after: .seconds(10)) { _ in }
        worker.loop.add(timer)
        spin(until: worker.loop.waker.isAsleep)
        if invalidates { timer.invalidate() } else { worker.loop.remove(timer) }
        spin(until: worker.loop.waker.isAsleep)
        hold.release()
        #expect(clock.now == seconds(0))
    }

    @Test("The time waits for a hosted loop that has work")
    func busyHostedLoop() throws {
        let clock = VirtualClock()
        let loop = Loop(clock: clock)
        defer { loop.end() }
        let host = try Host(loop)
        let hold = clock.hold()
        host.serve()
        let thread = try LoopThread(clock: clock)
        thread.loop.add(Loop.Timer(after: .seconds(5)) { _ in })
        spin(until: thread.loop.isWaiting)
        let log = Log<Loop.Instant>()
        loop.perform { log.add(clock.now) }
        hold.release()
        host.serve()
        #expect(log.entries == [seconds(0)])
        loop.hosting.end()
    }

    @Test("At the end of time, on any clock, a timer that was stopped does not fire")
    func stoppedAtEndOfTime() {
        for base: Loop.TimeBase in [.suspending, .continuous, .wallClock] {
            let (loop, clock) = Loop.inVirtualTime(.manual)
            let calls = Count()
            let timer = Loop.Timer(at: .distantFuture, timeBase: base) { _ in calls.up() }
            loop.add(timer)
            if base == .wallClock { clock.setWallClock(to: .distantFuture) }
            clock.advance(by: .seconds(Int64.max))
            #expect(calls.value == 0 && clock.now(base) < .distantFuture)
        }
    }

    @Test("The wall clock is set on a clock that began at the beginning of time")
    func wallClockFromTheBeginning() {
        let clock = VirtualClock(startingAt: .distantPast)
        for time: Loop.Instant in [.distantPast, Loop.Instant(nanoseconds: 0)] {
            clock.setWallClock(to: time)
            #expect(clock.now(.wallClock) <= time && clock.now == .distantPast)
        }
    }

    @Test("The end of time is never reached")
    func endOfTime() throws {
        let clock = VirtualClock()
        let thread = try LoopThread(clock: clock)
        clock.advance(by: .seconds(Int64.max))
        clock.advance(by: .seconds(Int64.max))
        #expect(clock.now < .distantFuture)
        #expect(try thread.performAndWait { true })
        thread.stop()
        thread.join()
        let (loop, manual) = Loop.inVirtualTime(.manual)
        loop.add(Loop.Source0 {}, in: .default)
        manual.advance(by: .seconds(Int64.max))
        #expect(manual.now < .distantFuture)
        // A grid from the beginning of time to its end.
        let all = VirtualClock(startingAt: .distantPast)
        let long = Loop(clock: all)
        let calls = Count()
        let timer = Loop.Timer(every: .seconds(1)) { _ in
            calls.up()
            for _ in 0..<3 { all.advance(by: .seconds(Int64.max)) }
        }
        long.add(timer, in: .default)
        #expect(long.run(mode: .default, for: .seconds(2)) == .timedOut)
        #expect(calls.value == 1)
    }

    @Test("Several loops share a clock")
    func sharedClock() throws {
        let clock = VirtualClock(.manual)
        let threads = try (0..<3).map { try LoopThread(name: "\($0)", clock: clock) }
        let order = Log<String>()
        for (index, thread) in threads.enumerated() {
            thread.loop.add(
                Loop.Timer(after: .seconds(index + 1), repeating: .seconds(3)) { _ in
                    order.add("\(index)@\(Loop.current.now.nanoseconds / 1_000_000_000)")
                }, in: .default)
        }
        clock.advance(by: .seconds(9))
        #expect(order.entries == ["0@1", "1@2", "2@3", "0@4", "1@5", "2@6", "0@7", "1@8", "2@9"])
    }

    @Test("Loops that post to each other are not idle")
    func loopsThatPost() throws {
        let clock = VirtualClock(.manual)
        let (a, b) = (try LoopThread(clock: clock), try LoopThread(clock: clock))
        let hops = Log<Loop.Instant>()
        @Sendable func hop(_ count: Int) {
            hops.add(clock.now)
            if count > 0 { (count % 2 == 0 ? a : b).loop.perform { hop(count - 1) } }
        }
        a.perform(after: .seconds(1)) { hop(100) }
        clock.advance(by: .seconds(1))
        #expect(hops.entries == Array(repeating: seconds(1), count: 101))
    }

    @Test("A loop that ends does not hold up the others")
    func endedLoop() throws {
        let clock = VirtualClock(.manual)
        let stays = try LoopThread(clock: clock)
        var ending: LoopThread? = try LoopThread(clock: clock)
        ending?.stop()
        ending?.join()
        ending = nil
        let fired = Count()
        stays.perform(after: .seconds(1)) { fired.up() }
        clock.advance(by: .seconds(1))
        #expect(fired.value == 1)
        do { _ = Loop(clock: clock) }
        clock.advance(by: .seconds(1))
        #expect(clock.now == seconds(2))
    }

    /// A thread that sees that a loop runs may advance the clock, and relies on the loop to serve its deadlines.
    @Test("A run that another thread sees is counted by its clock")
    func visibleRunsAreCounted() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        loop.add(try Loop.PortSource { _ in })
        let (uncounted, isWatching, isOver) = (Count(), Count(), UnorderedFlag())
        let watcher = try System.startThread(stackSize: nil) {
            isWatching.up()
            while !isOver.isSet {
                let isCounted = loop.lock.withLock { loop.innermostRun == nil || clock.countsRun(on: loop.owner) }
                if !isCounted { uncounted.up() }
            }
        }
        spin(until: isWatching.value == 1)
        for _ in 0..<20_000 { loop.run(for: .zero) }
        isOver.set()
        System.join(watcher)
        #expect(uncounted.value == 0)
    }

    @Test("The end of a run lets the time jump for loops that sleep")
    func endOfARun() throws {
        let clock = VirtualClock()
        let (busy, sleepy) = (Loop(clock: clock), Log<Loop>())
        let thread = Log<CThread>()
        busy.perform {
            let started = try! System.startThread(stackSize: nil) {
                let loop = Loop(clock: clock)
                loop.add(Loop.Timer(after: .seconds(1)) { _ in })
                sleepy.add(loop)
                loop.run()
            }
            thread.add(started)
            spin(until: sleepy.entries.count == 1)
            // The counter includes a wait once the clock knows of it.
            spin(until: sleepy.entries[0].counters.waits == 1)
            #expect(clock.now == seconds(0), "this run keeps the time")
        }
        #expect(busy.run(mode: .default, for: .zero) == .timedOut)
        let now = clock.now
        #expect(now == seconds(1), "nothing keeps the time any more")
        if now != seconds(1) { sleepy.entries[0].stop() }
        System.join(thread.entries[0])
    }

    @Test("Loops that have ended leave nothing behind in their clock")
    func endedLoopsLeaveNothing() async {
        await #expect(processExitsWith: .success) {
            let clock = VirtualClock()
            func comeAndGo(_ count: Int) {
                for number in 0..<count {
                    let loop = Loop(clock: clock)
                    if number % 2 == 0 { loop.end() }
                }
            }
            comeAndGo(1000)
            let bytes = Kernel.residentBytes
            comeAndGo(20_000)
            // The clock would keep about a hundred bytes of each loop. Sanitizers keep additional data in memory.
            let growth = Kernel.residentBytes - bytes
            precondition(Kernel.hasSanitizer || growth < 20_000 * 64, "\(growth) bytes more")
        }
    }

}
