import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// The loop makes no needless passes, waits and system calls.
@Suite(.timeBound) struct CostTests {
    @Test("Posting to a loop that is awake writes nothing")
    func postToAnAwakeLoop() throws {
        let loop = try LoopThread()
        try loop.performAndWait {
            let before = Loop.current.counters.wakeWrites
            for _ in 0..<100 { Loop.current.perform {} }
            Loop.current.wakeUp()
            #expect(Loop.current.counters.wakeWrites == before)
        }
    }

    @Test("A burst of posts to a sleeping loop writes once")
    func burstOfPosts() throws {
        let thread = try LoopThread()
        let (began, go) = (Gate(), Gate())
        spin(until: thread.loop.waker.isAsleep)
        let before = thread.loop.counters.wakeWrites
        thread.perform {
            began.open()
            go.wait()
        }
        began.wait()
        for _ in 0..<100 { thread.perform {} }
        #expect(thread.loop.counters.wakeWrites == before + 1)
        go.open()
        try thread.performAndWait {}
    }

    @Test("A sleeping loop does nothing")
    func sleepingLoop() throws {
        let thread = try LoopThread()
        // Its sleep has been counted, and so has everything before it.
        spin(until: thread.loop.waker.isAsleep && thread.loop.counters.waits >= 1)
        let before = thread.loop.counters
        let clock = VirtualClock()
        let elsewhere = Loop(clock: clock)
        elsewhere.add(Loop.Source0 {}, in: .default)
        for _ in 0..<1000 { elsewhere.run(mode: .default, for: .seconds(1)) }
        #expect(thread.loop.counters == before)
    }

    @Test("Re-timing from another thread costs no pass")
    func retimingFromElsewhere() throws {
        let thread = try LoopThread()
        let timer = Loop.Timer(after: .seconds(3600)) { _ in }
        try thread.performAndWait { _ = Loop.current.add(timer, in: .common) }
        spin(until: thread.loop.waker.isAsleep)
        let before = thread.loop.counters
        for hours in (1...10).reversed() { timer.nextFireTime = thread.loop.now.advanced(by: .seconds(300 * hours)) }
        #expect(thread.loop.counters.passes == before.passes)
        #expect(thread.loop.waker.isAsleep)
    }

    @Test("Adding timers arms nothing until the loop sleeps, and then once")
    func timersArmOnce() throws {
        let thread = try LoopThread()
        try thread.performAndWait {
            let loop = Loop.current
            let before = loop.counters.timerArms
            let timers = (1...100).map { Loop.Timer(after: .seconds(3600 + $0)) { _ in } }
            for timer in timers.reversed() { loop.add(timer, in: "timed") }
            #expect(loop.counters.timerArms == before)
            // Three sleeps with the same first deadline: armed once. Another thread wakes the loop each time, and only
            // once it sleeps: a wake-up before that would make it poll instead.
            for timer in timers.dropFirst() { timer.invalidate() }
            let naps = Count()
            loop.add(
                Loop.Observer([.afterWaiting]) { _, _ in if naps.up() == 3 { Loop.current.stop() } }, in: "timed")
            let waker = try! LoopThread()
            waker.perform {
                for nap in 0..<3 {
                    spin(until: naps.value == nap && loop.waker.isAsleep)
                    loop.wakeUp()
                }
            }
            let waits = loop.counters.waits
            #expect(loop.run(mode: "timed", until: .distantFuture) == .stopped)
            #expect(loop.counters.waits >= waits + 3)
            #expect(loop.counters.timerArms == before + 1)
        }
    }

    @Test("A timeout that every event pushes out arms nothing")
    func pushedOutTimeout() throws {
        let thread = try LoopThread()
        let events = Count()
        let timeout = Loop.Timer(restartableAfter: .seconds(3600)) { _ in }
        let port = try Loop.PortSource { _ in
            timeout.restart()
            events.up()
        }
        try thread.performAndWait { for item in [timeout, port] { Loop.current.add(item) } }
        // The loop arms its timer for the first sleep, after it has marked itself asleep, and before it serves a port.
        spin(until: thread.loop.waker.isAsleep)
        port.send()
        spin(until: events.value == 1)
        let before = thread.loop.counters.timerArms
        for number in 2...20 {
            spin(until: thread.loop.waker.isAsleep)
            port.send()
            spin(until: events.value == number)
        }
        #expect(thread.loop.counters.timerArms == before)
    }

