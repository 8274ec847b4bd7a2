import RunLoopKit

/// A client of the server, until it has its answer, closes, or is silent for five
/// seconds.
@MainActor
final class Conversation {
    private unowned let server: Server
    private let connection: Loop.Connection
    private let timeout = Loop.Timer(restartableAfter: .seconds(5))
    private var line: [UInt8] = []

    init(_ connection: Loop.Connection, of server: Server) {
        self.server = server
        self.connection = connection
        connection.setHandler(isolation: .shared) { [weak self] _, event in
            guard let self else { return }
            handle(event)
        }
        timeout.setHandler(isolation: .shared) { [weak self] _ in
            guard let self else { return }
            close()
        }
        Loop.main.add(connection, in: .common)
        Loop.main.add(timeout, in: .common)
    }

    private func handle(_ event: Loop.Connection.Event) {
        switch event {
        case .received(let bytes): receive(bytes)
        case .peerFinished: connection.end()
        case .closed: close()
        case .connected, .drained: break
        }
    }

    /// Answers a line.
    private func receive(_ bytes: [UInt8]) {
        timeout.restart()
        line += bytes
        guard line.count < 1024 else { return close() }
        guard let end = line.firstIndex(of: UInt8(ascii: "\n")) else { return }
        let text = server.answer(String(decoding: line[..<end], as: UTF8.self))
        connection.send("\(text)\n")
        connection.end()
    }

    private func close() {
        connection.invalidate()
        timeout.invalidate()
        server.remove(self)
    }
}
