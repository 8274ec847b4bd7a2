import Glibc
import RunLoopKit

/// Answers each line that a client sends to a Unix socket.
@MainActor
final class Server {
    private let path: String
    private let listener: Loop.FileDescriptorSource
    private var connections: [ObjectIdentifier: Connection] = [:]
    let answer: @MainActor (_ line: String) -> String

    init(path: String, answer: @escaping @MainActor (_ line: String) -> String) throws {
        self.path = path
        self.answer = answer
        listener = try Loop.FileDescriptorSource(owning: makeListener(path: path))
        listener.setHandler(isolation: .shared) { [unowned self] source, _ in
            acceptClient(of: source.descriptor)
        }
        Loop.main.add(listener, in: .common)
    }

    /// Returns whether there was one.
    @discardableResult private func acceptClient(of listener: Int32) -> Bool {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return false }
        _ = fcntl(client, F_SETFL, O_NONBLOCK)
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        guard connections.count < 100, let connection = try? Connection(client, of: self)
        else {
            close(client)
            return true
        }
        connections[ObjectIdentifier(connection)] = connection
        return true
    }

    func remove(_ connection: Connection) {
        connections[ObjectIdentifier(connection)] = nil
    }

    /// Answers the clients that have asked, accepts no more, and closes what is open.
    func end() {
        guard listener.isValid else { return }
        while acceptClient(of: listener.descriptor) {}  // or they would be reset
        listener.invalidate()
        unlink(path)
        for connection in connections.values {
            connection.receive()
            connection.end()
        }
    }
}
