import Glibc
import RunLoopKit

/// Answers each line that a client sends to a Unix socket.
@MainActor
final class Server {
    private let path: String
    private var connections: [ObjectIdentifier: Connection] = [:]
    let answer: @MainActor (_ line: String) -> String

    init(path: String, answer: @escaping @MainActor (_ line: String) -> String) throws {
        self.path = path
        self.answer = answer
        let listener = try Loop.FileDescriptorSource(
            owning: makeListener(path: path), isolation: .shared
        ) { [unowned self] source, _ in
            acceptClient(of: source.descriptor)
        }
        Loop.main.add(listener, in: .common)
    }

    private func acceptClient(of listener: Int32) {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        _ = fcntl(client, F_SETFL, O_NONBLOCK)
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        guard connections.count < 100, let connection = try? Connection(client, of: self)
        else {
            close(client)
            return
        }
        connections[ObjectIdentifier(connection)] = connection
    }

    func remove(_ connection: Connection) {
        connections[ObjectIdentifier(connection)] = nil
    }
}
