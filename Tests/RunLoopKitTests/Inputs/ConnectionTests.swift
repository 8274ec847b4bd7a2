import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Connections between two ends of this process. Sockets of one kind are pairs, in which a byte that was sent has
/// arrived. Over TCP it arrives a moment later, so those tests run a loop in real time until an event stops it.
@Suite(.timeBound) struct ConnectionTests {
    private typealias Connection = Loop.Connection
    private typealias Event = Loop.Connection.Event

    @Test("What is sent comes back, and both ends close", arguments: [Transport.pair, .tcp])
    func echo(_ transport: Transport) throws {
        try onThreadOfItsOwn {
            let (loop, ends, log) = (Loop.current, try transport.connect(), Log<Event>())
            let server = try Connection(owning: ends.reader) { server, event in
                switch event {
                case .received(let bytes): #expect(server.send(bytes))
                case .peerFinished: server.end()
                case .closed(let error): #expect(error == nil)
                case .connected, .drained: Issue.record("\(event)")
                }
            }
            let client = try Connection(owning: ends.writer) { _, event in
                log.add(event)
                if case .closed = event { Loop.current.stop() }
            }
            (ends.isReaderClosed, ends.isWriterClosed) = (true, true)
            loop.add(server)
            loop.add(client)
            #expect(client.send(Array("hel".utf8)) && client.send([]) && client.send(Array("lo".utf8)))
            client.finishSending()
            #expect(!client.send([1]))
            loop.run()
            loop.run(mode: .default, for: .zero)
            #expect(log.entries.text == "hello" && log.entries.others == [.peerFinished, .closed(nil)])
            #expect(!server.isValid && !client.isValid && client.pendingByteCount == 0)
        }
    }

    @Test("A slow reader slows the sender, and gets all in order", arguments: [Transport.pair, .tcp, .pipe])
    func slowReader(_ transport: Transport) throws {
        try onThreadOfItsOwn {
            let (loop, ends) = (Loop.current, try transport.connect(bufferSize: 16 * 1024))
            let (sent, received) = (Log<Event>(), Log<Event>())
            let sender = try Connection(owning: ends.writer) { _, event in sent.add(event) }
            let reader = try Connection(owning: ends.reader) { reader, event in
                received.add(event)
                if case .peerFinished = event { reader.finishSending() }
                if case .closed = event { Loop.current.stop() }
            }
            (ends.isReaderClosed, ends.isWriterClosed) = (true, true)
            reader.isReceiving = false
            loop.add(sender)
            loop.add(reader)
            let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
            for start in stride(from: 0, to: bytes.count, by: 100_000) {
                #expect(sender.send(Array(bytes[start..<start + 100_000])))
            }
            let pending = sender.pendingByteCount
            #expect(pending > 0 && pending < bytes.count)
            loop.run(mode: .default, for: .zero)
            #expect(sent.entries.isEmpty && received.entries.isEmpty && sender.pendingByteCount > 0)
            reader.isReceiving = true
            sender.finishSending()
            loop.run()
            #expect(received.entries.bytes == bytes)
            #expect(received.entries.others == [.peerFinished, .closed(nil)])
            loop.run(mode: .default, for: .zero)
            #expect(sent.entries.filter { $0 == .drained }.count == 1)
            #expect(sender.pendingByteCount == 0)
        }
    }

    @Test("Each half of a connection ends alone, and an ended half costs nothing")
    func halfClose() throws {
        let scene = try Scene()
        scene.ends.send("a")
        finishWriting(scene.ends.writer)
        #expect(scene.run() == [.received(Array("a".utf8)), .peerFinished])
        let waits = scene.loop.counters.waits
        #expect(scene.run() == [])
        #expect(scene.loop.counters.waits - waits <= 3, "nothing keeps the loop busy")
        #expect(scene.connection.send(Array("b".utf8)) && scene.take() == "b")
        scene.connection.finishSending()
        scene.connection.finishSending()
        #expect(!scene.connection.send([1]) && scene.take() == "")
        #expect(scene.run() == [.closed(nil)])
        #expect(scene.run() == [] && !scene.connection.isValid)

        let other = try Scene()
        other.connection.finishSending()
        #expect(other.take() == "" && other.run() == [])
        other.ends.send("c")
        #expect(other.run() == [.received(Array("c".utf8))])
        other.hangUp()
        #expect(other.run() == [.peerFinished, .closed(nil)])
    }

