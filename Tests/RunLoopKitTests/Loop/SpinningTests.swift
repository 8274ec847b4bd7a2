import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// `Loop.spinDuration`. The loops of these tests spin for an hour, so that only an event ends a spin.
@Suite(.timeBound) struct SpinningTests {
    /// A thread whose loop begins to spin for an hour at its next pass.
    private func spinningThread() throws -> LoopThread {
        let thread = try LoopThread(name: "spinning")
        thread.loop.spinNanoseconds.store(Duration.seconds(3600).wholeNanoseconds, ordering: .relaxed)
        return thread
    }

    /// Waits until the loop's thread spins. It sleeps instead where there is only one CPU.
    private func waitUntilSpinning(_ loop: Loop) throws {
        let before = loop.counters.spins
        loop.wakeUp()
        guard System.hasSeveralCPUs else { return }
        spin(until: loop.counters.spins > before)
    }

    @Test("A loop that spins finds a post, a signal and a message, and no sender writes to its eventfd")
    func senders() throws {
        let thread = try spinningThread()
        let loop = thread.loop
        let (signal, message) = (Gate(), Gate())
        let source = Loop.Source0 { signal.open() }
        let port = Loop.MessagePort<Int> { _ in message.open() }
        loop.add(source, in: .default)
        loop.add(port, in: .default)
        try waitUntilSpinning(loop)
        let writes = loop.counters.wakeWrites
        #expect(try thread.performAndWait { loop.isOnOwnThread })
        source.signal()
        signal.wait()
        port.send(1)
        message.wait()
        if System.hasSeveralCPUs { #expect(loop.counters.wakeWrites == writes) }
        #expect(loop.counters.spins > 0 || !System.hasSeveralCPUs)
    }

    @Test("A message that a handler has sent is handled before the next spin")
    func messageBeforeSpin() throws {
        let thread = try spinningThread()
        let isReceived = Gate()
        let port = Loop.MessagePort<Int> { _ in isReceived.open() }
        let sender = try Loop.PortSource { _ in port.send(1) }
        for item in [port, sender] { thread.loop.add(item, in: .default) }
        try waitUntilSpinning(thread.loop)
        sender.send()
        isReceived.wait()
    }

    @Test("A port and a stop end a spin")
    func descriptors() throws {
        let thread = try spinningThread()
        let sent = Gate()
        let port = try Loop.PortSource { _ in sent.open() }
        thread.loop.add(port, in: .default)
        try waitUntilSpinning(thread.loop)
        port.send()
        sent.wait()
        try waitUntilSpinning(thread.loop)
        thread.stop()
        thread.join()
    }

    @Test("Timers and the end of a run end a spin", arguments: [Loop.TimeBase.suspending, .continuous])
    func times(timeBase: Loop.TimeBase) throws {
        let thread = try spinningThread()
        let loop = thread.loop
        let fired = Gate()
        try waitUntilSpinning(loop)
        try thread.performAndWait {
            loop.add(Loop.Timer(after: .milliseconds(1), timeBase: timeBase) { _ in fired.open() }, in: .default)
        }
        fired.wait()
        let result = try thread.performAndWait { loop.run(mode: .default, for: .milliseconds(1)) }
        #expect(result == .timedOut)
    }

    @Test("A loop that spins counts as waiting")
    func waiting() throws {
        let thread = try spinningThread()
        try waitUntilSpinning(thread.loop)
        spin(until: thread.loop.isWaiting)
        #expect(try thread.performAndWait { !thread.loop.isWaiting })
    }

    @Test("A loop spins only if asked to, and never in virtual time or while it is hosted")
    func never() throws {
        let thread = try LoopThread(name: "not spinning")
        #expect(thread.loop.spinDuration == .zero)
        for _ in 0..<10 { try thread.performAndWait {} }
        #expect(thread.loop.counters.spins == 0)

        let virtual = Loop(clock: VirtualClock())
        virtual.spinDuration = .seconds(1)
        virtual.add(Loop.Timer(after: .seconds(3600)) { _ in }, in: .default)
        virtual.run()
        #expect(virtual.counters.spins == 0)
        virtual.end()

        try onThreadOfItsOwn {
            let hosted = Loop.current
            hosted.spinDuration = .seconds(1)
            _ = try hosted.hosting.begin()
            for _ in 0..<3 { hosted.hosting.pass() }
            hosted.hosting.end()
            #expect(hosted.counters.spins == 0)
        }
    }

    @Test("Durations that are negative count as zero, those of more than a second as one")
    func bounds() {
        let loop = Loop(clock: VirtualClock())
        loop.spinDuration = .microseconds(50)
        #expect(loop.spinDuration == .microseconds(50))
        loop.spinDuration = .seconds(-1)
        #expect(loop.spinDuration == .zero)
        loop.spinDuration = .seconds(Int64.max)
        #expect(loop.spinDuration == .seconds(1))
        loop.end()
    }
}

/// When a loop that may spin does so.
@Suite(.timeBound) struct SpinHistoryTests {
    /// How many of `count` sleeps have a spin before them, none of which finds work.
    private func spins(in count: Int, _ history: inout SpinHistory) -> [Int] {
        (0..<count).filter { _ in
            guard history.shouldSpin(true) else { return false }
            history.spinFailed()
            return true
        }
    }

    @Test("Spins that find nothing become rare, and one that finds work makes them usual")
    func pays() {
        var history = SpinHistory()
        #expect(spins(in: 3000, &history) == [0, 1, 33, 97, 225, 481, 993, 2017])
        var isWorthwhile = SpinHistory()
        let spinsAlways = (0..<3000).allSatisfy { _ in
            defer { isWorthwhile.spinPaid() }
            return isWorthwhile.shouldSpin(true)
        }
        #expect(spinsAlways)
        while !history.shouldSpin(true) {}
        for _ in 0..<8 { history.spinPaid() }
        #expect(spins(in: 40, &history) == [0, 1, 33])
    }

    @Test("On one CPU there is no spin, and there are some once there are several")
    func oneCPU() {
        var history = SpinHistory()
        #expect(!(0..<3000).contains { _ in history.shouldSpin(false) })
        #expect((0..<100).contains { _ in history.shouldSpin(true) })
    }

    @Test("A loop whose thread is moved to one CPU notices it after a thousand spins")
    func movedToOneCPU() {
        var history = SpinHistory()
        let spins = (0..<3000).prefix { sleep in
            defer { history.spinPaid() }
            return history.shouldSpin(sleep < 500)
        }
        #expect(spins.count == 1000)
    }
}
