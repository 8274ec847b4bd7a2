import Glibc
import RunLoopKit

/// A client of the server, until it has its answer, closes, or is silent for five seconds.
@MainActor
final class Connection {
    private unowned let server: Server
    private let source: Loop.FileDescriptorSource
    private let timeout = Loop.Timer(restartableAfter: .seconds(5))
    private var line: [UInt8] = []

    init(_ socket: Int32, of server: Server) throws {
        self.server = server
        source = try Loop.FileDescriptorSource(owning: socket)
        source.setHandler(isolation: .shared) { [weak self] _, _ in
            guard let self else { return }
            receive()
        }
        timeout.setHandler(isolation: .shared) { [weak self] _ in
            guard let self else { return }
            end()
        }
        Loop.main.add(source, in: .common)
        Loop.main.add(timeout, in: .common)
    }

    /// Reads what has come, and answers a line.
    func receive() {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(source.descriptor, &bytes, bytes.count)
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        guard count > 0, line.count < 1024 else { return end() }
        timeout.restart()
        line += bytes[..<count]
        guard let end = line.firstIndex(of: UInt8(ascii: "\n")) else { return }
        let text = server.answer(String(decoding: line[..<end], as: UTF8.self)) + "\n"
        send(source.descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL))
        self.end()
    }

    func end() {
        source.invalidate()  // closes the socket
        timeout.invalidate()
        server.remove(self)
    }
}