    @Test("A peer that has closed is an error where something was to be sent, after what it had sent")
    func brokenPipe() throws {
        for paused in [false, true] {
            let scene = try Scene()
            scene.ends.send("bye")
            scene.hangUp()
            scene.connection.isReceiving = !paused
            #expect(scene.run(0) == [])
            #expect(!scene.connection.send([1]) && !scene.connection.send([2]))
            let events = scene.run()
            #expect(events.text == (paused ? "" : "bye"))
            #expect(events.others.count == 1 && events.error?.errno == EPIPE)
            #expect(events.error.map { "\($0)".contains("EPIPE") } == true)
            #expect(scene.run() == [])
        }
        // What waits is dropped.
        let scene = try Scene()
        while scene.connection.pendingByteCount == 0 { scene.connection.send([UInt8](repeating: 0, count: 50_000)) }
        scene.hangUp()
        let events = scene.run()
        #expect(events.count == 1 && (events.error?.errno == EPIPE || events.error?.errno == ECONNRESET))
        #expect(scene.connection.pendingByteCount == 0)
    }

    @Test("A connection that the peer resets has failed", arguments: [Transport.pair, .tcp])
    func reset(_ transport: Transport) throws {
        try onThreadOfItsOwn {
            let (loop, ends, log) = (Loop.current, try transport.connect(), Log<Event>())
            let connection = try Connection(owning: ends.reader) { _, event in
                log.add(event)
                Loop.current.stop()
            }
            ends.isReaderClosed = true
            loop.add(connection)
            #expect(connection.send([1]))
            spin(until: System.isReadable(ends.writer))
            ends.hangUp()  // It leaves the byte unread.
            loop.run()
            #expect(log.entries.count == 1 && log.entries.error?.errno == ECONNRESET)
        }
    }

