import Glibc
import RunLoopKit

/// Sends each line that a client sends to all of them.
@MainActor
final class Server {
    let listener: Loop.Listener
    private let connections = Loop.ConnectionSet()
    var address: Loop.SocketAddress { listener.address! }

    init(_ address: Loop.SocketAddress) throws {
        listener = try Loop.Listener(address)
        listener.setHandler(isolation: .shared) { [unowned self] _, connection in
            let client = Client(of: self)
            // It retains the client until it is closed.
            connection.setHandler(isolation: .shared, client.handle)
            connection.idleLimit = .seconds(60)
            Loop.main.add(connection, in: .common)
            Loop.main.add(connection, in: "ending")
            connections.insert(connection)
            // At the largest number, the next ones wait in the kernel.
            listener.isAccepting = connections.count < 100
        }
        Loop.main.add(listener, in: .common)
    }

    func sendToAll(_ line: String) {
        for connection in connections.connections {
            connection.send("\(line)\n")
            // It reads too slowly.
            if connection.pendingByteCount > 1 << 20 { connection.end(within: .zero) }
        }
    }

    /// Sends what waits, for two seconds at most, and serves nothing else.
    func end() {
        listener.end()
        connections.end(within: .seconds(2))
        Loop.main.run(mode: "ending", until: .distantFuture)
    }
}

@MainActor
final class Client {
    private unowned let server: Server
    private var lines = Loop.LineSplitter(maximalLength: 1024)

    init(of server: Server) { self.server = server }

    func handle(_ connection: Loop.Connection, _ event: Loop.Connection.Event) {
        for line in lines.add(event) {
            // Without a text it is too long.
            if let text = line.text { server.sendToAll(text) } else { connection.end(within: .zero) }
        }
        switch event {
        case .peerFinished: connection.end(within: .seconds(2))
        case .closed(let error):
            // The ends above are no failures.
            if let error, !error.isOwnLimit { print("a client failed: \(error)") }
            server.listener.isAccepting = true
        case .connected, .received, .drained: break
        }
    }
}

let server = try Server(.tcp(.loopback, port: 0))
let terminate = try Loop.SignalSource(SIGTERM, isolation: .shared) { _, _ in Loop.main.stop() }
Loop.main.add(terminate, in: .common)

// To try the server: a client that ends the program when it has its line.
let client = try Loop.Connection(connectingTo: server.address) { client, event in
    if case .received(let bytes) = event {
        print(String(decoding: bytes, as: UTF8.self), terminator: "")
        kill(getpid(), SIGTERM)
    }
    if event == .peerFinished { client.end() }
}
client.send("hello\r\n")
for mode in [.common, "ending"] as [Loop.Mode] { Loop.main.add(client, in: mode) }

Loop.main.run()
server.end()
print("all clients have ended")
