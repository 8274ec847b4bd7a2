import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Connections that a server ends together. For the end of each one see `ConnectionPeriodTests`.
@Suite(.timeBound) struct ConnectionSetTests {
    /// A connection, and its peer.
    private final class Pair: Sendable {
        let peer: Ends
        let connection: Loop.Connection

        init(_ handler: Loop.Connection.Handler? = { _, _ in }) throws {
            peer = Ends.sockets()
            connection = try Loop.Connection(owning: peer.reader, handler: handler)
            peer.isReaderClosed = true
        }

        func finish() { finishWriting(peer.writer) }
    }

    /// A loop in virtual time, and what happens there.
    private final class Scene: @unchecked Sendable {
        let (loop, clock) = Loop.inVirtualTime()
        let connections = Loop.ConnectionSet()
        let log = Log<String>()

        func note(_ text: String) { log.add("\(text) at \(clock.now.nanoseconds / 1_000_000_000)") }

        func pair(_ name: String = "connection") throws -> Pair {
            let pair = try Pair { [self] _, event in
                if case .closed(let error) = event { note("\(name) \(error == nil ? "closed" : "failed")") }
            }
            loop.add(pair.connection)
            #expect(connections.insert(pair.connection))
            return pair
        }

        func end(within seconds: Int64, _ name: String = "end") {
            connections.end(within: .seconds(seconds)) { [self] in note(name) }
        }

        @discardableResult
        func run(for seconds: Int64 = 100) -> Loop.RunResult { loop.run(mode: .default, for: .seconds(seconds)) }
    }

    @Test("The end is reported once, when the last connection has closed")
    func end() throws {
        let scene = Scene()
        let (quick, slow) = (try scene.pair("quick"), try scene.pair("slow"))
        #expect(scene.connections.count == 2 && !scene.connections.isEmpty)
        #expect(Set(scene.connections.connections.map(\.descriptor)).count == 2)
        scene.end(within: 3)
        scene.loop.perform(after: .seconds(1)) { quick.finish() }
        #expect(scene.run(for: 2) == .timedOut)
        #expect(scene.connections.connections.map(\.descriptor) == [slow.connection.descriptor])
        #expect(scene.run() == .finished)
        #expect(scene.log.entries == ["quick closed at 1", "slow failed at 3", "end at 3"])
        #expect(scene.connections.isEmpty && scene.connections.connections.isEmpty)
    }

    @Test("An empty set has ended at once, each time")
    func emptySet() {
        let scene = Scene()
        scene.end(within: 3, "first")
        scene.end(within: 9, "second")
        scene.connections.end(within: .zero)
        #expect(scene.log.entries == ["first at 0", "second at 0"])
    }