    @Test("What four threads send arrives whole, and in each one's order")
    func manySenders() async throws {
        let (thread, ends, log) = (try LoopThread(name: "receiver"), Ends.sockets(), Log<Event>())
        let (closed, lines) = (Gate(), 60)
        let receiver = try Connection(owning: ends.reader) { _, event in
            log.add(event)
            if case .peerFinished = event { closed.open() }
        }
        let sender = try Connection(owning: ends.writer) { _, _ in }
        (ends.isReaderClosed, ends.isWriterClosed) = (true, true)
        thread.loop.add(receiver)
        thread.loop.add(sender)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask {
                    for line in 0..<lines {
                        let padding = String(repeating: "x", count: 1000 - "\(line)".count)
                        #expect(sender.send(Array("\(number) \(line) \(padding)\n".utf8)))
                    }
                }
            }
        }
        sender.finishSending()
        await eventually(closed.isOpenNow)
        let words = log.entries.text.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(words.count == 4 * lines && words.allSatisfy { $0.count == 3 })
        let inOrder: [String] = (0..<lines).map { "\($0)" }
        for number in 0..<4 {
            let own = words.filter { $0[0] == "\(number)" }.map { String($0[1]) }
            #expect(own == inOrder)
        }
        receiver.invalidate()
        sender.invalidate()
    }

    @Test("Invalidated in its handler, a connection reports nothing more, and drops what waits")
    func invalidatedInHandler() throws {
        let scene = try Scene { connection, _ in
            while connection.pendingByteCount == 0 { connection.send([UInt8](repeating: 0, count: 50_000)) }
            connection.invalidate()
            connection.invalidate()
            #expect(!connection.send([1]) && connection.pendingByteCount == 0 && connection.peerAddress == nil)
            connection.end()
            connection.finishSending()
        }
        scene.ends.send("a")
        #expect(scene.run() == [.received(Array("a".utf8))])
        scene.ends.waitUntilReaderIsGone()
        #expect(!scene.loop.contains(scene.connection) && scene.run() == [])
    }

    @Test("An orderly end sends what waits, drops what comes, and closes when the peer has")
    func orderlyEnd() throws {
        let scene = try Scene(bufferSize: 4096)
        let bytes = [UInt8](repeating: 7, count: 100_000)
        #expect(scene.connection.send(bytes) && scene.connection.pendingByteCount > 0)
        scene.connection.end()
        scene.connection.end()
        #expect(!scene.connection.send([1]))
        scene.ends.send("too late")
        var count = 0
        while let text = scene.take(65536), text != "" {
            count += text.utf8.count
            scene.collect()
        }
        #expect(count == bytes.count && scene.run() == [.drained])
        scene.ends.send("and later")
        #expect(scene.run() == [])
        scene.hangUp()
        #expect(scene.run() == [.closed(nil)])
    }

    @Test("A connection that is released or invalidated closes its descriptor, wherever it is")
    func descriptors() throws {
        for end in 0..<4 {
            let scene = try Scene()
            switch end {
            case 0: scene.connection.invalidate()
            case 1: scene.loop.remove(scene.connection)
            case 2: scene.connection.end()
            default: break
            }
            if end == 2 {
                finishWriting(scene.ends.writer)
                #expect(scene.run() == [.closed(nil)])
            }
            if end == 3 { scene.loop.end() }
            scene.forget()
            scene.ends.waitUntilReaderIsGone()
        }
    }

    @Test("The reading end of a pipe ends with the data, and costs nothing while it waits")
    func readingEnd() throws {
        let scene = try Scene(.pipe()) { _, _ in }
        #expect(!scene.connection.send([1]) && scene.run() == [])
        scene.ends.send("a")
        scene.connection.end()
        scene.hangUp()
        #expect(scene.run() == [.closed(nil)])
        let other = try Scene(.pipe())
        other.ends.send("b")
        other.hangUp()
        #expect(other.run() == [.received(Array("b".utf8)), .peerFinished, .closed(nil)])
    }

    @Test("The writing end of a pipe notices that no process reads, without SIGPIPE")
    func writingEnd() throws {
        let log = Log<Event>()
        let loop = Loop.inVirtualTime().0
        func connect() throws -> (Ends, Connection) {
            let ends = Ends.pipe()
            let connection = try Connection(owning: ends.writer) { _, event in log.add(event) }
            ends.isWriterClosed = true
            loop.add(connection)
            return (ends, connection)
        }
        let (idle, idleConnection) = try connect()
        #expect(idleConnection.send(Array("a".utf8)) && idle.take() == "a")
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries.isEmpty)
        idle.stopReading()
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries.count == 1 && log.entries.error?.errno == EPIPE)

        let (busy, busyConnection) = try connect()
        busy.stopReading()
        #expect(!busyConnection.send([1]))
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries.count == 2 && log.entries.error?.errno == EPIPE)

        let (ended, endedConnection) = try connect()
        endedConnection.send(Array("b".utf8))
        endedConnection.finishSending()
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries.count == 3 && log.entries.last == .closed(nil))
        #expect(ended.take() == "b")
        ended.waitUntilWriterIsGone()
    }

    @Test("Without a handler everything waits in the kernel")
    func handlerSetLater() throws {
        let (loop, ends, log) = (Loop.inVirtualTime().0, Ends.sockets(), Log<Event>())
        let connection = try Connection(owning: ends.reader, label: "late")
        ends.isReaderClosed = true
        loop.add(connection)
        ends.send("a")
        ends.hangUp()
        #expect(loop.run(mode: .default, for: .seconds(1)) == .timedOut)
        #expect("\(connection)".contains("no handler is set (receives)"))
        #expect(connection.setHandler { _, event in log.add(event) })
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == [.received(Array("a".utf8)), .peerFinished])
        connection.setHandler { _, event in log.add(.drained) }
        connection.finishSending()
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries.count == 3 && !connection.setHandler { _, _ in })
    }

    @Test("While it pauses, a connection receives nothing, and a hang-up keeps no loop busy")
    func pausing() throws {
        let scene = try Scene { connection, event in
            if case .received = event { connection.isReceiving = false }
        }
        scene.ends.send("a")
        #expect(scene.run() == [.received(Array("a".utf8))])
        scene.ends.send("b")
        scene.hangUp()
        let waits = scene.loop.counters.waits
        #expect(scene.run() == [] && !scene.connection.isReceiving)
        #expect(scene.loop.counters.waits - waits <= 3)
        scene.connection.isReceiving = true
        #expect(scene.run() == [.received(Array("b".utf8))])
        scene.connection.isReceiving = true
        #expect(scene.run() == [.peerFinished])
    }

    @Test("A connection in several modes is called once for what arrives, in nested runs too")
    func modes() throws {
        let scene = try Scene { connection, event in
            guard case .received = event else { return }
            Loop.current.run(mode: "inner", for: .seconds(1))
        }
        scene.loop.add(scene.connection, in: "inner")
        scene.ends.send("a")
        #expect(scene.run() == [.received(Array("a".utf8))])
        scene.ends.send(String(repeating: "b", count: 60_000))
        #expect(scene.run().text.count == 60_000)
    }

    @Test("What is no stream is refused, and stays the caller's")
    func refusals() throws {
        func refusal(_ descriptor: Int32) -> Int32? {
            do throws(LoopError) {
                _ = try Connection(owning: descriptor)
                return nil
            } catch { return error.errno }
        }
        #expect(refusal(-1) == EBADF)
        let file = openFile("/proc/self/exe")
        #expect(refusal(file) == EPERM && isOpen(file))
        closeFile(file)
        let datagram = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #expect(refusal(datagram) == EINVAL && fcntl(datagram, F_GETFL) & O_NONBLOCK == 0)
        closeFile(datagram)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        listen(listener, 1)
        #expect(refusal(listener) == EINVAL)
        closeFile(listener)
    }

    @Test("It makes its descriptor non-blocking, and closed on exec")
    func flags() throws {
        let ends = Ends.blockingPipe()
        _ = fcntl(ends.reader, F_SETFD, 0)
        let connection = try Connection(owning: ends.reader)
        ends.isReaderClosed = true
        #expect(fcntl(ends.reader, F_GETFL) & O_NONBLOCK != 0 && closesOnExec(ends.reader))
        connection.invalidate()
    }

    @Test("A handler of an actor touches its state, and ends with the actor")
    func isolated() async throws {
        let ends = Ends.sockets()
        var reader: Reader? = try Reader()
        try await reader!.read(from: ends.reader)
        ends.isReaderClosed = true
        ends.send("hello")
        while await reader!.text != "hello" { await Task.yield() }
        reader = nil
        ends.waitUntilReaderIsGone()
    }

    private actor Reader {
        private let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
        private(set) var text = ""

        init() throws { thread = try LoopThread(name: "reader") }

        func read(from descriptor: Int32) throws {
            let connection = try Loop.Connection(owning: descriptor, isolation: self) { reader, _, event in
                if case .received(let bytes) = event { reader.text += String(decoding: bytes, as: UTF8.self) }
            }
            thread.loop.add(connection)
        }
    }
}

