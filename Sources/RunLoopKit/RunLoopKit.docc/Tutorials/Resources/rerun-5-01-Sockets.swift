import Glibc

/// A Unix socket that listens at a path, does not block, and is closed in commands.
func makeListener(path: String) throws -> Int32 {
    unlink(path)  // of a run that was killed
    let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
    let listener = socket(AF_UNIX, Int32(kind), 0)
    guard withAddress(path, { bind(listener, $0, $1) }) == 0, listen(listener, 16) == 0
    else {
        close(listener)
        throw Failure(description: "cannot listen at \(path)")
    }
    return listener
}

/// Calls `body` with the path as the socket functions take it.
func withAddress(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
}
