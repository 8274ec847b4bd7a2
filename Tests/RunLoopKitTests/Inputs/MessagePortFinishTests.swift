import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Ports whose last sender says that no more messages come.
@Suite(.timeBound) struct MessagePortFinishTests {
    private typealias Port = Loop.MessagePort<Int>

    /// A port that logs its messages and its end.
    private func port(_ log: Log<String>, capacity: Int? = nil, isOneShot: Bool = false) -> Port {
        let port = Port(capacity: capacity, isOneShot: isOneShot) { log.add("\($0)") }
        #expect(port.setEndHandler { log.add("end") })
        return port
    }

    @Test("Messages sent before are handled, then the end, and the run has nothing left")
    func messagesThenEnd() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let port = port(log)
        loop.add(port)
        for number in 1...100 { port.send(number) }
        #expect(port.finish() && port.isValid)
        #expect("\(port)".contains("finished"))
        #expect(!port.finish() && !port.send(0) && port.trySend(0) == .closed)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == (1...100).map { "\($0)" } + ["end"])
        #expect(!port.isValid && !port.finish() && !port.setEndHandler {})
    }

    @Test("The end alone wakes the loop, in whichever mode has the port", arguments: [Loop.Mode.default, .common])
    func endAlone(_ mode: Loop.Mode) {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let port = port(log)
        // Before it is in the loop, and while it is.
        if mode == .common { port.finish() }
        loop.add(port, in: mode)
        loop.perform(in: mode) { port.finish() }
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == ["end"] && !port.isValid)
    }

    @Test("The end waits while the port is disarmed, as a message does")
    func disarmed() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let port = port(log, isOneShot: true)
        loop.add(port)
        port.send(1)
        port.finish()
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect(log.entries == ["1"] && port.isValid)
        port.rearm()
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == ["1", "end"])
    }

    @Test("The end waits for a handler, as a message does")
    func withoutHandler() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let port = Port()
        loop.add(port)
        port.finish()
        port.setEndHandler { log.add("old") }
        port.setEndHandler { log.add("end") }
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        port.setHandler { log.add("\($0)") }
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == ["end"])
    }

    @Test("Invalidated before its end, the port drops it, and releases the handler")
    func invalidated() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let port = port(log)
        loop.add(port)
        weak var captured: Count?
        do {
            let count = Count()
            captured = count
            port.setEndHandler { count.up() }
        }
        port.send(1)
        port.finish()
        #expect(captured != nil)
        port.invalidate()
        #expect(captured == nil)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries.isEmpty)
    }

    @Test("If the loop ends before, the messages and the end come in another loop")
    func endedLoop() {
        let log = Log<String>()
        let port = port(log)
        let first = Loop(clock: VirtualClock())
        first.add(port)
        port.send(1)
        port.finish()
        first.end()
        #expect(log.entries.isEmpty && port.isValid)
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        loop.add(port)
        #expect(!port.send(2))
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == ["1", "end"])
    }

    @Test("Senders that wait for room were before the end, and later ones are refused")
    func waitingSenders() async throws {
        let log = Log<String>()
        let port = port(log, capacity: 1)
        port.send(1)
        let waiting = Task { try await port.send(whenRoom: 2) }
        await eventually(port.waitingSenderCount == 1)
        port.finish()
        await #expect(throws: Loop.PortClosed()) { try await port.send(whenRoom: 3) }
        let thread = try LoopThread()
        thread.loop.add(port, in: .common)
        try await waiting.value
        await eventually(!port.isValid)
        try await thread.run {}
        #expect(log.entries == ["1", "2", "end"])
    }

    @Test("A sequence ends after the last message, whether or not the task waits", arguments: [0, 1, 3])
    func sequence(_ count: Int) async throws {
        let thread = try LoopThread()
        let (port, messages) = Port.makeMessages(on: thread.loop)
        let task = Task {
            var received: [Int] = []
            for await message in messages { received.append(message) }
            return received
        }
        for number in 0..<count { port.send(number) }
        port.finish()
        #expect(await task.value == Array(0..<count))
        #expect(!port.isValid && !port.send(9))
        for await _ in messages { Issue.record("A message comes after the end.") }
    }

    @Test("A sequence whose loop does not run ends when it does")
    func sequenceWithoutRun() async throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let log = Log<String>()
        let (port, messages) = Port.makeMessages(on: thread.loop, in: "other")
        port.setEndHandler { log.add("end, on the thread: \(thread.isCurrent)") }
        port.send(1)
        port.finish()
        let task = Task {
            for await message in messages { log.add("\(message)") }
            log.add("over")
        }
        thread.perform { Loop.current.run(mode: "other", for: .seconds(1)) }
        await task.value
        // The sequence may end before the handler is called. After the run in the other mode it has been.
        try await thread.run {}
        #expect(log.entries.first == "1" && Set(log.entries.dropFirst()) == ["end, on the thread: true", "over"])
    }
}
