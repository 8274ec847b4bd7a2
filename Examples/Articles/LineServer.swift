import Glibc
import RunLoopKit

/// Sends each line that a client sends to all of them.
@MainActor
final class Server {
    private let listener: Loop.Listener
    var address: Loop.SocketAddress { listener.address! }
    /// At the largest number, the next ones wait in the kernel.
    private var clients: [ObjectIdentifier: Client] = [:] {
        didSet { listener.isAccepting = clients.count < 100 }
    }

    init(_ address: Loop.SocketAddress) throws {
        listener = try Loop.Listener(address)
        listener.setHandler(isolation: .shared) { [unowned self] _, connection in
            clients[ObjectIdentifier(connection)] = Client(connection, of: self)
        }
        Loop.main.add(listener, in: .common)
    }

    func sendToAll(_ line: String) {
        for client in clients.values { client.send(line) }
    }

    func remove(_ connection: Loop.Connection) {
        clients[ObjectIdentifier(connection)] = nil
    }

    /// Sends what waits, for two seconds at most, and serves nothing else.
    func end() {
        listener.end()
        for client in clients.values { client.connection.end(within: .seconds(2)) }
        Loop.main.run(mode: "ending", until: .distantFuture)
    }
}

@MainActor
final class Client {
    let connection: Loop.Connection
    private unowned let server: Server
    private let idle = Loop.Timer(restartableAfter: .seconds(60))
    private var lines = Loop.LineSplitter(maximalLength: 1024)

    init(_ connection: Loop.Connection, of server: Server) {
        (self.connection, self.server) = (connection, server)
        connection.setHandler(isolation: .shared) { [weak self] _, event in self?.handle(event) }
        idle.setHandler(isolation: .shared) { [weak self] _ in self?.close() }
        Loop.main.add(connection, in: .common)
        Loop.main.add(connection, in: "ending")
        Loop.main.add(idle, in: .common)
    }

    private func handle(_ event: Loop.Connection.Event) {
        for line in lines.add(event) {
            guard let text = line.text else { return close() }  // too long
            server.sendToAll(text)
        }
        switch event {
        case .received: idle.restart()
        case .peerFinished: connection.end(within: .seconds(2))
        case .closed: close()
        case .connected, .drained: break
        }
    }

    func send(_ line: String) {
        connection.send(Array("\(line)\n".utf8))
        // It reads too slowly.
        if connection.pendingByteCount > 1 << 20 { close() }
    }

    private func close() {
        connection.invalidate()
        idle.invalidate()
        server.remove(connection)
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
client.send(Array("hello\r\n".utf8))
for mode in [.common, "ending"] as [Loop.Mode] { Loop.main.add(client, in: mode) }

Loop.main.run()
server.end()
print("all clients have ended")
