import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Each loop numbers its own events. What is in several loops, or moves from one to another, keeps the order in which
/// things happened.
@Suite(.timeBound) struct EventOrderTests {
    private let mode: Loop.Mode = "test.order"

    /// A thread whose loop has numbered many events.
    private func busyThread() throws -> LoopThread {
        let busy = try LoopThread()
        for _ in 0..<1000 { _ = busy.loop.waker.turns.next() }
        return busy
    }

    @Test("Signals and sends are numbered by the loop that they are for")
    func ownCounters() throws {
        let (first, second) = (try LoopThread(), try LoopThread())
        #expect(first.loop.waker.turns !== second.loop.waker.turns)
        let source = Loop.Source0 {}
        let port = try Loop.PortSource { _ in }
        let messages = Loop.MessagePort<Int> { _ in }
        for item in [source, port, messages] as [Loop.Item] { first.loop.add(item, in: mode) }
        let before = first.loop.waker.turns.next()
        source.signal()
        port.send()
        messages.send(1)
        // The wake-ups of a thread that sleeps are counted too.
        #expect(first.loop.waker.turns.next() >= before + 4)
        let turns = [source.pendingSignal, port.readyTurn, messages.readyTurn].compactMap { $0 }
        #expect(turns == turns.sorted() && turns[0] > before)
    }

    @Test("Ports that were ready in another loop are served before later sends")
    func readyPortsMove() throws {
        let (busy, calm) = (try busyThread(), try LoopThread())
        let log = Log<String>()
        let ports = try ["a", "b", "c"].map { name in try Loop.PortSource { _ in log.add(name) } }
        let messages = Loop.MessagePort<Int> { _ in log.add("message") }
        for item in [ports[0], messages] as [Loop.Item] { busy.loop.add(item, in: mode) }
        ports[0].send()
        messages.send(1)
        for item in [ports[0], messages] as [Loop.Item] {
            busy.loop.remove(item, in: mode)
            #expect(calm.loop.add(item, in: mode))
        }
        for port in ports[1...] {
            calm.loop.add(port, in: mode)
            port.send()
        }
        try calm.performAndWait {
            while Loop.current.run(mode: mode, for: .zero, returnAfterSourceHandled: true) == .handledSource {}
        }
        #expect(log.entries == ["a", "message", "b", "c"])
    }

    @Test("Signals of sources in two loops are ordered in both")
    func sharedSources() throws {
        let (busy, calm) = (try busyThread(), try LoopThread())
        let log = Log<String>()
        let sources = ["a", "b", "c"].map { name in Loop.Source0 { log.add(name) } }
        // `c` has been signalled in the busy loop before it joins the calm one.
        busy.loop.add(sources[2], in: mode)
        sources[2].signal()
        for source in sources { calm.loop.add(source, in: mode) }
        sources[0].signal()
        sources[1].signal()
        try calm.performAndWait { Loop.current.run(mode: mode, for: .zero) }
        #expect(log.entries == ["c", "a", "b"])
        // A signal in both loops, then one in the calm one alone.
        busy.loop.add(sources[0], in: mode)
        sources[0].signal()
        sources[1].signal()
        try calm.performAndWait { Loop.current.run(mode: mode, for: .zero) }
        #expect(log.entries.suffix(2) == ["a", "b"])
    }

    @Test("Signals are ordered also if their sources are in no loop")
    func signalsInNoLoop() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let sources = ["a", "b", "c", "d"].map { name in Loop.Source0 { log.add(name) } }
        loop.add(sources[1])
        for source in sources { source.signal() }
        for index in [3, 0, 2] { loop.add(sources[index]) }
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == ["a", "b", "c", "d"])
    }

    @Test("What happens outside of all loops comes after what happened before it in any loop")
    func outside() {
        let counters = [0, 500, 1 << 21].map { count in
            let counter = TurnCounter()
            for _ in 0..<count { _ = counter.next() }
            return counter
        }
        for _ in 0..<3 {
            let before = counters.map { $0.next() }
            let outside = TurnCounter.nextOutside()
            #expect(before.allSatisfy { $0 < outside })
            #expect(counters.allSatisfy { $0.next() > outside })
            #expect(TurnCounter.nextOutside() > outside)
        }
    }

    @Test("No two events of a loop have one number, also if several loops have what it is about")
    func uniqueNumbers() throws {
        let own = Waker()
        let notes = [EdgeNote(own), EdgeNote(Waker())]
        let (shared, alone) = (Log<UInt64>(), Log<UInt64>())
        try inParallel(
            { for _ in 0..<20_000 { shared.add(TurnCounter.next(in: notes)) } },
            { for _ in 0..<20_000 { alone.add(own.turns.next()) } })
        #expect(Set(shared.entries + alone.entries).count == 40_000)
    }

    @Test("A number for several loops is larger than all before it in each")
    func numbersOfSeveralLoops() throws {
        let wakers = [3, 500, 20].map { count in
            let waker = Waker()
            for _ in 0..<count { _ = waker.turns.next() }
            return waker
        }
        let before = wakers.map { $0.turns.next() }
        let number = TurnCounter.next(in: wakers.map { EdgeNote($0) })
        for (waker, old) in zip(wakers, before) {
            #expect(old < number)
            #expect(waker.turns.next() > number)
        }
        #expect(TurnCounter.next(in: []) > number)
    }
}
