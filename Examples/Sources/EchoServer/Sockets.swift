// What any server and client has, with or without a loop.

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

struct SocketError: Error, CustomStringConvertible {
    let description: String
    init(_ call: String) { description = "\(call): \(String(cString: strerror(errno)))" }
}

/// A socket that listens on a port of this machine, and does not block; and the port, a free one if `port` is 0.
func makeListener(port: UInt16) throws -> (socket: Int32, port: UInt16) {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let listener = socket(AF_INET, kind, 0)
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = loopback(port: port)
    guard listener >= 0, withAddress(&address, { bind(listener, $0, $1) }) == 0, listen(listener, SOMAXCONN) == 0 else {
        throw SocketError("cannot listen on port \(port)")
    }
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withAddress(&address) { bound, _ in getsockname(listener, bound, &size) }
    return (listener, UInt16(bigEndian: address.sin_port))
}

/// Connects to a port of this machine, sends a text and waits for its echo.
func connectAndEcho(port: UInt16, text: String) throws -> Int32 {
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = loopback(port: port)
    guard client >= 0, withAddress(&address, { connect(client, $0, $1) }) == 0 else {
        throw SocketError("cannot connect")
    }
    var echo = [UInt8](repeating: 0, count: text.utf8.count)
    guard write(client, text, echo.count) == echo.count,
        recv(client, &echo, echo.count, Int32(MSG_WAITALL)) == echo.count, echo.elementsEqual(text.utf8)
    else { throw SocketError("no echo") }
    return client
}

private func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    return address
}

/// Calls `body` with the address as the socket functions take it.
private func withAddress(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
) -> Int32 {
    withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
}
