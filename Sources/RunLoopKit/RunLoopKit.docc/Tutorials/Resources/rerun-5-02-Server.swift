import RunLoopKit

/// Answers each line that a client sends to a Unix socket.
@MainActor
final class Server {
    private let listener: Loop.Listener
    let answer: @MainActor (_ line: String) -> String

    init(path: String, answer: @escaping @MainActor (_ line: String) -> String) throws {
        self.answer = answer
        listener = try Loop.Listener(.unix(path))
        listener.setHandler(isolation: .shared) { [unowned self] _, connection in
            accept(connection)
        }
        Loop.main.add(listener, in: .common)
    }

    private func accept(_ connection: Loop.Connection) {
        connection.invalidate()
    }
}
