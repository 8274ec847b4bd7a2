import RunLoopKit

/// Sends back what its connections send, and closes a connection that has been idle for a while.
@MainActor final class EchoServer {
    let connections = Loop.ConnectionSet()
    private let listener: Loop.Listener
    var port: UInt16 { listener.port }

    init(port: UInt16, idleTime: Duration) throws {
        listener = try .init(.tcp(.loopback, port: port))
        listener.setHandler(isolation: .shared) { [unowned self] _, connection in
            // It and its timer are in the loop until it is closed.
            let timeout = Loop.Timer(restartableAfter: idleTime) { firing in
                connection.invalidate()
                firing.timer.invalidate()
            }
            connection.setHandler { connection, event in
                switch event {
                case .received(let bytes):
                    timeout.restart()
                    connection.send(bytes)
                    // A peer that does not read its echo is not read from, either: nothing piles up here.
                    connection.isReceiving = connection.pendingByteCount == 0
                case .drained: connection.isReceiving = true
                case .peerFinished: connection.end()
                case .closed: timeout.invalidate()
                case .connected: break
                }
            }
            Loop.main.add(timeout, in: .common)
            Loop.main.add(connection, in: .common)
            connections.insert(connection)
        }
        Loop.main.add(listener, in: .common)
    }

    /// Accepts no more, and answers what has come until now. Clients have two seconds to read it and to finish.
    func end(then completion: @escaping @Sendable () -> Void) {
        listener.end()
        connections.end(within: .seconds(2), then: completion)
    }
}
