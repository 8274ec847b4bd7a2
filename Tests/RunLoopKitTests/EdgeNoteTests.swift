import TestSupport
import Testing

@testable import RunLoopKit

/// The protocol of `EdgeNote`, step by step, in every interleaving of a loop that only polls and two senders.
private struct EdgeNoteModel: Hashable {
    /// Mistakes in the protocol, which the explorer must find.
    enum Mistake: CaseIterable { case none, noteBeforeWriting, clearAfterAsking }

    enum LoopStep: Hashable { case look, clear, ask }

    var isSet = false
    /// The senders whose edges the kernel has yet to report.
    var edges: Set<Int> = []
    var served = 0
    var senderSteps = [0, 0]
    var loopStep = LoopStep.look

    /// The state that follows when sender `index` takes a step; nil if it has taken both.
    func sender(_ index: Int, _ mistake: Mistake) -> EdgeNoteModel? {
        guard senderSteps[index] < 2 else { return nil }
        var next = self
        let writes = senderSteps[index] == (mistake == .noteBeforeWriting ? 1 : 0)
        if writes { next.edges.insert(index) } else { next.isSet = true }
        next.senderSteps[index] += 1
        return next
    }

    /// The state that follows when the loop takes a step. It always takes one: it does not sleep.
    func loop(_ mistake: Mistake) -> EdgeNoteModel {
        var next = self
        switch loopStep {
        case .look: next.loopStep = isSet ? mistake == .clearAfterAsking ? .ask : .clear : .look
        case .clear:
            next.isSet = false
            next.loopStep = mistake == .clearAfterAsking ? .look : .ask
        case .ask:
            next.served += edges.count
            next.edges = []
            next.loopStep = mistake == .clearAfterAsking ? .clear : .look
        }
        return next
    }

    /// Whether nothing more happens, although an edge waits.
    var isStuck: Bool { senderSteps == [2, 2] && loopStep == .look && !isSet && !edges.isEmpty }
}

/// A pass that does not sleep asks the kernel only if the kernel may know more than the loop.
@Suite(.timeBound) struct EdgeNoteTests {
    @Test("No send is missed in any interleaving", arguments: EdgeNoteModel.Mistake.allCases)
    fileprivate func interleavings(_ mistake: EdgeNoteModel.Mistake) {
        var visited: Set<EdgeNoteModel> = [EdgeNoteModel()]
        var open = Array(visited)
        while let state = open.popLast() {
            let next = [state.loop(mistake), state.sender(0, mistake), state.sender(1, mistake)].compactMap { $0 }
            for state in next where visited.insert(state).inserted { open.append(state) }
        }
        #expect(visited.contains { $0.isStuck } == (mistake != .none))
        #expect(visited.contains { $0.served == 2 })
    }

    /// The polls of three runs of one pass.
    private func polls(_ loop: Loop, in mode: Loop.Mode = .default) -> Int {
        let before = loop.counters.polls
        for _ in 0..<3 { loop.run(mode: mode, for: .zero) }
        return loop.counters.polls - before
    }

    @Test("A loop knows by itself of blocks, signalled sources, messages and timers")
    func knownToTheLoop() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        defer { loop.end() }
        let log = Log<String>()
        let source = Loop.Source0 { log.add("source") }
        let port = Loop.MessagePort<Int> { log.add("message \($0)") }
        loop.add(source)
        loop.add(port)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in log.add("timer") })
        _ = polls(loop)  // What was there when the epoll set was made.
        let before = loop.counters.polls
        loop.perform { log.add("block") }
        source.signal()
        loop.run(mode: .default, for: .zero)
        port.send(7)
        loop.run(mode: .default, for: .zero)
        clock.advance(by: .seconds(1))
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == ["block", "source", "message 7", "timer"])
        #expect(loop.counters.polls == before)
    }

    @Test("A port that is sent to makes the loop ask once")
    func portMakesTheLoopAsk() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let count = Count()
        let port = try Loop.PortSource { count.upBy($0) }
        loop.add(port)
        #expect(polls(loop) == 1)
        #expect(polls(loop) == 0)
        for _ in 0..<5 { port.send() }
        #expect(polls(loop) == 1)
        #expect(count.value == 5)
    }

    @Test("A port that was sent to before it was added is served")
    func sentToBeforeItWasAdded() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let count = Count()
        let port = try Loop.PortSource { count.upBy($0) }
        loop.add(Loop.Source0 {})
        _ = polls(loop)
        port.send()
        loop.add(port)
        #expect(polls(loop) == 1)
        #expect(count.value == 1)
    }

    @Test("Each mode of a port learns of a send by itself")
    func twoModes() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let served = Log<Int>()
        let ports = try (0..<2).map { number in try Loop.PortSource { _ in served.add(number) } }
        for mode in [Loop.Mode.default, "other"] { for port in ports { loop.add(port, in: mode) } }
        _ = (polls(loop), polls(loop, in: "other"))
        for port in ports { port.send() }
        // The kernel reports both, and the pass serves one.
        loop.run(mode: .default, for: .zero)
        loop.run(mode: "other", for: .zero)
        #expect(served.entries == [0, 1])
    }

    @Test("More ports than the kernel reports at once are all served")
    func manyPorts() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let served = Count()
        let ports = try (0..<200).map { _ in try Loop.PortSource { _ in served.up() } }
        for port in ports { loop.add(port) }
        _ = polls(loop)
        for port in ports { port.send() }
        let before = loop.counters.polls
        for _ in 0..<200 { loop.run(mode: .default, for: .zero) }
        #expect(served.value == 200)
        #expect(loop.counters.polls == before + 4)
    }

    @Test("A loop that has something which only the kernel knows asks in each pass")
    func knownToTheKernel() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let pipe = Ends.pipe()
        let source = try Loop.FileDescriptorSource(pipe.reader) { _, _ in }
        loop.add(Loop.Source0 {})
        loop.add(source)
        #expect(polls(loop) == 3)
        source.invalidate()
        _ = polls(loop)
        #expect(polls(loop) == 0)
        // A timerfd reports that the wall clock was set.
        loop.add(Loop.Timer(after: .seconds(3600), timeBase: .wallClock) { _ in })
        #expect(polls(loop) == 3)
    }

    /// Its host waits for what the epoll set reports: what stays there would make it call again and again.
    @Test("A hosted loop asks in each pass")
    func hosted() throws {
        let (loop, _) = Loop.inVirtualTime()
        loop.add(Loop.Source0 {})
        _ = polls(loop)
        _ = try loop.beginHosting()
        defer { loop.endHosting() }
        let before = loop.counters.polls
        for _ in 0..<3 { #expect(loop.hostedPass() == .idle) }
        #expect(loop.counters.polls >= before + 3)
    }

    /// The loop never sleeps, so nothing but the note tells it of a send.
    @Test("A loop that only polls misses no send of other threads")
    func sendsWhilePolling() throws {
        let thread = try LoopThread()
        let handled = Count()
        let ports = try (0..<3).map { _ in try Loop.PortSource { handled.upBy($0) } }
        let sends = 2_000
        for port in ports { thread.loop.add(port, in: "polled") }
        thread.perform {
            while handled.value < 3 * sends { Loop.current.run(mode: "polled", for: .zero) }
        }
        try inParallel(
            { for _ in 0..<sends { ports[0].send() } }, { for _ in 0..<sends { ports[1].send() } },
            { for _ in 0..<sends { ports[2].send() } })
        try thread.performAndWait {}
        #expect(handled.value == 3 * sends)
    }
}
