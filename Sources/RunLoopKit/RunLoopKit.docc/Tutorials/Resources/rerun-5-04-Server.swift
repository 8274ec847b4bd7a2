import RunLoopKit

/// Answers each line that a client sends to a Unix socket.
@MainActor
final class Server {
    private let listener: Loop.Listener
    private var conversations: [ObjectIdentifier: Conversation] = [:]
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
        let conversation = Conversation(connection, of: self)
        conversations[ObjectIdentifier(conversation)] = conversation
        listener.isAccepting = conversations.count < 100
    }

    func remove(_ conversation: Conversation) {
        conversations[ObjectIdentifier(conversation)] = nil
        listener.isAccepting = true
    }
}
