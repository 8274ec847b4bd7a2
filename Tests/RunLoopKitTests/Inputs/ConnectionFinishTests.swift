import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Connections that finish, and receive until their peers do: alone, and in a set.
@Suite(.timeBound) struct ConnectionFinishTests {
    /// A loop in virtual time, a connection there, and what it reports.
    private final class Scene: @unchecked Sendable {
        let (loop, clock) = Loop.inVirtualTime()
        let connections = Loop.ConnectionSet()
        let log = Log<String>()
        let ends = Ends.sockets()
        private(set) var connection: Loop.Connection!

        init() throws { connection = try make(ends, "") }

        func make(_ ends: Ends, _ name: String) throws -> Loop.Connection {
            let (log, clock) = (log, clock)
            let connection = try Loop.Connection(owning: ends.reader) { _, event in
                let text =
                    switch event {
                    case .received(let bytes): String(decoding: bytes, as: UTF8.self)
                    default: "\(event)"
                    }
                log.add("\(clock.now.nanoseconds / 1_000_000_000): \(name)\(text)")
            }
            ends.isReaderClosed = true
            loop.add(connection)
            return connection
        }

        func after(_ seconds: Int64, _ body: @escaping @Sendable () -> Void) {
            loop.perform(after: .seconds(seconds), body)
        }

        func run() { #expect(loop.run(mode: .default, for: .seconds(100)) == .finished) }
    }

    private static let late = "closed(Optional(finishSending(within:): Connection timed out (ETIMEDOUT); "

    @Test("A connection that finishes within a period receives until its peer has finished")
    func peerFinishes() throws {
        let scene = try Scene()
        scene.connection.send("last")
        #expect(scene.connection.finishSending(within: .seconds(3)) && !scene.connection.send("no more"))
        scene.after(1) { [ends = scene.ends] in ends.send("late") }
        scene.after(2) { [ends = scene.ends] in finishWriting(ends.writer) }
        scene.run()
        #expect(scene.log.entries == ["1: late", "2: peerFinished", "2: closed(nil)"])
        #expect(readText(scene.ends.writer) == "last" && scene.connection.ignoredByteCount == 0)
    }

    @Test("After the period it is closed, and what was not received is counted", arguments: [true, false])
    func periodIsOver(_ isReceiving: Bool) throws {
        let scene = try Scene()
        scene.connection.isReceiving = isReceiving
        #expect(scene.connection.finishSending(within: .seconds(3)))
        scene.after(1) { [ends = scene.ends] in ends.send("late") }
        scene.run()
        let reports =
            isReceiving
            ? ["1: late", "3: \(Self.late)the peer has not finished))"]
            : ["3: \(Self.late)it did not receive, and 4 of the peer's were not read))"]
        #expect(scene.log.entries == reports && scene.connection.ignoredByteCount == (isReceiving ? 0 : 4))
    }

    @Test("A set finishes its connections, and receives from one that comes later, too")
    func set() throws {
        let scene = try Scene()
        let others = [Ends.sockets(), Ends.sockets()]
        scene.connections.insert(scene.connection)
        scene.connections.insert(try scene.make(others[0], "second "))
        scene.connections.finishSending(within: .seconds(3)) { [log = scene.log] in log.add("end") }
        #expect(!scene.connections.insert(try scene.make(others[1], "third ")))
        scene.after(1) { [ends = scene.ends] in for ends in others + [ends] { ends.send("late") } }
        scene.after(2) { [ends = scene.ends] in for ends in [ends, others[1]] { finishWriting(ends.writer) } }
        scene.run()
        let log = scene.log.entries
        #expect(Set(log.prefix(3)) == ["1: late", "1: second late", "1: third late"])
        let ends = ["2: peerFinished", "2: closed(nil)", "2: third peerFinished", "2: third closed(nil)"]
        #expect(Set(log[3..<7]) == Set(ends))
        #expect(log[7...] == ["3: second \(Self.late)the peer has not finished))", "end"])
    }

    @Test("After another end of the set, one that receives on only shortens the period", arguments: [true, false])
    func afterEnd(_ isFirst: Bool) throws {
        let scene = try Scene()
        scene.connections.insert(scene.connection)
        if isFirst { scene.connections.end(within: .seconds(5)) }
        scene.connections.finishSending(within: .seconds(3))
        if !isFirst { scene.connections.end(within: .seconds(5)) }
        scene.after(1) { [ends = scene.ends] in ends.send("late") }
        scene.run()
        #expect(scene.log.entries.count == 1 && scene.log.entries[0].hasPrefix("3: closed(Optional(end(within:)"))
        #expect(scene.connection.ignoredByteCount == 4)
    }

    @Test("An end that receives on takes no answer away that another one has promised", arguments: [true, false])
    func answersAfterBothEnds(_ isSet: Bool) throws {
        let scene = try Scene()
        scene.connection.setHandler { connection, event in
            if case .received = event { #expect(connection.send("answer")) }
        }
        scene.connections.insert(scene.connection)
        scene.ends.send("question")
        scene.connections.end(within: .seconds(5))
        if isSet {
            scene.connections.finishSending(within: .seconds(3))
        } else {
            scene.connections.insert(scene.connection)
        }
        scene.loop.run(mode: .default, for: .zero)
        #expect(readText(scene.ends.writer) == "answer")
        scene.connection.invalidate()
    }

    @Test("What has arrived and was not received is counted")
    func unread() throws {
        let scene = try Scene()
        #expect(scene.connection.unreadByteCount == 0)
        scene.ends.send("first")
        #expect(scene.connection.unreadByteCount == 5)
        scene.loop.run(mode: .default, for: .zero)
        #expect(scene.connection.unreadByteCount == 0)
        scene.ends.send("second")
        scene.connection.invalidate()
        #expect(scene.connection.unreadByteCount == 0)

        // A pipe that only sends has room, and nothing to receive.
        let pipe = Ends.pipe()
        let writer = try Loop.Connection(owning: pipe.writer) { _, _ in }
        pipe.isWriterClosed = true
        #expect(writer.send("sent") && writer.unreadByteCount == 0)
        writer.invalidate()
    }
}
