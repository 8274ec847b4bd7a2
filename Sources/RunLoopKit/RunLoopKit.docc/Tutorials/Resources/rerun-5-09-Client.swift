import RunLoopKit

/// Sends a line to a server, and prints the answer.
func ask(socketAt path: String, _ line: String) throws {
    let connection = try Loop.Connection(connectingTo: .unix(path)) { connection, event in
        switch event {
        case .received(let bytes):
            print(String(decoding: bytes, as: UTF8.self), terminator: "")
        case .peerFinished: connection.end()
        case .closed(let error): if let error { print(error) }
        case .connected, .drained: break
        }
    }
    connection.send("\(line)\n")
    Loop.main.add(connection, in: "ask")
    Loop.main.run(mode: "ask", until: .distantFuture)  // until it is closed
}
