import RunLoopKit

/// Sends back what its connections send, and closes a connection that has been idle for a while.
@MainActor final class EchoServer {
    private(set) var clients: [ObjectIdentifier: Client] = [:]
    /// How long a connection may be idle. A new value counts from now, for all of them.
    var idleTime: Duration {
        didSet { for client in clients.values { client.timeout.restart(after: idleTime) } }
    }
    private let listener: Loop.Listener
    var port: UInt16 { listener.port }

    init(port: UInt16, idleTime: Duration) throws {
        self.idleTime = idleTime
        listener = try .init(.tcp(.loopback, port: port))
        listener.setHandler(isolation: .shared) { [unowned self] _, connection in
            clients[ObjectIdentifier(connection)] = Client(connection, of: self)
        }
        Loop.main.add(listener, in: .common)
    }

    /// Answers what has come until now, and accepts no more. At most 64 parts of each client, which may go on sending.
    func end() {
        listener.end()
        var parts = clients.count * 64
        while parts > 0, Loop.main.run(mode: .default, for: .zero, returnAfterSourceHandled: true) == .handledSource {
            parts -= 1
        }
    }

    fileprivate func remove(_ connection: Loop.Connection) { clients[ObjectIdentifier(connection)] = nil }
}

/// One connection. It and its timer are in the loop until it is closed.
@MainActor final class Client {
    private unowned let server: EchoServer
    let timeout: Loop.Timer

    fileprivate init(_ connection: Loop.Connection, of server: EchoServer) {
        self.server = server
        timeout = .init(restartableAfter: server.idleTime)
        timeout.setHandler(isolation: .shared) { [weak self] _ in
            connection.invalidate()
            self?.close(connection)
        }
        connection.setHandler(isolation: .shared) { [weak self] connection, event in
            self?.handle(event, of: connection)
        }
        Loop.main.add(timeout, in: .common)
        Loop.main.add(connection, in: .common)
    }

    private func handle(_ event: Loop.Connection.Event, of connection: Loop.Connection) {
        switch event {
        case .received(let bytes):
            timeout.restart()
            connection.send(bytes)
            // A peer that does not read its echo is not read from, either: nothing piles up here.
            connection.isReceiving = connection.pendingByteCount == 0
        case .drained: connection.isReceiving = true
        case .peerFinished: connection.end()
        case .closed: close(connection)
        case .connected: break
        }
    }

    private func close(_ connection: Loop.Connection) {
        timeout.invalidate()
        server.remove(connection)
    }
}
