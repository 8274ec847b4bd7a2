import CLinux
import Foundation
import LoopTestSupport
import Synchronization
import TestSupport
import Testing

@testable import RunLoopKit

/// Listeners and those who connect to them. A connection to a Unix socket waits there at once. Over TCP it arrives a
/// moment later, so those tests run a loop in real time until an event stops it.
@Suite(.timeBound) struct ListenerTests {
    private typealias Listener = Loop.Listener
    private typealias Connection = Loop.Connection
    private typealias Event = Loop.Connection.Event

    @Test("A client connects, and what it sends comes back", arguments: Place.allCases)
    func echo(_ place: Place) throws {
        try onThreadOfItsOwn {
            let (loop, log, servers) = (Loop.current, Log<Event>(), Log<Connection>())
            let listener: Listener
            do throws(LoopError) {
                listener = try Listener(place.address) { listener, connection in
                    servers.add(connection)
                    connection.setHandler { connection, event in
                        if case .received(let bytes) = event { connection.send(bytes) }
                        if case .peerFinished = event { connection.end() }
                    }
                    Loop.current.add(connection)
                }
            } catch {
                // A machine without IPv6.
                guard place == .loopbackV6, [EADDRNOTAVAIL, EAFNOSUPPORT].contains(error.errno) else { throw error }
                return
            }
            loop.add(listener)
            let address = try #require(listener.address)
            #expect(address.port == listener.port && (address.port != 0) == place.isTCP)
            let client = try Connection(connectingTo: address) { _, event in
                log.add(event)
                if case .closed = event { Loop.current.stop() }
            }
            #expect(client.send(Array("hello".utf8)) && client.pendingByteCount == 5)
            client.finishSending()
            loop.add(client)
            loop.run()
            let received = log.entries.compactMap { if case .received(let bytes) = $0 { bytes } else { nil } }
            #expect(received.flatMap { $0 } == Array("hello".utf8))
            #expect(log.entries.first == .connected && log.entries.suffix(2) == [.peerFinished, .closed(nil)])
            #expect(log.entries.contains(.drained))
            #expect(servers.entries.count == 1)
            listener.invalidate()
            servers.entries.forEach { $0.invalidate() }
        }
    }

    @Test("Who connects where nothing listens learns it as an error")
    func connectionRefused() throws {
        try onThreadOfItsOwn {
            // Bound, so that no other socket can listen there.
            let bound = CLinux.clinux_make_stream_socket(AF_INET)
            defer { closeFile(bound) }
            let bytes = System.Address.four([127, 0, 0, 1], 0).bytes
            #expect(clinux_bind(bound, bytes, UInt32(bytes.count)) == 0)
            let address = try #require(Loop.SocketAddress(System.ownAddress(of: bound)))
            let log = Log<Event>()
            let client = try Connection(connectingTo: address) { _, event in
                log.add(event)
                Loop.current.stop()
            }
            client.send([1])
            Loop.current.add(client)
            Loop.current.run()
            guard case .closed(let error?) = log.entries.first, log.entries.count == 1 else {
                Issue.record("\(log.entries)")
                return
            }
            #expect("\(error)" == "connect(\(address)): Connection refused (ECONNREFUSED)")
        }
        #expect(code { _ = try Connection(connectingTo: .unix("/nowhere/at-all")) } == ENOENT)
        #expect(code { _ = try Connection(connectingTo: .unix("")) } == EINVAL)
    }

