import Glibc
import RunLoopKit

/// One end of a TCP connection, which never blocks its loop.
@MainActor final class Connection {
    private var source: Loop.FileDescriptorSource?
    private var waiting: ArraySlice<UInt8> = []  // no room for them yet
    var onBytes: (ArraySlice<UInt8>) -> Void = { _ in }
    var onEnd: () -> Void = {}
    private(set) var hasWaited = false

    /// - Parameter socket: A connected one, which the source closes.
    init(_ socket: Int32) throws {
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)  // no child inherits it
        let source = try Loop.FileDescriptorSource(
            owning: socket, isolation: .shared
        ) { [weak self] _, ready in
            guard let self else { return }
            if ready.contains(.writable) { flush() }
            // A hang-up or an error shows in what `read` returns.
            if ready != .writable { receive() }
        }
        Loop.main.add(source, in: .common)
        self.source = source
    }

    deinit { source?.invalidate() }

    func send(_ bytes: [UInt8]) {
        waiting += bytes
        flush()
    }

    /// Ends the connection: what waits is dropped.
    func end() {
        source?.invalidate()  // closes the socket once its handler returns
        source = nil
        onEnd()
    }

    /// Writes what the socket has room for. Waits for more room only while
    /// bytes wait: a socket nearly always has some.
    private func flush() {
        guard let source else { return }
        while !waiting.isEmpty {
            let count = waiting.withUnsafeBytes {
                Glibc.send(
                    source.descriptor, $0.baseAddress, $0.count,
                    Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                waiting = waiting.dropFirst(count)
            } else if errno == EAGAIN {
                hasWaited = true
                break
            } else if errno != EINTR {
                return end()
            }
        }
        source.interest = waiting.isEmpty ? .read : [.read, .write]
    }

    /// Reads a part. If there is more, the next pass calls again.
    private func receive() {
        guard let source else { return }
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = read(source.descriptor, &bytes, bytes.count)
        if count > 0 {
            onBytes(bytes[..<count])
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            end()  // of the data, or an error
        }
    }
}

// A server whose answer is longer than any socket's buffer.
var connections: [Connection] = []  // nothing else retains them
let listener = try listen()
let accepting = try Loop.FileDescriptorSource(
    owning: listener.socket, isolation: .shared
) { source, _ in
    let socket = accept(source.descriptor, nil, nil)
    if socket < 0, errno == EMFILE || errno == ENFILE {
        source.disarm()  // no descriptor is left: it would stay ready
        let retry = Loop.Timer(after: .seconds(1)) { _ in source.rearm() }
        Loop.main.add(retry, in: .common)
    }
    guard socket >= 0 else { return }
    guard let peer = try? Connection(socket) else {
        return _ = close(socket)
    }
    connections.append(peer)
    peer.onBytes = { [unowned peer] _ in
        peer.send([UInt8](repeating: 1, count: 32_000_000))
    }
    peer.onEnd = { [unowned peer] in
        print("the server has waited for room: \(peer.hasWaited)")
        connections.removeAll { $0 === peer }
        Loop.main.stop()
    }
}
Loop.main.add(accepting, in: .common)

let client = try Connection(connect(to: listener.port))
var received = 0
client.onBytes = { bytes in
    received += bytes.count
    if received == 32_000_000 { client.end() }
}
client.send(Array("please".utf8))
Loop.main.run()
print("the client has received \(received) bytes")

// What any program with sockets has, with or without a loop.
struct SocketError: Error { let code = errno }

func withLocalAddress(
    _ port: UInt16,
    _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32
) throws -> UInt16 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, &size)
        }
    }
    guard result == 0 else { throw SocketError() }
    return UInt16(bigEndian: address.sin_port)
}

func listen() throws -> (socket: Int32, port: UInt16) {
    let flags = SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | flags), 0)
    let port = try withLocalAddress(0) { address, size in
        guard bind(listener, address, size) == 0,
            Glibc.listen(listener, 16) == 0
        else { return -1 }
        return getsockname(listener, address, &size)
    }
    return (listener, port)
}

func connect(to port: UInt16) throws -> Int32 {
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    _ = try withLocalAddress(port) { Glibc.connect(client, $0, $1) }
    return client
}
