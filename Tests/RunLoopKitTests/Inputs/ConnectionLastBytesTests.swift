import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// What lies in the kernel when the period of a connection that receives on is over. See `ConnectionFinishTests`.
@Suite(.timeBound) struct ConnectionLastBytesTests {
    /// What carries the bytes.
    enum Carrier: CaseIterable, Sendable {
        case unix, tcp, pipe

        var ends: Ends {
            switch self {
            case .unix: .sockets()
            case .tcp: .connection()
            case .pipe: .pipe()
            }
        }

        /// How many bytes the kernel takes at once; over a Unix socket, more than one read gets.
        var count: Int { self == .unix ? 150_000 : 50_000 }
    }

    /// A connection, its peer, and what it reports.
    private final class Scene: @unchecked Sendable {
        let loop = Loop.inVirtualTime().0
        let carrier: Carrier
        let ends: Ends
        let connection: Loop.Connection

        // Of the loop's thread.
        private(set) var accepted = 0
        private(set) var received = 0
        private(set) var ending: [Loop.Connection.Event] = []
        private(set) var refusal: Int32?
        var onBytes: (Scene) -> Void = { _ in }

        init(_ carrier: Carrier = .unix) throws {
            (self.carrier, ends) = (carrier, carrier.ends)
            connection = try Loop.Connection(owning: ends.reader)
            ends.isReaderClosed = true
            loop.add(connection)
        }

        func handle() {
            connection.setHandler { [unowned self] _, event in
                guard case .received(let bytes) = event else { return ending.append(event) }
                #expect(ending == [])
                received += bytes.count
                onBytes(self)
            }
        }

        /// The peer sends, and counts what its call accepts.
        func send(_ count: Int) {
            let bytes = [UInt8](repeating: 7, count: count)
            switch bytes.withUnsafeBytes({ System.send($0, to: ends.writer, isSocket: carrier != .pipe) }) {
            case .count(let count): accepted += count
            case .nothing: break
            case .failed(let error): refusal = error.errno
            }
        }

        /// Fills the connection, and ends it before it reads.
        func endWithBytes() {
            send(carrier.count)
            // Over TCP it takes a moment.
            spin(until: self.connection.unreadByteCount == self.accepted)
            #expect(connection.finishSending(within: .zero))
        }

        func run() { #expect(loop.run(mode: .default, for: .seconds(100)) == .finished) }

        /// Nil unless the connection was closed after its period.
        var missing: String? {
            guard case .closed(let error?) = ending.last, error.isOwnLimit, error.errno == ETIMEDOUT else { return nil }
            return error.advice
        }
    }

    @Test("What has arrived by the end of the period is received", arguments: Carrier.allCases)
    func received(_ carrier: Carrier) throws {
        let scene = try Scene(carrier)
        scene.handle()
        scene.endWithBytes()
        scene.run()
        #expect(scene.received == carrier.count && scene.connection.ignoredByteCount == 0)
        #expect(scene.ending.count == 1 && scene.missing == "the peer has not finished")
    }

    @Test("Of a peer that goes on, a Unix socket loses nothing, and others say what", arguments: Carrier.allCases)
    func goesOn(_ carrier: Carrier) throws {
        let scene = try Scene(carrier)
        scene.handle()
        scene.onBytes = { scene in
            scene.send(100)
            if carrier == .tcp { spin(until: scene.connection.unreadByteCount >= 100) }
        }
        scene.endWithBytes()
        scene.run()
        #expect(scene.accepted - scene.received == scene.connection.ignoredByteCount)
        #expect(scene.refusal == (carrier == .unix ? EPIPE : nil))
        #expect(scene.connection.ignoredByteCount == (carrier == .unix ? 0 : 100))
        let more = carrier == .unix ? "" : ", and 100 of the peer's were not read"
        #expect(scene.ending.count == 1 && scene.missing == "the peer has not finished\(more)")
    }

    @Test("A peer that has finished by the end of the period has finished in time", arguments: Carrier.allCases)
    func finished(_ carrier: Carrier) throws {
        let scene = try Scene(carrier)
        scene.handle()
        scene.endWithBytes()
        scene.ends.closeWriter()
        // A program that another test starts keeps the other end open until its exec.
        let end: PollEvents = [.readHangUp, .hangUp]
        spin(until: !System.readiness(of: scene.connection.descriptor, for: end).isDisjoint(with: end))
        scene.run()
        #expect(scene.received == carrier.count && scene.ending == [.peerFinished, .closed(nil)])
    }

    @Test("What the handler does not receive at the end is counted")
    func paused() throws {
        let scene = try Scene()
        scene.handle()
        scene.onBytes = { $0.connection.isReceiving = false }
        scene.endWithBytes()
        scene.run()
        let left = scene.accepted - scene.received
        #expect(scene.received > 0 && left > 0 && scene.connection.ignoredByteCount == left)
        #expect(scene.missing == "it did not receive, and \(left) of the peer's were not read")

        let ended = try Scene()
        ended.handle()
        ended.onBytes = { $0.connection.end() }
        ended.endWithBytes()
        ended.run()
        #expect(ended.received == scene.received && ended.connection.ignoredByteCount == left)
        #expect(ended.missing != nil)
    }

