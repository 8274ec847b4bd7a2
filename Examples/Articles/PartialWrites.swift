import RunLoopKit

// A server whose answer is longer than any socket's buffer.
let answer = [UInt8](repeating: 1, count: 32_000_000)
let listener = try Loop.Listener(.tcp(.loopback, port: 0)) { _, connection in
    connection.setHandler { connection, event in
        switch event {
        case .received:
            connection.send(answer)
            print("some waits: \(connection.pendingByteCount > 0)")
        case .drained: print("none waits any more")
        case .peerFinished: connection.end()
        case .closed(let error):
            print(error.map { "failed: \($0)" } ?? "the server has closed")
            Loop.main.stop()
        case .connected: break
        }
    }
    Loop.main.add(connection, in: .common)
}
Loop.main.add(listener, in: .common)

let client = try Loop.Connection(
    connectingTo: listener.address!, isolation: .shared
) { client, event in
    guard case .received(let bytes) = event else { return }
    received += bytes.count
    if received == answer.count {
        print("the client has received \(received) bytes")
        client.end()
    }
}
var received = 0
client.send(Array("please".utf8))
Loop.main.add(client, in: .common)
Loop.main.run()
