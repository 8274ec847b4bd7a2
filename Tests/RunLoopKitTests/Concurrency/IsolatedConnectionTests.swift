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

/// An address of this machine that no other test has.
private func freshAddress() -> Loop.SocketAddress { .unix("\0RunLoopKit-\(UInt64.random(in: 0 ... .max))") }

/// A socket that listens there.
private func listeningSocket() throws -> Int32 {
    try System.listen(at: .four([127, 0, 0, 1], 0), "", backlog: 4, sharesPort: false)
}

/// An actor on a thread that others may share, with a server and its clients.
private actor Guest {
    nonisolated let thread: LoopThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
    private(set) var heard: Set<String> = []

    init(_ thread: LoopThread) { self.thread = thread }

    private func hear(_ name: String, _ event: Loop.Connection.Event) {
        switch event {
        case .connected: heard.insert("\(name): connected")
        case .received(let bytes): heard.insert("\(name): \(String(decoding: bytes, as: UTF8.self))")
        case .closed(let error): heard.insert("\(name): closed\(error.map { ", \($0)" } ?? "")")
        case .peerFinished, .drained: break
        }
    }

    /// Echoes, and ends with its client.
    private func serve(_ name: String, _ connection: Loop.Connection) {
        heard.insert("\(name): accepts")
        connection.setHandler(isolation: self) { _, connection, event in
            if case .received(let bytes) = event { connection.send(bytes) }
            if event == .peerFinished { connection.end() }
        }
        thread.loop.add(connection)
    }

    /// A listener of each form, in the loop.
    func listen() throws -> [Loop.Listener] {
        let listeners = [
            try Loop.Listener(freshAddress(), isolation: self) { $0.serve("made", $2) },
            try Loop.Listener(owning: try listeningSocket(), isolation: self) { $0.serve("adopted", $2) },
            try Loop.Listener(freshAddress()),
        ]
        #expect(listeners[2].setHandler(isolation: self) { $0.serve("late", $2) })
        for listener in listeners { thread.loop.add(listener) }
        return listeners
    }

    /// A connection of each form, in the loop.
    func connect(to address: Loop.SocketAddress, _ descriptor: Int32) throws -> [Loop.Connection] {
        let connections = [
            try Loop.Connection(connectingTo: address, isolation: self) { $0.hear("connecting", $2) },
            try Loop.Connection(owning: descriptor, isolation: self) { $0.hear("adopted", $2) },
            try Loop.Connection(connectingTo: address),
        ]
        #expect(connections[2].setHandler(isolation: self) { $0.hear("late", $2) })
        for connection in connections { thread.loop.add(connection) }
        return connections
    }
}

/// Connections and listeners whose handlers are isolated to an actor. RunMainProgram has those of the main actor.
@Suite(.timeBound) struct IsolatedConnectionTests {
    @Test("Handlers of each form of a listener access the actor's state")
    func listeners() async throws {
        let thread = try LoopThread(name: "server")
        let server = Guest(thread)
        let listeners = try await server.listen()
        let clients = try listeners.map { try Loop.Connection(connectingTo: try #require($0.address)) }
        let all: Set = ["made: accepts", "adopted: accepts", "late: accepts"]
        while await server.heard != all { await Task.yield() }
        (clients + listeners as [Loop.Item]).forEach { $0.invalidate() }
        thread.stop()
        thread.joinBlocking()
    }

    @Test("Handlers of each form of a connection access the actor's state")
    func connections() async throws {
        let thread = try LoopThread(name: "client")
        let (server, client) = (Guest(thread), Guest(thread))
        let listeners = try await server.listen()
        let ends = Ends.sockets()
        ends.isReaderClosed = true
        ends.send("from the other end")
        let connections = try await client.connect(to: try #require(listeners[1].address), ends.reader)
        for connection in connections { #expect(connection.send(Array("hello".utf8))) }
        for connection in connections { connection.finishSending() }
        // The adopted one's peer.
        #expect(ends.hearsAll("hello"))
        ends.closeWriter()
        let all: Set = [
            "connecting: connected", "connecting: hello", "connecting: closed", "adopted: from the other end",
            "adopted: closed", "late: connected", "late: hello", "late: closed",
        ]
        while await !client.heard.isSuperset(of: all) { await Task.yield() }
        #expect(await client.heard == all)
        #expect(connections.allSatisfy { !$0.isValid })
        listeners.forEach { $0.invalidate() }
        thread.stop()
        thread.joinBlocking()
    }

    @Test("The first event after the actor's deallocation invalidates a connection and a listener")
    func actorsThatAreGone() async {
        await #expect(processExitsWith: .success) {
            Loop.mistakeHandling = .call { fatalError("\($0)") }
            try await IsolatedConnectionTests.loseActors()
        }
    }

    private static func loseActors() async throws {
        let thread = try LoopThread(name: "guest")
        weak var remains: Guest?
        var (listeners, connections): ([Loop.Listener], [Loop.Connection])
        let ends = Ends.sockets()
        let bystander = try Loop.Listener(freshAddress())
        do {
            let guest = Guest(thread)
            remains = guest
            listeners = try await guest.listen()
            ends.isReaderClosed = true
            connections = try await guest.connect(to: try #require(bystander.address), ends.reader)
            // Those that connect would hear of it at once: only the adopted one waits.
            connections[0].invalidate()
            connections[2].invalidate()
        }
        // A message of the actor may still be on its way back.
        while remains != nil { await Task.yield() }
        precondition(connections[1].isValid && listeners.allSatisfy { $0.isValid })
        ends.send("x")
        let late = try listeners.map { try Loop.Connection(connectingTo: try #require($0.address)) }
        await eventually(!connections[1].isValid && listeners.allSatisfy { !$0.isValid })
        late.forEach { $0.invalidate() }
        bystander.invalidate()
        thread.stop()
        thread.joinBlocking()
    }

    @Test("One of the main actor is refused by any loop but the main loop, and a handler of it in another loop")
    func mainActorElsewhere() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let worker = try LoopThread()
            let loop = worker.loop
            let (first, second) = (Ends.sockets(), Ends.sockets())
            let address = freshAddress()
            let items: [Loop.Item] = [
                try Loop.Listener(address, isolation: .shared) { _, _ in },
                try Loop.Listener(owning: try listeningSocket(), isolation: .shared) { _, _ in },
                try Loop.Connection(connectingTo: address, isolation: .shared) { _, _ in },
                try Loop.Connection(owning: first.reader, isolation: .shared) { _, _ in },
            ]
            precondition(items.allSatisfy { !loop.add($0) && $0.isValid })
            let listener = try Loop.Listener(freshAddress())
            let connection = try Loop.Connection(owning: second.reader)
            precondition(loop.add(listener) && loop.add(connection))
            precondition(!listener.setHandler(isolation: .shared) { _, _ in })
            precondition(!connection.setHandler(isolation: .shared) { _, _ in })
            let reasons = mistakes.entries.map { mistake -> Loop.Mistake.Refusal? in
                if case .refusedItem(_, let reason) = mistake { reason } else { nil }
            }
            _exit(reasons == Array(repeating: .itemIsForMainActor, count: 6) ? 0 : 1)
        }
    }
}

extension Ends {
    /// Waits until the other end has sent this text.
    fileprivate func hearsAll(_ text: String) -> Bool {
        var heard = ""
        while heard.utf8.count < text.utf8.count {
            var request = pollfd(fd: writer, events: Int16(POLLIN), revents: 0)
            while poll(&request, 1, -1) < 0, errno == EINTR {}
            guard let more = readText(writer), !more.isEmpty else { return false }
            heard += more
        }
        return heard == text
    }
}
