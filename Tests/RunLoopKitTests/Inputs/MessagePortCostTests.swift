import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// How many passes, wake-ups and writes a send costs.
@Suite(.timeBound) struct MessagePortCostTests {
    @Test("Sending to a loop that is awake writes nothing")
    func sendToAnAwakeLoop() throws {
        let thread = try LoopThread()
        let handled = Count()
        let port = Loop.MessagePort<Int> { _ in handled.up() }
        thread.loop.add(port, in: .default)
        try thread.performAndWait {
            let before = Loop.current.counters.wakeWrites
            for number in 0..<50 { port.send(number) }
            #expect(Loop.current.counters.wakeWrites == before)
        }
        spin(until: handled.value == 50)
    }

    @Test("A burst of messages to a sleeping loop writes once")
    func burstOfMessages() throws {
        let thread = try LoopThread()
        let handled = Count()
        let (began, go) = (Gate(), Gate())
        let port = Loop.MessagePort<Int> { number in
            handled.up()
            guard number == 0 else { return }
            began.open()
            go.wait()
        }
        thread.loop.add(port, in: .default)
        spin(until: thread.loop.waker.isAsleep)
        let before = thread.loop.counters.wakeWrites
        port.send(0)
        began.wait()
        for number in 1..<50 { port.send(number) }
        #expect(thread.loop.counters.wakeWrites == before + 1)
        go.open()
        spin(until: handled.value == 50)
    }

    /// The loop sleeps in another mode: it was notified of the first message, and need not look again.
    @Test("More messages for a queue that is not empty write nothing")
    func queueThatIsNotEmpty() throws {
        let thread = try LoopThread()
        let port = Loop.MessagePort<Int> { _ in }
        thread.loop.add(port, in: "never run")
        spin(until: thread.loop.waker.isAsleep)
        let before = thread.loop.counters.wakeWrites
        for number in 1...20 {
            port.send(number)
            spin(until: thread.loop.waker.isAsleep)
        }
        #expect(thread.loop.counters.wakeWrites <= before + 1 && port.waitingCount == 20)
    }

    @Test("Sends to a port source that is ready write nothing")
    func readyPortSource() throws {
        let (loop, _) = Loop.inVirtualTime()
        let counts = Log<Int>()
        let port = try Loop.PortSource { counts.add($0) }
        for _ in 0..<20 { port.send() }
        #expect(System.drain(eventFD: port.watches[0].descriptor) == 1)
        port.send()
        #expect(System.drain(eventFD: port.watches[0].descriptor) == 0)
        // After the handler it writes again.
        let mode = loop.lock.withLock { loop.state(for: .default) }
        #expect(port.perform(.fresh(.read), in: mode) == 1)
        port.send()
        #expect(System.drain(eventFD: port.watches[0].descriptor) == 1 && counts.entries == [21])
        loop.end()
    }

    /// A message wakes a loop as a port does: without the pass that serves a wake-up.
    @Test("A message costs one pass and no wake-up")
    func onePassNoWakeUp() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Loop.Activity>()
        let port = Loop.MessagePort<Int> { _ in }
        loop.add(port, in: .default)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in port.send(1) }, in: .default)
        loop.add(Loop.Observer(.all) { _, activity in log.add(activity) }, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(2)) == .timedOut)
        let pass: [Loop.Activity] = [.beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting]
        #expect(
            log.entries == [.entry] + pass + pass + pass + [.exit], "the timer, its message, and one that times out")
        #expect(loop.counters.wakeWrites == 0)
    }
}