    @Test("The closure of an empty set is called by the loop, where a stop counts", arguments: [true, false])
    func emptySetInRun(_ hasLeaving: Bool) throws {
        let scene = Scene()
        // In no loop: the call invalidates it.
        let pair = hasLeaving ? try Pair() : nil
        if let pair { #expect(scene.connections.insert(pair.connection)) }
        scene.loop.perform { [scene] in
            scene.connections.end(within: .seconds(3)) {
                scene.note("end")
                scene.loop.stop()
            }
            scene.note("called")
        }
        scene.loop.add(Loop.Timer(after: .seconds(9)) { _ in })
        #expect(scene.run() == .stopped && scene.log.entries == ["called at 0", "end at 0"])
    }

    @Test("The closure of an empty set is called in the mode that runs, even if that is not a common one")
    func emptySetInOtherMode() {
        let scene = Scene()
        scene.loop.add(Loop.Timer(after: .seconds(9)) { _ in }, in: "server")
        scene.loop.perform(in: "server") { [scene] in
            scene.connections.end(within: .seconds(3)) { scene.loop.stop() }
        }
        #expect(scene.loop.run(mode: "server", for: .seconds(100)) == .stopped)
    }

    @Test("The connections of a set get what has arrived before its end, also those that come late")
    func readingFirst() throws {
        let scene = Scene()
        let pairs = try (0..<3).map { _ in
            try Pair { [scene] connection, event in
                if case .received(let bytes) = event { scene.log.add(String(decoding: bytes, as: UTF8.self)) }
                if event == .peerFinished { connection.end() }
            }
        }
        for (index, pair) in pairs.enumerated() {
            scene.loop.add(pair.connection)
            if index < 2 { #expect(scene.connections.insert(pair.connection)) }
            pair.peer.send("line \(index)")
        }
        scene.end(within: 3)
        #expect(!scene.connections.insert(pairs[2].connection))
        scene.run(for: 1)
        #expect(Set(scene.log.entries) == ["line 0", "line 1", "line 2"])
        for pair in pairs {
            pair.peer.send("late")
            pair.finish()
        }
        #expect(scene.run() == .finished && scene.log.entries.count == 4 && scene.log.entries.last == "end at 1")
    }

    @Test("Of two periods the one counts that ends first, and both ends are reported", arguments: [(9, 3), (3, 9)])
    func secondEnd(_ periods: (Int64, Int64)) throws {
        let scene = Scene()
        let pair = try scene.pair()
        scene.end(within: periods.0, "first")
        scene.end(within: periods.1, "second")
        #expect(scene.run() == .finished && !pair.connection.isValid)
        #expect(scene.log.entries == ["connection failed at 3", "first at 3", "second at 3"])
    }

    @Test("A connection counts once, until its handler has got the last event")
    func lastEvent() throws {
        let (scene, ends) = (Scene(), Ends.sockets())
        let connection = try Loop.Connection(owning: ends.reader)
        ends.isReaderClosed = true
        scene.loop.add(connection)
        for _ in 0..<3 { #expect(scene.connections.insert(connection)) }
        #expect(scene.connections.count == 1)
        connection.setHandler { [scene] connection, event in
            if event == .peerFinished { connection.end() }
            if event == .closed(nil) {
                scene.note("\(scene.connections.count)")
                #expect(!scene.connections.insert(connection) && !Loop.ConnectionSet().insert(connection))
            }
        }
        finishWriting(ends.writer)
        scene.run()
        #expect(scene.log.entries == ["1 at 0"] && scene.connections.isEmpty)
    }

    @Test("An invalidated connection leaves at once, also in its handler and without one")
    func invalidated() throws {
        let scene = Scene()
        let pair = try scene.pair()
        pair.connection.invalidate()
        #expect(scene.connections.isEmpty && !scene.connections.insert(pair.connection))

        let other = try Pair { connection, _ in
            connection.invalidate()
            scene.note("\(scene.connections.count)")
        }
        scene.loop.add(other.connection)
        scene.connections.insert(other.connection)
        other.finish()
        scene.run()
        let silent = try Pair(nil)
        scene.loop.add(silent.connection)
        scene.connections.insert(silent.connection)
        scene.end(within: 5)
        #expect(scene.run() == .finished)
        #expect(scene.log.entries == ["0 at 0", "end at 5"])
    }

    @Test("Connections leave in any order, and their places are taken again; a connection may be in several sets")
    func severalSets() throws {
        let (scene, other) = (Scene(), Loop.ConnectionSet())
        var pairs = try (0..<4).map { try scene.pair("\($0)") }
        for pair in pairs { other.insert(pair.connection) }
        for index in [1, 0, 3, 2] {
            if index == 3 {
                pairs.append(try scene.pair())
                other.insert(pairs[4].connection)
            }
            pairs[index].connection.invalidate()
            let left = Set(pairs.filter { $0.connection.isValid }.map(\.connection.descriptor))
            #expect(Set(scene.connections.connections.map(\.descriptor)) == left)
            #expect(Set(other.connections.map(\.descriptor)) == left && other.count == left.count)
        }
    }

    @Test("A connection that comes late has the rest of the period, and is not taken")
    func lateInsertion() throws {
        let scene = Scene()
        let pair = try scene.pair("early")
        scene.end(within: 5)
        #expect(scene.run(for: 2) == .timedOut)
        let late = try Pair { _, event in if case .closed = event { scene.note("late closed") } }
        scene.loop.add(late.connection)
        #expect(!scene.connections.insert(late.connection) && scene.connections.count == 1)
        #expect(!scene.connections.insert(pair.connection) && late.connection.isValid)
        #expect(scene.run() == .finished && !pair.connection.isValid)
        #expect(scene.log.entries.sorted() == ["early failed at 5", "end at 5", "late closed at 5"])
        let last = try Pair { _, event in if case .closed = event { scene.note("last closed") } }
        scene.loop.add(last.connection)
        #expect(!scene.connections.insert(last.connection))
        #expect(scene.run() == .finished && scene.log.entries.last == "last closed at 5")
    }

    @Test("What has no end has none for one that comes late, until a shorter period comes")
    func lateInsertionWithoutPeriod() throws {
        let scene = Scene()
        let pair = try scene.pair("early")
        scene.end(within: .max, "first")
        let late = try Pair { _, event in if case .closed = event { scene.note("late closed") } }
        scene.loop.add(late.connection)
        #expect(!scene.connections.insert(late.connection))
        #expect(scene.run(for: 50) == .timedOut && late.connection.isValid)
        scene.end(within: 1, "second")
        #expect(!scene.connections.insert(late.connection))
        #expect(scene.run() == .finished && !pair.connection.isValid)
        #expect(scene.log.entries.suffix(3).sorted() == ["first at 51", "late closed at 51", "second at 51"])
    }

    @Test("A connection in no loop is invalidated by the end, at once")
    func inNoLoop() throws {
        let scene = Scene()
        let pair = try Pair()
        scene.connections.insert(pair.connection)
        scene.end(within: 5)
        #expect(scene.log.entries == ["end at 0"] && !pair.connection.isValid)
        let late = try Pair()
        #expect(!scene.connections.insert(late.connection) && !late.connection.isValid)
    }

    @Test("When its loop ends, a connection leaves, and is closed unless the program has it")
    func loopEnds() throws {
        let scene = Scene()
        let pair = try scene.pair()
        weak var released: Loop.Connection?
        do { released = try scene.pair().connection }
        #expect(scene.connections.count == 2 && released != nil)
        scene.loop.end()
        #expect(scene.connections.isEmpty && pair.connection.isValid)
        #expect(released == nil)
        let other = Loop(clock: VirtualClock())
        #expect(other.add(pair.connection) && scene.connections.insert(pair.connection))
        #expect(scene.connections.count == 1)
    }

    @Test("A connection that is inserted after its loop's end, or removed before it, stays until the set ends")
    func insertedAfterLoopEnds() throws {
        let scene = Scene()
        let (removed, late) = (try scene.pair(), try Pair())
        scene.loop.add(late.connection)
        scene.loop.remove(removed.connection)
        scene.loop.end()
        #expect(scene.connections.insert(late.connection))
        #expect(scene.connections.count == 2 && late.connection.isValid && removed.connection.isValid)
        scene.end(within: 5)
        #expect(scene.connections.isEmpty && !late.connection.isValid && !removed.connection.isValid)
    }

    @Test("A connection whose loop ends before the end is over is closed")
    func loopEndsBeforeTheEnd() throws {
        let scene = Scene()
        let pair = try scene.pair()
        scene.end(within: .max)
        #expect(scene.log.entries == [])
        scene.loop.end()
        #expect(scene.log.entries == ["end at 0"] && !pair.connection.isValid && scene.connections.isEmpty)
    }

    @Test("A set that is released ends nothing, and retains nothing")
    func released() throws {
        let loop = Loop(clock: VirtualClock())
        var connections: Loop.ConnectionSet? = Loop.ConnectionSet()
        weak let weakSet = connections
        let pair = try Pair()
        weak var retained: Loop.Connection?
        do {
            let removed = try Pair()
            retained = removed.connection
            loop.add(removed.connection)
            loop.remove(removed.connection)
            connections?.insert(removed.connection)
        }
        loop.add(pair.connection)
        connections?.insert(pair.connection)
        #expect(retained != nil)
        connections = nil
        #expect(weakSet == nil && retained == nil)
        pair.peer.send("x")
        #expect(pair.connection.isValid && pair.connection.send([7]) && readText(pair.peer.writer) == "\u{7}")
        pair.connection.invalidate()
    }

    @Test("An end that was begun goes on without the set")
    func releasedWhileEnding() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<String>()
        var connections: Loop.ConnectionSet? = Loop.ConnectionSet()
        let (quick, slow) = (try Pair(), try Pair())
        for pair in [quick, slow] {
            loop.add(pair.connection)
            connections?.insert(pair.connection)
        }
        connections?.end(within: .seconds(3)) { log.add("end at \(clock.now)") }
        connections = nil
        quick.finish()
        #expect(loop.run(mode: .default, for: .seconds(2)) == .timedOut)
        #expect(log.entries == [] && !quick.connection.isValid)
        #expect(loop.run(mode: .default, for: .seconds(20)) == .finished)
        #expect(log.entries == ["end at 3000000000 ns"])
    }

    @Test("The closure is released once it was called, and may use the set")
    func completion() throws {
        let scene = Scene()
        let pair = try scene.pair()
        var captured: Count? = Count()
        weak let weakCount = captured
        scene.connections.end(within: .seconds(1)) { [captured] in
            captured?.up()
            #expect(scene.connections.isEmpty && !scene.connections.insert(pair.connection))
            scene.end(within: 1, "again")
        }
        captured = nil
        #expect(weakCount?.value == 0)
        scene.run()
        #expect(weakCount == nil && scene.log.entries == ["connection failed at 1", "again at 1"])
    }

    // MARK: Threads

    @Test("Connections of several loops end from another thread", arguments: 0..<20)
    func severalLoops(_ round: Int) throws {
        let threads = try (0..<3).map { try LoopThread(name: "server \($0)") }
        let (connections, ended) = (Loop.ConnectionSet(), Gate())
        let closed = Count()
        let pairs = try (0..<9).map { _ in try Pair { _, event in if event == .closed(nil) { closed.up() } } }
        for (index, pair) in pairs.enumerated() {
            threads[index % 3].loop.add(pair.connection)
            connections.insert(pair.connection)
        }
        if round % 2 == 0 { for pair in pairs { pair.finish() } }
        connections.end(within: .seconds(Int64.max)) {
            #expect(closed.value == 9 && connections.isEmpty)
            ended.open()
        }
        for pair in pairs { pair.finish() }
        ended.wait()
    }

    @Test("Of two stays that end on two threads at the same moment none is retained by the other's end")
    func leavingTogether() throws {
        let (members, pair) = (ConnectionMembers(), try Pair(nil))
        defer { pair.connection.invalidate() }
        for _ in 0..<20 {
            let stays = (0..<2).map { _ in Box<[ConnectionStay]>() }
            for box in stays { box.value = [] }
            for index in 0..<4000 {
                let stay = pair.connection.itemLock.withLock { members.insert(pair.connection) }
                stays[index % 2].value!.append(stay!)
            }
            let ready = Count()
            let threads = try stays.map { stays in
                try System.startThread(stackSize: nil) {
                    ready.up()
                    spin(until: ready.value == 2)
                    while stays.value!.popLast() != nil {}
                }
            }
            for thread in threads { System.join(thread) }
            #expect(members.count == 0)
        }
    }

    @Test("Insertions beside an end: each connection is closed, and those taken are before the end", arguments: 0..<20)
    func insertionsBesideAnEnd(_ round: Int) throws {
        let threads = try (0..<3).map { try LoopThread(name: "server \($0)") }
        let (connections, ended) = (Loop.ConnectionSet(), Count())
        let (taken, closed, made) = (Count(), Count(), Count())
        for thread in threads {
            thread.perform {
                for _ in 0..<20 {
                    let isTaken = Box<Bool>()
                    let pair = try! Pair { _, event in
                        guard case .closed = event else { return }
                        if isTaken.value == true { #expect(ended.value == 0) }
                        closed.up()
                    }
                    Loop.current.add(pair.connection)
                    pair.finish()
                    isTaken.value = connections.insert(pair.connection)
                    if isTaken.value == true { taken.up() }
                    made.up()
                }
            }
        }
        spin(until: made.value >= round)
        connections.end(within: .seconds(Int64.max)) { ended.up() }
        spin(until: closed.value == 60 && ended.value == 1)
        #expect(connections.isEmpty && taken.value <= 60)
    }

    @Test(
        "A thread that exits in the handler of the last event ends the stay",
        .disabled(if: Kernel.hasSanitizer, "what the frames of exited threads hold is leaked"))
    func exitedThread() throws {
        let (connections, ended, pair) = (Loop.ConnectionSet(), Gate(), Box<Pair>())
        pair.value = try Pair { _, event in if case .closed = event { pthread_exit(nil) } }
        connections.insert(pair.value!.connection)
        let thread = try System.startThread(stackSize: nil) {
            let loop = Loop.current
            loop.add(pair.value!.connection)
            connections.end(within: .zero) { ended.open() }
            loop.run(mode: .default, until: .distantFuture)
        }
        System.join(thread)
        #expect(ended.isOpenNow && connections.isEmpty)
    }

    // MARK: Tasks

    @Test("Tasks wait for the end, before it begins and after it is over")
    func awaited() async throws {
        let (thread, connections) = (try LoopThread(), Loop.ConnectionSet())
        let pair = try Pair()
        thread.loop.add(pair.connection)
        connections.insert(pair.connection)
        let early = Task.immediate { try await connections.waitForEnd() }
        connections.end(within: .seconds(1000))
        let late = Task.immediate { try await connections.waitForEnd() }
        #expect(connections.count == 1)
        pair.finish()
        try await early.value
        try await late.value
        #expect(connections.isEmpty)
        try await connections.waitForEnd()
    }

    @Test("A set that only is empty has not ended")
    func emptyIsNoEnd() async throws {
        let (connections, log) = (Loop.ConnectionSet(), Log<String>())
        let pair = try Pair()
        connections.insert(pair.connection)
        let waiter = Task.immediate {
            try await connections.waitForEnd()
            log.add("over")
        }
        pair.connection.invalidate()
        await Task.yield()
        #expect(log.entries == [])
        connections.end(within: .zero) { log.add("end") }
        try await waiter.value
        #expect(log.entries == ["end", "over"])
    }

    @Test("A cancelled task waits no longer, and the set goes on")
    func cancelledWait() async throws {
        let (thread, connections) = (try LoopThread(), Loop.ConnectionSet())
        let pair = try Pair()
        thread.loop.add(pair.connection)
        connections.insert(pair.connection)
        connections.end(within: .seconds(1000))
        let waiters = (0..<2).map { _ in Task.immediate { try await connections.waitForEnd() } }
        waiters[0].cancel()
        await #expect(throws: CancellationError.self) { try await waiters[0].value }
        #expect(pair.connection.isValid && connections.count == 1)
        let cancelled = Task.immediate {
            withUnsafeCurrentTask { $0?.cancel() }
            try await connections.waitForEnd()
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        pair.finish()
        try await waiters[1].value
    }
}
