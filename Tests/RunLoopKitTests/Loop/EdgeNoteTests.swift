import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// The protocol of `EdgeNote`, step by step, in every interleaving of two senders and a loop that only polls, and that
/// adds the port of the second sender meanwhile.
private struct EdgeNoteModel: Hashable {
    /// Mistakes in the protocol, which the explorer must find.
    enum Mistake: CaseIterable { case none, noteBeforeWriting, clearAfterAsking, writeAfterReading }

    /// A sender reads which notes there are, writes, sets them, and has then no use for what it has read.
    enum SenderStep: Hashable { case read, write, note, done }
    enum LoopStep: Hashable { case look, clear, ask }

    /// A port joins the mode in two steps: its senders find the note, and then, once no sender has read an older list,
    /// the epoll set gets its eventfd.
    enum Joining: Hashable { case out, listed, joined }

    var isSet = false
    var joining = Joining.out
    /// The senders who have written and are in the epoll set, which has not reported that yet.
    var edges: Set<Int> = []
    var hasWritten: Set<Int> = []
    var hasNote: Set<Int> = [0]
    var served = 0
    var senders = [SenderStep.read, .read]
    var loopStep = LoopStep.look

    /// The state that follows when sender `index` takes a step; nil if it has taken all.
    func sender(_ index: Int, _ mistake: Mistake) -> EdgeNoteModel? {
        var next = self
        switch senders[index] {
        case .read:
            if index == 0 || joining != .out { next.hasNote.insert(index) }
            next.senders[index] = mistake == .noteBeforeWriting ? .note : .write
        case .write:
            next.hasWritten.insert(index)
            if index == 0 || joining == .joined { next.edges.insert(index) }
            next.senders[index] = mistake == .noteBeforeWriting ? .done : .note
        case .note:
            if hasNote.contains(index) { next.isSet = true }
            next.senders[index] = mistake == .noteBeforeWriting ? .write : .done
        case .done: return nil
        }
        return next
    }

    /// Whether the second sender uses the list that it has read.
    private func isReading(_ mistake: Mistake) -> Bool {
        let isInside = senders[1] == .write || senders[1] == .note
        return isInside && !(mistake == .writeAfterReading && !hasNote.contains(1))
    }

    /// The state that follows when the port goes on joining; nil if it has joined, or has to wait for a sender.
    func join(_ mistake: Mistake) -> EdgeNoteModel? {
        var next = self
        switch joining {
        case .out: next.joining = .listed
        case .listed:
            guard !isReading(mistake) else { return nil }
            next.joining = .joined
            if hasWritten.contains(1) { next.edges.insert(1) }
            next.isSet = true
        case .joined: return nil
        }
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
    var isStuck: Bool {
        senders == [.done, .done] && joining == .joined && loopStep == .look && !isSet && !edges.isEmpty
    }
}

/// A pass that does not sleep asks the kernel only if the kernel may know more than the loop.
@Suite(.timeBound) struct EdgeNoteTests {
    @Test("No send is missed in any interleaving", arguments: EdgeNoteModel.Mistake.allCases)
    fileprivate func interleavings(_ mistake: EdgeNoteModel.Mistake) {
        var visited: Set<EdgeNoteModel> = [EdgeNoteModel()]
        var open = Array(visited)
        while let state = open.popLast() {
            let next = [
                state.loop(mistake), state.sender(0, mistake), state.sender(1, mistake), state.join(mistake),
            ].compactMap { $0 }
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

    @Test("A send makes no mode ask the kernel that the port has left")
    func modeThatThePortHasLeft() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<Int>()
        let port = try Loop.PortSource { log.add($0) }
        for mode in ["left", "stays"] as [Loop.Mode] {
            loop.add(Loop.Source0 {}, in: mode)
            loop.add(port, in: mode)
            _ = polls(loop, in: mode)
        }
        loop.remove(port, in: "left")
        _ = polls(loop, in: "left")
        port.send()
        #expect(polls(loop, in: "left") == 0)
        #expect(polls(loop, in: "stays") == 1 && log.entries == [1])
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
        _ = try loop.hosting.begin()
        defer { loop.hosting.end() }
        let before = loop.counters.polls
        for _ in 0..<3 { #expect(loop.hosting.pass() == .idle) }
        #expect(loop.counters.polls >= before + 3)
    }

    @Test("A port keeps no note of a loop that has ended, nor of a mode that it has left")
    func leftNotes() throws {
        let port = try Loop.PortSource { _ in }
        for _ in 0..<3 {
            let (loop, _) = Loop.inVirtualTime()
            loop.addCommonMode("other")
            loop.add(port, in: .common)
            loop.add(port, in: "third")
            loop.remove(port, in: "other")
            loop.end()
        }
        port.notes.read { #expect($0.isEmpty) }
    }

    /// The wake-up has written an edge into the epoll sets of both modes.
    @Test("A clock that advances a loop does not wait for a stale edge")
    func staleEdge() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        defer { loop.end() }
        loop.add(Loop.Source0 {})
        loop.add(Loop.Source0 {}, in: "other")
        _ = (polls(loop), polls(loop, in: "other"))
        _ = try loop.hosting.begin(in: "other")
        loop.perform(in: "other") {}
        loop.hosting.pass()
        loop.hosting.end()
        clock.advance(by: .seconds(1))
        #expect(loop.now == 1_000_000_000)
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
