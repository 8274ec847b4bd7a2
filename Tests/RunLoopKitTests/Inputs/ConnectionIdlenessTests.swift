import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Connections whose peer is idle: see `ConnectionTests`.
@Suite(.timeBound) struct ConnectionIdlenessTests {
    private typealias Connection = Loop.Connection

    /// A connection that logs its events with their times, and its peer's end.
    private final class Scene: @unchecked Sendable {
        let (loop, clock) = Loop.inVirtualTime()
        let ends: Ends
        let log = Log<String>()
        let connection: Connection
        private let start: Loop.Instant

        init(
            _ ends: Ends = .sockets(), hasHandler: Bool = true, writes: Bool = false,
            _ handle: @escaping @Sendable (Connection, Connection.Event) -> Void = { _, _ in }
        ) throws {
            (self.ends, start) = (ends, clock.now)
            connection = try Connection(owning: writes ? ends.writer : ends.reader)
            if writes { ends.isWriterClosed = true } else { ends.isReaderClosed = true }
            guard hasHandler else { return }
            setHandler(handle)
        }

        func setHandler(_ handle: @escaping @Sendable (Connection, Connection.Event) -> Void = { _, _ in }) {
            connection.setHandler { [unowned self] connection, event in
                log.add("\(Self.name(of: event)) at \(time)")
                handle(connection, event)
            }
        }

        private static func name(of event: Connection.Event) -> String {
            switch event {
            case .received(let bytes): "received \(bytes.count)"
            case .closed(let error?): error.advice ?? "\(error)"
            default: "\(event)"
            }
        }

        private var time: Duration { start.duration(to: clock.now) }

        func at(_ seconds: Int, _ body: @escaping @Sendable () -> Void) {
            loop.add(Loop.Timer(after: .seconds(seconds)) { _ in body() })
        }

        func run(for seconds: Int = 100) -> Loop.RunResult { loop.run(mode: .default, for: .seconds(seconds)) }
    }

    private static let idleFor3 = "the peer has sent nothing for 3.0 seconds"

