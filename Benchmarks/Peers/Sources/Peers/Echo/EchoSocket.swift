import Foundation

/// Sockets of the servers and the client.
enum EchoSocket {
    enum Transport: String { case unix, tcp }

    static let messageSize = 64

    private nonisolated(unsafe) static var made = 0

    /// A descriptor that listens, and its address: a path, or a port on the loopback interface.
    static func listen(_ transport: Transport) -> (Int32, String) {
        made += 1
        let path = "\(NSTemporaryDirectory())echo-\(getpid())-\(made).sock"
        let descriptor = make(transport)
        unlink(path)
        withAddress(transport, transport == .unix ? path : "0") { check("bind", bind(descriptor, $0, $1)) }
        check("listen", Glibc.listen(descriptor, 1_024))
        guard transport == .tcp else { return (descriptor, path) }
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = check("getsockname", getsockname(descriptor, $0, &size))
            }
        }
        return (descriptor, "\(UInt16(bigEndian: address.sin_port))")
    }

    static func connect(_ transport: Transport, _ address: String) -> Int32 {
        let descriptor = make(transport, blocks: true)
        withAddress(transport, address) { check("connect", Glibc.connect(descriptor, $0, $1)) }
        prepare(descriptor)
        return descriptor
    }

    /// The next connection; nil if there is none.
    static func accept(_ listening: Int32) -> Int32? {
        let descriptor = Glibc.accept(listening, nil, nil)
        guard descriptor >= 0 else { return nil }
        prepare(descriptor)
        return descriptor
    }

    /// Sends back what has come. Returns false at the end of the connection.
    static func echo(_ descriptor: Int32) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            guard count > 0 else { return count < 0 && errno == EAGAIN }
            return write(descriptor, buffer.baseAddress, count) == count
        }
    }

    static func allowDescriptors() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(7), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(7), &limit)
    }

    /// Neither blocks nor delays small messages.
    private static func prepare(_ descriptor: Int32) {
        check("fcntl", fcntl(descriptor, F_SETFL, O_NONBLOCK))
        check("fcntl", fcntl(descriptor, F_SETFD, FD_CLOEXEC))
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, 4)
    }

    private static func make(_ transport: Transport, blocks: Bool = false) -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return check(
            "socket",
            socket(transport == .unix ? AF_UNIX : AF_INET, blocks ? kind : kind | Int32(SOCK_NONBLOCK.rawValue), 0))
    }

    private static func withAddress(
        _ transport: Transport, _ address: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Void
    ) {
        func call<Address>(_ address: inout Address) {
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<Address>.size)) }
            }
        }
        if transport == .tcp {
            var place = sockaddr_in()
            place.sin_family = sa_family_t(AF_INET)
            place.sin_port = UInt16(address)!.bigEndian
            place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return call(&place)
        }
        var place = sockaddr_un()
        place.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: address.utf8.prefix($0.count - 1)) }
        call(&place)
    }
}