    /// In a process of its own: a program that another test starts keeps a closed listener alive until its exec.
    @Test("A port in use is refused, and free as soon as its listener has ended")
    func portInUse() async {
        await #expect(processExitsWith: .success) {
            let first = try Listener(.tcp(.loopback, port: 0)) { _, _ in }
            let address = first.address!
            do throws(LoopError) {
                _ = try Listener(address)
                fatalError("two listeners have one port")
            } catch {
                precondition(error.errno == EADDRINUSE)
                precondition("\(error)" == "bind(\(address)): Address already in use (EADDRINUSE)")
            }
            first.invalidate()
            let second = try Listener(address)
            precondition(second.port == address.port)
            second.invalidate()
            let shared = try (0..<2).map { _ in try Listener(address, sharesPort: true) }
            precondition(shared.allSatisfy { $0.address == address })
            shared.forEach { $0.invalidate() }
        }
    }

    /// In a process of its own, for the same reason.
    @Test("The file of a Unix socket is replaced if it is dead, and removed by the one who made it")
    func paths() async {
        await #expect(processExitsWith: .success) {
            var template = Array("\(NSTemporaryDirectory())/listener-XXXXXX".utf8CString)
            let folder = String(cString: mkdtemp(&template))
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let path = folder + "/socket"
            var exists: Bool { access(path, F_OK) == 0 }

            let first = try Listener(.unix(path))
            precondition(exists && first.address == .unix(path) && first.port == 0)
            precondition(code { _ = try Listener(.unix(path)) } == EADDRINUSE)
            precondition(exists, "a live one is left alone")
            first.invalidate()
            precondition(!exists)

            // As a process that was killed leaves it.
            closeFile(try System.listen(at: .unix(Array(path.utf8)), "", backlog: 1, sharesPort: false))
            precondition(exists)
            var second: Listener? = try Listener(.unix(path))
            // Another file in its place is not its own.
            precondition(rename(path, path + ".old") == 0)
            let third = try Listener(.unix(path))
            second?.invalidate()
            second = nil
            precondition(exists)
            third.invalidate()
            precondition(!exists)

            precondition(creat(path, 0o600) >= 0)
            precondition(code { _ = try Listener(.unix(path)) } == EADDRINUSE && exists, "a file that is no socket")
            precondition(code { _ = try Listener(.unix(folder + "/none/socket")) } == ENOENT)

            precondition(chdir(folder) == 0)
            let relative = try Listener(.unix("relative"))
            precondition(access("relative", F_OK) == 0 && chdir("/") == 0)
            relative.invalidate()
            precondition(access(folder + "/relative", F_OK) != 0, "the current folder has changed")
        }
        #expect(code { _ = try Listener(.unix(String(repeating: "x", count: 108))) } == ENAMETOOLONG)
        #expect(code { _ = try Listener(.unix("a\0b")) } == EINVAL)
    }

    @Test("A pass accepts a bounded number of connections")
    func bound() throws {
        let (loop, count) = (Loop.inVirtualTime().0, Count())
        let listener = try Listener(Place.abstract.address) { _, connection in
            count.up()
            connection.invalidate()
        }
        loop.add(listener)
        let clients = try (0..<70).map { _ in try Connection(connectingTo: listener.address!) }
        let expected = [Listener.connectionsPerPass, 70, 70]
        for expected in expected {
            loop.run(mode: .default, for: .zero, returnAfterSourceHandled: true)
            #expect(count.value == expected)
        }
        clients.forEach { $0.invalidate() }
        listener.invalidate()
    }

    @Test("Connections wait while nothing accepts them, and the end accepts them")
    func waiting() throws {
        let (loop, accepted) = (Loop.inVirtualTime().0, Log<Connection>())
        let listener = try Listener(Place.abstract.address)
        loop.add(listener)
        func connect() throws -> Connection { try Connection(connectingTo: listener.address!) { _, _ in } }
        var clients = [try connect()]
        func run() -> Int {
            let waits = loop.counters.waits
            loop.run(mode: .default, for: .seconds(5))
            #expect(loop.counters.waits - waits <= 4, "nothing keeps the loop busy")
            return accepted.entries.count
        }
        #expect(run() == 0)
        listener.setHandler { _, connection in accepted.add(connection) }
        #expect(run() == 1)
        listener.isAccepting = false
        clients.append(try connect())
        #expect(run() == 1 && !listener.isAccepting && "\(listener)".contains("accepts nothing"))
        listener.isAccepting = true
        #expect(run() == 2)
        clients += [try connect(), try connect()]
        listener.end()
        listener.end()
        #expect(accepted.entries.count == 4 && !listener.isValid && run() == 4)
        (clients + accepted.entries).forEach { $0.invalidate() }
    }

    @Test("In the handler that an end calls outside of runs, the listener's loop is the current one")
    func loopOfAnEnd() throws {
        let (loop, log) = (Loop.inVirtualTime().0, Log<Bool>())
        let listener = try Listener(Place.abstract.address) { _, connection in
            log.add(Loop.current === loop)
            connection.invalidate()
        }
        loop.add(listener)
        let client = try Connection(connectingTo: listener.address!)
        listener.end()
        #expect(log.entries == [true] && Loop.current !== loop)
        client.invalidate()
    }

    /// Alone in a process: other tests may take all descriptors for a moment.
    @Test("The end accepts all that the kernel lets wait")
    func endOfAFullQueue() async {
        await #expect(processExitsWith: .success) {
            let accepted = Count()
            let listener = try Listener(Place.abstract.address) { _, connection in
                accepted.up()
                connection.invalidate()
            }
            var count = 0
            while let client = try? Connection(connectingTo: listener.address!) {
                client.invalidate()
                count += 1
            }
            listener.end()
            precondition(count > 0 && accepted.value == count, "\(accepted.value) of \(count) were accepted.")
            _exit(0)
        }
    }

    @Test("A listener that accepts no more accepts nothing at its end", arguments: [0, 2])
    func endOfAFullServer(_ room: Int) throws {
        let (loop, accepted) = (Loop.inVirtualTime().0, Log<Connection>())
        let listener = try Listener(Place.abstract.address) { listener, connection in
            accepted.add(connection)
            listener.isAccepting = accepted.entries.count < room
        }
        listener.isAccepting = room > 0
        loop.add(listener)
        let clients = try (0..<5).map { _ in try Connection(connectingTo: listener.address!) { _, _ in } }
        listener.end()
        #expect(accepted.entries.count == room && !listener.isValid)
        (clients + accepted.entries).forEach { $0.invalidate() }
    }

    @Test("A handler that ends its listener for each connection gets all that wait, and does not nest")
    func endedInHandler() throws {
        let (loop, accepted, active) = (Loop.inVirtualTime().0, Count(), Count())
        let listener = try Listener(Place.abstract.address) { listener, connection in
            active.up()
            accepted.up()
            connection.invalidate()
            // The first call accepts the others, and the rest do nothing.
            listener.end()
            #expect(listener.isValid == (accepted.value < 20 || active.value > 1))
            #expect(active.value <= 2)
            active.upBy(-1)
        }
        loop.add(listener)
        let clients = try (0..<20).map { _ in try Connection(connectingTo: listener.address!) { _, _ in } }
        loop.run(mode: .default, for: .seconds(5))
        #expect(accepted.value == 20 && !listener.isValid)
        clients.forEach { $0.invalidate() }
    }

    @Test("Invalidated in its handler, a listener accepts nothing more")
    func invalidatedInHandler() throws {
        let (loop, count, log) = (Loop.inVirtualTime().0, Count(), Log<Event>())
        let listener = try Listener(Place.abstract.address) { listener, connection in
            count.up()
            connection.invalidate()
            listener.invalidate()
        }
        loop.add(listener)
        let clients = try (0..<2).map { _ in
            try Connection(connectingTo: listener.address!) { _, event in log.add(event) }
        }
        clients.forEach { loop.add($0) }
        loop.run(mode: .default, for: .seconds(1))
        #expect(count.value == 1 && !listener.isValid)
        // A program that another test starts keeps sockets open until its exec.
        for client in clients where client.isValid {
            spin(until: System.readiness(of: client.descriptor, for: []).contains(.hangUp))
        }
        loop.run(mode: .default, for: .seconds(1))
        // One was accepted and closed. The other one waited, and was reset: at once, or after it was told that it is
        // connected, as long as that other program keeps the listener open.
        #expect(log.entries.filter { $0 == .peerFinished }.count == 1 && log.entries.contains(.connected))
        let errors = log.entries.compactMap { if case .closed(let error) = $0 { error?.errno } else { nil } }
        #expect(errors == [ECONNRESET])
        clients.forEach { $0.invalidate() }
    }

    @Test("Removed in its handler, a listener lets the rest wait for the loop that it is added to")
    func removedInHandler() throws {
        let (loop, other) = (Loop.inVirtualTime().0, Loop.inVirtualTime().0)
        let log = Log<String>()
        let listener = try Listener(Place.abstract.address) { listener, connection in
            log.add(Loop.current === loop ? "first" : "other")
            connection.invalidate()
            loop.remove(listener)
            other.add(listener)
        }
        loop.add(listener)
        let clients = try (0..<3).map { _ in try Connection(connectingTo: listener.address!) }
        for loop in [loop, other] { loop.run(mode: .default, for: .zero) }
        #expect(log.entries == ["first", "other", "other"])
        clients.forEach { $0.invalidate() }
        listener.invalidate()
    }

    @Test("Without a descriptor a listener waits a second, says so once, and loses no connection")
    func noDescriptors() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let (loop, count) = (Loop.inVirtualTime().0, Count())
            let listener = try Listener(Place.abstract.address, label: "server") { _, connection in
                count.up()
                connection.invalidate()
            }
            loop.add(listener)
            loop.add(listener, in: "other")
            loop.run(mode: .default, for: .zero)
            loop.run(mode: "other", for: .zero)
            let clients = try (0..<3).map { _ in try Connection(connectingTo: listener.address!) }
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let usual = limit.rlim_cur
            limit.rlim_cur = 0
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let waits = loop.counters.waits
            loop.run(mode: .default, for: .seconds(3.5))
            precondition(count.value == 0 && loop.counters.waits - waits < 30, "it spins")
            guard mistakes.entries.count == 1, case .pausedListener(let name, let error) = mistakes.entries[0],
                name.contains("server"), error.errno == EMFILE
            else { fatalError("\(mistakes.entries)") }
            precondition("\(listener)".contains("pauses for a second"))
            limit.rlim_cur = usual
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            // The pause follows it into another mode.
            loop.remove(listener)
            loop.run(mode: "other", for: .seconds(1.5))
            precondition(count.value == 3 && mistakes.entries.count == 1)
            clients.forEach { $0.invalidate() }
            listener.invalidate()
            _exit(0)
        }
    }

    @Test("Listeners of one port on several threads share the connections")
    func sharedPort() async throws {
        let pool = try LoopThreadPool(count: 2, options: .init(name: "server"))
        let counts = [Count(), Count()]
        var address = Loop.SocketAddress.tcp(.loopback, port: 0)
        var listeners: [Listener] = []
        for (loop, count) in zip(pool.loops, counts) {
            let listener = try Listener(address, sharesPort: true) { _, connection in
                count.up()
                connection.invalidate()
            }
            address = listener.address!
            loop.add(listener)
            listeners.append(listener)
        }
        let clients = try (0..<40).map { _ in try Connection(connectingTo: address) }
        await eventually(counts[0].value + counts[1].value == 40)
        #expect(counts.allSatisfy { $0.value > 0 })
        clients.forEach { $0.invalidate() }
        listeners.forEach { $0.invalidate() }
        pool.stop()
    }

    @Test("A socket that listens already is adopted, and any other refused")
    func adopted() throws {
        let socket = try System.listen(at: .four([127, 0, 0, 1], 0), "", backlog: 1, sharesPort: false)
        _ = fcntl(socket, F_SETFL, 0)
        let listener = try Listener(owning: socket) { _, _ in }
        #expect(listener.port != 0 && fcntl(socket, F_GETFL) & O_NONBLOCK != 0)
        #expect(listener.longestQueue == 65_536, "nobody knows its backlog")
        listener.invalidate()
        let ends = Ends.sockets()
        #expect(code { _ = try Listener(owning: ends.reader) } == EINVAL)
        #expect(code { _ = try Listener(owning: -1) } == EBADF)
        #expect(isOpen(ends.reader))
    }

    /// As workers do that are forked.
    @Test("Listeners of one socket share its connections, and it listens as long as one of them does")
    func sharedSocket() throws {
        try onThreadOfItsOwn {
            let accepted = Log<Int>()
            let first = try Listener(.tcp(.loopback, port: 0)) { _, connection in
                accepted.add(1)
                connection.invalidate()
                Loop.current.stop()
            }
            let second = try Listener(owning: dup(first.descriptor)) { _, connection in
                accepted.add(2)
                connection.invalidate()
                Loop.current.stop()
            }
            #expect(second.address == first.address && second.descriptor != first.descriptor)
            for listener in [first, second] {
                Loop.current.add(listener)
                let client = try Connection(connectingTo: #require(first.address)) { _, _ in }
                Loop.current.run()
                client.invalidate()
                listener.invalidate()
            }
            #expect(accepted.entries == [1, 2])
        }
    }

    @Test("A handler of an actor has its state")
    func isolated() async throws {
        let server = try Server()
        let address = try await server.listen()
        let client = try Connection(connectingTo: address)
        while await server.connections.isEmpty { await Task.yield() }
        #expect(await server.connections[0].peerAddress == .unix(""))
        await server.end()
        client.invalidate()
    }

    private actor Server {
        private let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
        private(set) var connections: [Loop.Connection] = []
        private var listener: Loop.Listener?

        init() throws { thread = try LoopThread(name: "server") }

        func listen() throws -> Loop.SocketAddress {
            let listener = try Loop.Listener(Place.abstract.address, isolation: self) { server, _, connection in
                connection.setHandler(isolation: server) { _, _, _ in }
                server.connections.append(connection)
                server.thread.loop.add(connection)
            }
            thread.loop.add(listener)
            self.listener = listener
            return listener.address!
        }

        func end() {
            listener?.end()
            connections.forEach { $0.invalidate() }
        }
    }

    @Test("Addresses are read and printed in numbers")
    func addresses() throws {
        typealias Host = Loop.SocketAddress.Host
        #expect(Host("192.0.2.1")?.bytes == [192, 0, 2, 1] && Host("::1") == .loopbackV6 && Host("0.0.0.0") == .any)
        for text in ["", "localhost", "1.2.3", "1.2.3.4.5", "::g", "1.2.3.4\0"] { #expect(Host(text) == nil) }
        #expect("\(try #require(Host("2001:DB8::0:1")))" == "2001:db8::1" && Host("::") == .anyV6)
        #expect("\(Host("fe80::1", scope: 2)!)" == "fe80::1%2")
        #expect("\(Loop.SocketAddress.tcp(.loopback, port: 80))" == "127.0.0.1:80")
        #expect("\(Loop.SocketAddress.tcp(.loopbackV6, port: 80))" == "[::1]:80")
        #expect("\(Loop.SocketAddress.unix("\0name\n"))" == "@name\\n" && "\(Loop.SocketAddress.unix("/a"))" == "/a")
        for address: System.Address in [
            .four([1, 2, 3, 4], 0x1234), .six((1...16).map { $0 }, 0x1234, scope: 7), .unix(Array("/a".utf8)),
            .unix([0, 1, 2]),
        ] { #expect(System.Address(address.bytes[...]) == address) }
        #expect(System.Address([]) == .other && System.Address([255, 255, 0, 0]) == .other)
        #expect(Loop.SocketAddress(System.ownAddress(of: -1)) == nil)
    }
}

extension ListenerTests {
    /// Where to listen.
    enum Place: CaseIterable, Sendable {
        case loopback, any, loopbackV6, abstract, path

        var isTCP: Bool { self != .abstract && self != .path }

        /// A new one each time.
        var address: Loop.SocketAddress {
            switch self {
            case .loopback: .tcp(.loopback, port: 0)
            case .any: .tcp(.any, port: 0)
            case .loopbackV6: .tcp(.loopbackV6, port: 0)
            case .abstract: .unix("\0RunLoopKit-\(UInt64.random(in: 0 ... .max))")
            case .path: .unix("\(NSTemporaryDirectory())/listener-\(UInt64.random(in: 0 ... .max))")
            }
        }
    }

}

/// The number of the error that a call throws; nil if it throws none.
private func code(_ call: () throws -> Void) -> Int32? {
    do {
        try call()
        return nil
    } catch { return (error as? LoopError)?.errno }
}