    @Test("A peer that sends nothing for so long is closed, one that sends is not", arguments: [true, false])
    func idlePeer(_ isSetBefore: Bool) throws {
        let scene = try Scene()
        #expect(scene.connection.idleLimit == nil)
        if isSetBefore { scene.connection.idleLimit = .seconds(3) }
        scene.loop.add(scene.connection)
        if !isSetBefore { scene.connection.idleLimit = .seconds(3) }
        #expect(scene.connection.idleLimit == .seconds(3))
        scene.at(2) { [ends = scene.ends] in ends.send("first") }
        scene.at(4) { [ends = scene.ends] in ends.send("second") }
        // What is sent to a peer that takes it does not count.
        scene.at(6) { [connection = scene.connection] in connection.send([1]) }
        #expect(scene.run() == .finished)
        #expect(
            scene.log.entries == [
                "received 5 at 2.0 seconds", "received 6 at 4.0 seconds", "\(Self.idleFor3) at 7.0 seconds",
            ])
        #expect(!scene.connection.isValid && scene.connection.idleLimit == nil)
        scene.connection.idleLimit = .seconds(1)
        #expect(scene.connection.idleLimit == nil)
    }

    @Test("The error of an idle peer names the limit")
    func error() throws {
        let (scene, errors) = (try Scene(hasHandler: false), Log<LoopError>())
        scene.connection.setHandler { _, event in if case .closed(let error?) = event { errors.add(error) } }
        scene.connection.idleLimit = .seconds(3)
        scene.loop.add(scene.connection)
        #expect(scene.run() == .finished)
        let expected = "idleLimit: Connection timed out (ETIMEDOUT); \(Self.idleFor3)"
        #expect(errors.entries.map { "\($0)" } == [expected] && errors.entries.map(\.errno) == [ETIMEDOUT])
        #expect(errors.entries.map(\.isOwnLimit) == [true])
    }

    @Test("What has come while the loop was busy counts, and so does the peer's end", arguments: [true, false])
    func busyLoop(_ sendsBytes: Bool) throws {
        let scene = try Scene { connection, event in if event == .peerFinished { connection.end() } }
        scene.connection.idleLimit = .seconds(3)
        scene.loop.add(scene.connection)
        let (ends, clock) = (scene.ends, scene.clock)
        scene.at(1) {
            if sendsBytes { ends.send("late") } else { finishWriting(ends.writer) }
            clock.advance(by: .seconds(9))
        }
        #expect(scene.run() == .finished)
        let rest =
            sendsBytes
            ? ["received 4 at 10.0 seconds", "\(Self.idleFor3) at 13.0 seconds"]
            : ["peerFinished at 10.0 seconds", "closed(nil) at 10.0 seconds"]
        #expect(scene.log.entries == rest)
    }

    @Test("A handler that takes long, or runs the loop, leaves the peer its time", arguments: [true, false])
    func longHandler(_ runsLoop: Bool) throws {
        let used = Log<VirtualClock>()
        let scene = try Scene { connection, event in
            guard case .received = event else { return }
            if runsLoop {
                connection.firstPlace!.loop.run(mode: .default, for: .seconds(8))
            } else {
                used.entries[0].advance(by: .seconds(8))
            }
        }
        used.add(scene.clock)
        scene.connection.idleLimit = .seconds(9)
        scene.loop.add(scene.connection)
        scene.at(5) { [ends = scene.ends] in ends.send("x") }
        #expect(scene.run() == .finished)
        #expect(
            scene.log.entries == [
                "received 1 at 5.0 seconds", "the peer has sent nothing for 9.0 seconds at 22.0 seconds",
            ])
    }

    @Test("A limit that the handler sets counts from its return")
    func setInHandler() throws {
        let used = Log<VirtualClock>()
        let scene = try Scene { connection, event in
            guard case .received = event else { return }
            connection.idleLimit = .seconds(3)
            used.entries[0].advance(by: .seconds(8))
        }
        used.add(scene.clock)
        scene.loop.add(scene.connection)
        scene.at(5) { [ends = scene.ends] in ends.send("x") }
        #expect(scene.run() == .finished)
        #expect(scene.log.entries == ["received 1 at 5.0 seconds", "\(Self.idleFor3) at 16.0 seconds"])
    }

    @Test("A connection that does not receive waits for nothing, and counts from when it does")
    func paused() throws {
        let scene = try Scene()
        let connection = scene.connection
        connection.idleLimit = .seconds(3)
        connection.isReceiving = false
        scene.loop.add(connection)
        scene.at(50) { connection.isReceiving = true }
        #expect(scene.run() == .finished)
        #expect(scene.log.entries == ["\(Self.idleFor3) at 53.0 seconds"])
    }

    @Test("A peer that takes nothing of what waits is idle, even while the connection does not receive")
    func takesNothing() throws {
        let scene = try Scene()
        let (connection, ends) = (scene.connection, scene.ends)
        connection.idleLimit = .seconds(3)
        connection.isReceiving = false
        scene.loop.add(connection)
        scene.at(10) { connection.send([UInt8](repeating: 1, count: 32_000_000)) }
        // It takes some.
        scene.at(12) { _ = readText(ends.writer, 1_000_000) }
        #expect(scene.run() == .finished)
        let count = connection.droppedByteCount
        #expect(count > 0)
        let text = "the peer has taken nothing for 3.0 seconds, and \(count) bytes were dropped"
        #expect(scene.log.entries == ["\(text) at 15.0 seconds"])
    }

    @Test("A writer to a pipe is idle only while something waits")
    func pipe() throws {
        let scene = try Scene(.pipe(), writes: true)
        let (connection, ends) = (scene.connection, scene.ends)
        connection.idleLimit = .seconds(3)
        scene.loop.add(connection)
        scene.at(50) {
            while write(connection.descriptor, "x", 1) == 1 {}
            connection.send([1, 2])
        }
        #expect(scene.run() == .finished)
        let text = "the peer has taken nothing for 3.0 seconds, and 2 bytes were dropped"
        #expect(scene.log.entries == ["\(text) at 53.0 seconds"])
        withExtendedLifetime(ends) {}
    }

    @Test("Without a handler nobody is idle; the first one lets the time begin")
    func withoutHandler() throws {
        let scene = try Scene(hasHandler: false)
        scene.connection.idleLimit = .seconds(3)
        scene.loop.add(scene.connection)
        #expect(scene.run(for: 50) == .timedOut && scene.connection.isValid)
        scene.setHandler()
        #expect(scene.run() == .finished)
        #expect(scene.log.entries == ["\(Self.idleFor3) at 53.0 seconds"])
    }

    @Test("A limit that is set begins anew, and none takes it away")
    func setAgain() throws {
        let scene = try Scene()
        let connection = scene.connection
        scene.loop.add(connection)
        connection.idleLimit = .seconds(3)
        scene.at(2) { connection.idleLimit = .seconds(3) }
        scene.at(4) { connection.idleLimit = nil }
        scene.at(40) { connection.idleLimit = .seconds(5) }
        #expect(scene.run(for: 30) == .timedOut && connection.idleLimit == nil)
        #expect(scene.run() == .finished)
        #expect(scene.log.entries == ["the peer has sent nothing for 5.0 seconds at 45.0 seconds"])
    }

    @Test("Limits at the ends of time", arguments: [Duration.zero, .seconds(-1), .nanoseconds(1), .seconds(Int64.max)])
    func extremes(_ limit: Duration) throws {
        let scene = try Scene()
        scene.ends.send("x")
        scene.connection.idleLimit = limit
        #expect(scene.connection.idleLimit == limit)
        scene.loop.add(scene.connection)
        let isEndless = limit > .seconds(1)
        #expect(scene.run() == (isEndless ? .timedOut : .finished))
        #expect(scene.log.entries.count == (isEndless ? 1 : 2) && scene.connection.isValid == isEndless)
        // A connection that waits for nothing does not keep the loop busy.
        let paused = try Scene()
        paused.connection.isReceiving = false
        paused.connection.idleLimit = limit
        paused.loop.add(paused.connection)
        #expect(paused.run() == .timedOut && paused.log.entries == [])
    }

    @Test("The limit goes with the connection into other modes and loops", arguments: [true, false])
    func moves(_ toOtherLoop: Bool) throws {
        let scene = try Scene()
        let other = toOtherLoop ? Loop(clock: scene.clock) : scene.loop
        scene.connection.idleLimit = .seconds(3)
        scene.loop.add(scene.connection)
        #expect(scene.run(for: 2) == .timedOut)
        scene.loop.remove(scene.connection)
        #expect(scene.run() == .finished, "nothing is left in the mode")
        other.add(scene.connection, in: "other")
        #expect(other.run(mode: "other", for: .seconds(100)) == .finished)
        #expect(scene.log.entries == ["\(Self.idleFor3) at 5.0 seconds"])
    }

    @Test("In the common modes it counts in each")
    func commonModes() throws {
        let scene = try Scene()
        scene.loop.addCommonMode("common too")
        scene.connection.idleLimit = .seconds(3)
        scene.loop.add(scene.connection, in: .common)
        #expect(scene.loop.run(mode: "common too", for: .seconds(100)) == .finished)
        #expect(scene.log.entries == ["\(Self.idleFor3) at 3.0 seconds"])
    }

    @Test("An end whose peer stays is closed by the limit, too, and leaves its set")
    func end() throws {
        let (scene, connections) = (try Scene(), Loop.ConnectionSet())
        scene.connection.idleLimit = .seconds(3)
        scene.loop.add(scene.connection)
        connections.insert(scene.connection)
        scene.at(2) { [connection = scene.connection] in connection.end() }
        #expect(scene.run() == .finished && connections.isEmpty)
        #expect(scene.log.entries == ["\(Self.idleFor3) at 3.0 seconds"])
    }

    @Test("The limit of a connection of the background keeps no run going, and an invalid one has none")
    func leavesNothing() throws {
        let scene = try Scene()
        scene.connection.keepsRunsGoing = false
        scene.connection.idleLimit = .seconds(3)
        scene.loop.add(scene.connection)
        #expect(scene.loop.runUntilFinished() == .finished && scene.connection.isValid)
        scene.connection.invalidate()
        #expect(scene.run() == .finished && scene.log.entries == [])

        let ends = Ends.sockets()
        var released: Connection? = try Connection(owning: ends.reader) { _, _ in }
        ends.isReaderClosed = true
        released?.idleLimit = .seconds(3)
        scene.loop.add(released!)
        scene.loop.remove(released!)
        released = nil
        #expect(scene.run() == .finished)
    }

    @Test("A connection that is not made in time is closed")
    func notConnected() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let socket = try System.listen(at: .four([127, 0, 0, 1], 0), "", backlog: 1, sharesPort: false)
        let listener = try Loop.Listener(owning: socket) { _, _ in }
        let address = listener.address!
        // Once its queue is full, the kernel does not answer any more.
        let others = try (0..<4).map { _ in try Connection(connectingTo: address) }
        let (log, start) = (Log<String>(), clock.now)
        let connection = try Connection(connectingTo: address) { _, event in
            if case .closed(let error?) = event { log.add("\(error.advice ?? "") at \(start.duration(to: clock.now))") }
        }
        connection.idleLimit = .seconds(3)
        loop.add(connection)
        #expect(loop.run(mode: .default, for: .seconds(100)) == .finished)
        #expect(log.entries == ["it was not connected for 3.0 seconds at 3.0 seconds"])
        for other in others { other.invalidate() }
        listener.invalidate()
    }
}
