import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Invalid ports, and ports whose loop has ended.
@Suite(.timeBound) struct MessagePortEndTests {
    @Test("An invalid port refuses messages and releases those that wait")
    func invalidPort() throws {
        let (loop, _) = Loop.inVirtualTime()
        weak var captured: Count?
        weak var message: Count?
        let port = try { () throws in
            let (count, sent) = (Count(), Count())
            (captured, message) = (count, sent)
            let port = Loop.MessagePort<Count> { _ in count.up() }
            #expect(port.send(sent))
            return port
        }()
        loop.add(port, in: .default)
        #expect(captured != nil && message != nil)
        port.invalidate()
        #expect(captured == nil && message == nil)
        #expect(!port.send(Count()) && port.waitingCount == 0)
        #expect(!loop.add(port, in: .default))
    }

    @Test("Invalidating in the handler ends the port at once")
    func invalidatedInTheHandler() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let itself = LoopBound<Loop.MessagePort<Int>?>(nil, on: loop)
        let port = Loop.MessagePort<Int> { number in
            log.add(number)
            itself.value?.invalidate()
        }
        itself.value = port
        loop.add(port, in: .default)
        for number in 1...3 { port.send(number) }
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == [1])
        itself.value = nil
    }

    @Test("A port that is in the common modes by name only learns of the end of its loop")
    func endByName() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let port = Loop.MessagePort<Int>(capacity: 1) { _ in }
        thread.loop.add(port, in: .common)
        thread.loop.remove(port)
        #expect(port.send(1) && thread.loop.contains(port, in: .common))
        let sender = Task.immediate { try await port.send(whenRoom: 2) }
        thread.stop()
        try await thread.waitForEnd()
        #expect(port.trySend(3) == .closed)
        await #expect(throws: Loop.PortClosed.self) { try await sender.value }
    }

    @Test("A port whose loop has ended refuses messages until another loop has it")
    func endedLoop() throws {
        var ended: Loop? = Loop(clock: VirtualClock())
        let log = Log<Int>()
        let port = Loop.MessagePort<Int> { log.add($0) }
        for (round, mode) in [Loop.Mode.default, .common].enumerated() {
            ended?.add(port, in: mode)
            #expect(port.send(round))
            if round == 0 { ended?.end() }
            ended = nil
            #expect(!port.send(-1))
            ended = Loop(clock: VirtualClock())
        }
        let (loop, _) = Loop.inVirtualTime()
        loop.add(port, in: .default)
        #expect(port.send(2))
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [0, 1, 2], "what was accepted is not lost")
        loop.remove(port, in: .default)
        #expect(port.send(3), "taken out of a living loop it waits for another")
    }

    @Test("For a port, the end of a thread is the end of the loop")
    func endOfTheThread() throws {
        let thread = try LoopThread()
        let port = Loop.MessagePort<Int> { _ in }
        thread.loop.add(port, in: .common)
        thread.stop()
        thread.join()
        #expect(!port.send(1))
    }
}
