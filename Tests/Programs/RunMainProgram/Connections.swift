import CLinux
import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Listeners and connections whose handlers belong to the main actor: each form of each, and an echo between them.
@MainActor final class Conversations {
    private let heard: Heard
    private var servers: [Loop.Connection] = []

    init(_ heard: Heard) { self.heard = heard }

    /// What is heard in all.
    static let count = 3 + 3 * 3 + 3

    func begin() throws {
        let socket = clinux_make_stream_socket(AF_INET)
        precondition(listen(socket, 4) == 0)
        let address = Loop.SocketAddress.tcp(.loopback, port: 0)
        let late = try Loop.Listener(address)
        let listeners = [
            try Loop.Listener(address, isolation: .shared) { [self] in serve("made", $0, $1) },
            try Loop.Listener(owning: socket, isolation: .shared) { [self] in serve("adopted", $0, $1) },
            late,
        ]
        late.setHandler(isolation: .shared) { [self] in serve("late", $0, $1) }
        for (number, listener) in listeners.enumerated() {
            precondition(Loop.main.add(listener, in: .common))
            try connect(number, to: listener.address!)
        }
        try hearAPipe()
    }

    /// Accepts one connection, which echoes.
    private func serve(_ name: String, _ listener: Loop.Listener, _ connection: Loop.Connection) {
        heard.add("listener, \(name)")
        listener.invalidate()
        servers.append(connection)
        connection.setHandler(isolation: .shared) { [self] connection, event in
            if case .received(let bytes) = event { connection.send(bytes) }
            if event == .peerFinished {
                connection.end()
                servers.removeAll { $0 === connection }
            }
        }
        precondition(Loop.main.add(connection, in: .common))
    }

    private func connect(_ number: Int, to address: Loop.SocketAddress) throws {
        let handler: @MainActor (Loop.Connection, Loop.Connection.Event) -> Void = { [self] in
            hear("client \(number)", $0, $1)
        }
        let isLate = number == 2
        let client =
            isLate
            ? try Loop.Connection(connectingTo: address)
            : try Loop.Connection(connectingTo: address, isolation: .shared, handler: handler)
        if isLate { precondition(client.setHandler(isolation: .shared, handler)) }
        precondition(Loop.main.add(client, in: .common) && client.send(Array("hello".utf8)))
        client.finishSending()
    }

    private func hearAPipe() throws {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0)
        let reader = try Loop.Connection(owning: ends[0], isolation: .shared) { [self] connection, event in
            hear("pipe", connection, event)
            if event == .peerFinished {
                heard.add("pipe, finished")
                connection.end()
            }
        }
        precondition(Loop.main.add(reader, in: .common))
        let writer = try Loop.Connection(owning: ends[1], isolation: .shared) { _, _ in }
        precondition(Loop.main.add(writer, in: .common) && writer.send(Array("bytes".utf8)))
        writer.end()
    }

    private func hear(_ name: String, _ connection: Loop.Connection, _ event: Loop.Connection.Event) {
        switch event {
        case .connected: heard.add("\(name), connected")
        case .received(let bytes): heard.add("\(name), \(String(decoding: bytes, as: UTF8.self))")
        case .closed(let error): heard.add("\(name), closed\(error.map { ": \($0)" } ?? "")")
        case .peerFinished, .drained: break
        }
    }
}