extension ConnectionTests {
    /// What connects two ends.
    enum Transport: CaseIterable, Sendable {
        case pair, tcp, pipe

        /// - Parameter bufferSize: How much the kernel is to hold in each direction.
        func connect(bufferSize: Int32? = nil) throws -> Ends {
            let ends: Ends =
                switch self {
                case .pair: .sockets()
                case .tcp: .connection()
                case .pipe: .pipe()
                }
            if let bufferSize, self != .pipe { ends.limitBuffers(to: bufferSize) }
            return ends
        }
    }

    /// A connection of a pair, on a loop in virtual time, and its peer.
    private final class Scene {
        let loop = Loop.inVirtualTime().0
        let ends: Ends
        let log = Log<Loop.Connection.Event>()
        private(set) var connection: Loop.Connection!
        private var seenCount = 0

        init(
            _ ends: Ends = .sockets(), bufferSize: Int32? = nil,
            also: @escaping Loop.Connection.Handler = { _, _ in }
        ) throws {
            self.ends = ends
            if let bufferSize { ends.limitBuffers(to: bufferSize) }
            connection = try Loop.Connection(owning: ends.reader) { [log] connection, event in
                log.add(event)
                also(connection, event)
            }
            ends.isReaderClosed = true
            loop.add(connection)
        }

        deinit { connection?.invalidate() }

        func collect() { loop.run(mode: .default, for: .zero) }

        /// What has happened since the last call.
        func run(_ seconds: Int64 = 1) -> [Loop.Connection.Event] {
            if seconds > 0 { loop.run(mode: .default, for: .seconds(seconds)) }
            defer { seenCount = log.entries.count }
            return Array(log.entries[seenCount...])
        }

        /// What the peer receives; "" at the end, nil if nothing is available.
        func take(_ count: Int = 4096) -> String? { readText(ends.writer, count) }

        /// The peer closes.
        func hangUp() { ends.hangUp() }

        func forget() { connection = nil }
    }
}

extension Ends {
    fileprivate func limitBuffers(to size: Int32) {
        var size = size
        for end in [reader, writer] {
            setsockopt(end, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            setsockopt(end, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}

extension [Loop.Connection.Event] {
    fileprivate var bytes: [UInt8] { flatMap { if case .received(let bytes) = $0 { bytes } else { [UInt8]() } } }
    fileprivate var text: String { String(decoding: bytes, as: UTF8.self) }
    fileprivate var others: Self { filter { if case .received = $0 { false } else { true } } }
    fileprivate var error: LoopError? { if case .closed(let error) = last { error } else { nil } }
}
