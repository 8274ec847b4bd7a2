import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

extension Operation {
    static let connections = [
        // 64 bytes to the other end of a pair of sockets, in the same loop, and back.
        Operation("connection-echo") { loop in
            let ends = socketPair()
            let count = Received()
            let client = try Loop.Connection(owning: ends.0) { _, event in
                if case .received(let bytes) = event { count.bytes += bytes.count }
            }
            let server = try Loop.Connection(owning: ends.1) { server, event in
                if case .received(let bytes) = event { server.send(bytes) }
            }
            loop.add(client)
            loop.add(server)
            let bytes = [UInt8](repeating: 7, count: 64)
            return { rounds in
                for _ in 0..<rounds {
                    let expected = count.bytes + bytes.count
                    client.send(bytes)
                    while count.bytes < expected { loop.run(for: .zero) }
                }
            }
        },
        // A connection to a Unix socket: made, accepted, and closed at both ends.
        Operation("connection-accepted") { loop in
            // As long in each process: a short string takes fewer instructions.
            let number = String(getpid())
            let name = "operation-" + String(repeating: "0", count: 10 - number.count) + number
            let address = Loop.SocketAddress.unix("\0" + name)
            let listener = try Loop.Listener(address) { _, connection in connection.invalidate() }
            loop.add(listener)
            return { count in
                for _ in 0..<count {
                    let client = try! Loop.Connection(connectingTo: address)
                    loop.run(for: .zero)
                    client.invalidate()
                }
            }
        },
    ]
}

/// Only the loop's thread uses it.
private final class Received: @unchecked Sendable {
    var bytes = 0
}

private func socketPair() -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    let stream: Int32 = 1
    precondition(socketpair(AF_UNIX, stream, 0, &ends) == 0)
    return (ends[0], ends[1])
}