    @Test("A timerfd that is armed for too early a time is armed again, in the same wait")
    func earlyTimerfd() throws {
        let thread = try LoopThread()
        let before = try thread.performAndWait {
            let loop = Loop.current
            loop.add(Loop.Timer(after: .seconds(3600)) { _ in })
            // As if a timer had moved away from that time.
            try loop.prepare(.default)
            loop.lock.withLock { _ = loop.timerFDs.suspending!.arm(at: loop.clock.nanoseconds + 1_000_000) }
            return loop.counters
        }
        spin(until: thread.loop.counters.timerArms == before.timerArms + 1 && thread.loop.waker.isAsleep)
        #expect(thread.loop.counters.passes <= before.passes + 1)
    }

    @Test("Sixty-four ports are fetched at once")
    func portsAreFetchedTogether() throws {
        let (loop, _) = Loop.inVirtualTime()
        let served = Count()
        let ports = try (0..<64).map { _ in try Loop.PortSource { _ in served.up() } }
        for port in ports {
            loop.add(port, in: .default)
            port.send()
        }
        let before = loop.counters
        for _ in 0..<64 { loop.run(mode: .default, for: .zero) }
        #expect(served.value == 64)
        #expect(loop.counters.passes == before.passes + 64)
        #expect(loop.counters.polls == before.polls + 1)
    }

    /// It queues behind the ports, and then makes a pass as any other wake-up does.
    @Test("A wake-up makes a pass while ports are left over")
    func wakeUpBehindLeftovers() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let ports = try (0..<2).map { _ in try Loop.PortSource { _ in } }
        for port in ports {
            loop.add(port)
            port.send()
        }
        loop.add(Loop.Observer(.beforeSources) { _, _ in if loop.counters.passes == 2 { loop.wakeUp() } })
        loop.run(mode: .default, for: .seconds(1))
        #expect(loop.counters.passes == 4, "two ports, the wake-up, and one that times out")
    }

    /// A nested run that has leftovers takes the wake-up, which is for the outer run's work.
    @Test("A nested run with ports left over does not lose a post for the outer run")
    func postForTheOuterRun() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<Loop.Instant>()
        let ports = try (0..<2).map { _ in try Loop.PortSource { _ in } }
        for port in ports { loop.add(port, in: .tracking) }
        loop.add(Loop.Timer(after: .seconds(20)) { _ in })
        let observer = Loop.Observer(.beforeSources, repeats: false) { _, _ in
            loop.perform { log.add(loop.now) }
        }
        loop.perform {
            for port in ports { port.send() }
            // One for each run.
            for _ in ports {
                loop.run(mode: .tracking, for: .seconds(1), returnAfterSourceHandled: true)
                loop.add(observer, in: .tracking)
            }
        }
        loop.run(mode: .default, for: .seconds(10))
        #expect(log.entries == [seconds(0)])
    }

    @Test("A pass looks for no observers of activities whose observers have left")
    func observersThatHaveLeft() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let observers = [Loop.Activity.beforeTimers, .exit].map { Loop.Observer($0) { _, _ in } }
        for observer in observers { loop.add(observer) }
        let mode = loop.lock.withLock { loop.defaultState }
        for (observer, rest) in zip(observers, [Loop.Activity.exit, []]) {
            loop.remove(observer)
            for activity in [Loop.Activity.beforeTimers, .exit] {
                #expect(mode.has(.observers(of: activity)) == rest.contains(activity))
            }
        }
    }

    @Test("Modes that never run own no descriptors")
    func unusedModes() async {
        await #expect(processExitsWith: .success) {
            // A margin for what the runtime opens for itself.
            let before = Kernel.descriptors
            let loop = Loop.current
            for index in 0..<100 { loop.add(Loop.Source0 {}, in: Loop.Mode("\(index)")) }
            loop.perform {}
            loop.wakeUp()
            precondition(Kernel.descriptors < before + 20, "\(Kernel.descriptors) \(before)")
            // An epoll set for each.
            for index in 0..<100 { loop.run(mode: Loop.Mode("\(index)"), for: .zero) }
            precondition(Kernel.descriptors >= before + 100, "\(Kernel.descriptors) \(before)")
        }
    }
}
