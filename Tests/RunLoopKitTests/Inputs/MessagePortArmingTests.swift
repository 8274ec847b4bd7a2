import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// One-shot ports, disarming, and taking messages out without the handler.
@Suite(.timeBound) struct MessagePortArmingTests {
    @Test("A one-shot port handles one message for each re-arming")
    func oneShot() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let port = Loop.MessagePort<Int>(isOneShot: true) { number in
            log.add(number)
            // A nested run must not handle the rest either.
            Loop.current.run(mode: .default, for: .seconds(1))
        }
        loop.add(port, in: .default)
        for number in 1...3 { port.send(number) }
        for round in 1...3 {
            #expect(port.isArmed)
            loop.run(mode: .default, for: .seconds(1))
            #expect(log.entries == Array(1...round) && port.waitingCount == 3 - round && !port.isArmed)
            port.rearm()
        }
        #expect("\(loop)".hasSuffix("): 0 waiting, one-shot"))
        port.send(4)
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [1, 2, 3, 4])
        #expect("\(loop)".hasSuffix("): 0 waiting, one-shot, disarmed"))
    }

    @Test("A disarmed port wakes no loop, and re-arming it does once")
    func rearmingWakesOnce() throws {
        let thread = try LoopThread()
        let (began, go) = (Gate(), Gate())
        let port = Loop.MessagePort<Int> { number in
            guard number == 1 else { return }
            began.open()
            go.wait()
        }
        thread.loop.add(port, in: .default)
        spin(until: thread.loop.waker.isAsleep)
        let before = thread.loop.counters
        port.disarm()
        port.rearm()
        port.disarm()
        for number in 1...3 { port.send(number) }
        // Not the waits: a loop counts one when it has marked itself asleep.
        let after = thread.loop.counters
        #expect(after.passes == before.passes && after.wakeWrites == before.wakeWrites)
        #expect(thread.loop.waker.isAsleep && port.waitingCount == 3)
        port.rearm()
        port.rearm()
        began.wait()
        port.disarm()
        go.open()
        spin(until: thread.loop.waker.isAsleep)
        #expect(thread.loop.counters.wakeWrites == before.wakeWrites + 1 && port.waitingCount == 2)
        port.rearm()
        spin(until: port.waitingCount == 0)
    }

    @Test("Disarming in the handler keeps the rest of the pass")
    func disarmedInTheHandler() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let itself = LoopBound<Loop.MessagePort<Int>?>(nil, on: loop)
        let port = Loop.MessagePort<Int> { number in
            log.add(number)
            if number == 2 { itself.value?.disarm() }
        }
        itself.value = port
        loop.add(port, in: .default)
        for number in 1...4 { port.send(number) }
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [1, 2] && port.waitingCount == 2)
        port.rearm()
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [1, 2, 3, 4])
        itself.value = nil
    }

    @Test("Sending and re-arming at the same time loses no message")
    func sendingAndRearming() throws {
        let thread = try LoopThread()
        let handled = Count()
        let port = Loop.MessagePort<Int>(isOneShot: true) { _ in handled.up() }
        thread.loop.add(port, in: .default)
        let sender = try LoopThread()
        sender.perform { for number in 0..<4000 { port.send(number) } }
        while handled.value < 4000 { port.rearm() }
        sender.stop()
    }

    @Test("Waiting messages can be taken out without the handler")
    func takeWaiting() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let port = Loop.MessagePort<Int> { log.add($0) }
        loop.add(port, in: .default)
        for number in 1...3 { port.send(number) }
        #expect(port.takeWaiting() == [1, 2, 3] && port.takeWaiting().isEmpty)
        port.send(4)
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [4])
        port.send(5)
        port.invalidate()
        #expect(port.takeWaiting().isEmpty)
    }
}