    @Test("Without a handler nothing is received at the end, but counted")
    func withoutHandler() throws {
        let scene = try Scene()
        scene.endWithBytes()
        scene.run()
        #expect(!scene.connection.isValid && scene.connection.ignoredByteCount == scene.accepted)
    }

    @Test("A connection that its handler removes or invalidates at the end reports nothing more", arguments: [0, 1])
    func leaves(_ way: Int) throws {
        let scene = try Scene()
        scene.handle()
        scene.onBytes = { scene in
            if way == 0 { scene.connection.invalidate() } else { scene.loop.remove(scene.connection) }
        }
        scene.endWithBytes()
        scene.run()
        #expect(!scene.connection.isValid && scene.ending == [] && scene.received < scene.accepted)
    }

    @Test("A handler that runs the loop gets the last bytes there, and the end once", arguments: Carrier.allCases)
    func nested(_ carrier: Carrier) throws {
        let scene = try Scene(carrier)
        scene.handle()
        scene.onBytes = { scene in
            scene.onBytes = { _ in }
            // Another period, too.
            scene.connection.finishSending(within: .zero)
            scene.loop.run(mode: .default, for: .seconds(1))
            #expect(scene.received == scene.accepted)
        }
        scene.endWithBytes()
        scene.run()
        #expect(scene.ending.count == 1 && scene.missing == "the peer has not finished")
    }

    @Test("In a nested run the end of a stopped peer closes the connection, and does not keep the loop busy")
    func nestedWithoutPeriod() throws {
        let scene = try Scene()
        scene.handle()
        scene.onBytes = { scene in
            scene.onBytes = { _ in }
            let waits = scene.loop.counters.waits
            #expect(scene.loop.run(mode: .default, for: .seconds(100)) == .finished)
            #expect(scene.received == scene.accepted && scene.ending.count == 1)
            #expect(scene.loop.counters.waits - waits < 10)
        }
        scene.endWithBytes()
        scene.run()
        #expect(scene.missing == "the peer has not finished")
    }

    @Test("Lines that lie in the kernel are reported, with the last one")
    func lines() throws {
        let (loop, log, ends) = (Loop(clock: VirtualClock()), Log<String>(), Ends.sockets())
        let connection = try Loop.Connection(owning: ends.reader)
        ends.isReaderClosed = true
        connection.setLineHandler { connection, line in
            log.add(line?.text ?? "the end, \(connection.ignoredByteCount) bytes are lost")
        }
        loop.add(connection)
        ends.send("a\nb\npart")
        connection.finishSending(within: .zero)
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == ["a", "b", "part", "the end, 0 bytes are lost"])
    }

    @Test("A client that was connected by the end of the period receives, though no pass has noticed it")
    func connectedUnnoticed() throws {
        let (loop, _) = Loop.inVirtualTime()
        let (log, servers) = (Log<Loop.Connection.Event>(), Log<Loop.Connection>())
        let listener = try Loop.Listener(.unix("\0last-bytes-\(getpid())")) { _, server in servers.add(server) }
        let client = try Loop.Connection(connectingTo: .unix("\0last-bytes-\(getpid())")) { log.add($1) }
        listener.end()
        defer { for server in servers.entries { server.invalidate() } }
        #expect(servers.entries.first?.send("hello") == true && client.unreadByteCount == 5)
        loop.add(client)
        #expect(client.finishSending(within: .zero))
        #expect(loop.run(mode: .default, for: .seconds(100)) == .finished)
        #expect(log.entries.prefix(2) == [.connected, .received(Array("hello".utf8))])
        #expect(log.entries.count == 3 && client.ignoredByteCount == 0)
    }

    @Test("A named pipe that is opened again does not hold up the end")
    func reopenedPipe() throws {
        let path = "\(NSTemporaryDirectory())/last-bytes-\(getpid())"
        #expect(mkfifo(path, 0o600) == 0)
        defer { Glibc.unlink(path) }
        let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let writers = Log<Int32>()
        @Sendable func write() {
            if writers.entries.count < 100 { writers.add(open(path, O_WRONLY | O_CLOEXEC)) }
            #expect(Glibc.write(writers.entries.last!, "0123456789", 10) == 10)
        }
        write()
        close(writers.entries[0])
        defer { for writer in writers.entries.dropFirst() { close(writer) } }
        let (loop, _) = Loop.inVirtualTime()
        let connection = try Loop.Connection(owning: reader) { _, event in if case .received = event { write() } }
        loop.add(connection)
        #expect(connection.finishSending(within: .zero))
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(writers.entries.count < 5)
    }

    @Test("What the kernel does not count is read once")
    func uncounted() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let connection = try Loop.Connection(owning: eventfd(1, 0)) { connection, event in
            guard case .received(let bytes) = event else { return }
            log.add(bytes.count)
            // It is readable again.
            var one: UInt64 = 1
            write(connection.descriptor, &one, 8)
        }
        loop.add(connection)
        #expect(connection.finishSending(within: .zero))
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(log.entries == [8])
    }

    @Test("A set loses nothing of a client that comes after the end of the period")
    func lateInSet() throws {
        let connections = Loop.ConnectionSet()
        connections.finishSending(within: .zero)
        let scene = try Scene()
        scene.handle()
        scene.send(scene.carrier.count)
        #expect(!connections.insert(scene.connection))
        scene.run()
        #expect(scene.received == scene.accepted && scene.connection.ignoredByteCount == 0)
    }
}
