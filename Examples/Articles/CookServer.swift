import RunLoopKit

let server = try Loop.Listener(.tcp(.loopback, port: 0)) { _, connection in
    connection.setHandler { connection, event in
        switch event {
        case .received(let bytes):
            print("echoes \(bytes.count) bytes")
            connection.send(bytes)  // does not wait
        case .peerFinished: connection.end()
        case .closed: Loop.main.stop()
        case .connected, .drained: break
        }
    }
    Loop.main.add(connection, in: .common)
}
Loop.main.add(server, in: .common)

// To try the server: it listens at a free port of this machine.
let client = try Loop.Connection(connectingTo: server.address!) { _, _ in }
client.send("hello")
client.finishSending()
Loop.main.add(client, in: .common)
Loop.main.run()
