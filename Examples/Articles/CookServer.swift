import Glibc
import RunLoopKit

let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
let listener = socket(AF_INET, kind | Int32(SOCK_NONBLOCK.rawValue), 0)
let client = socket(AF_INET, kind, 0)  // to try the server
var address = sockaddr_in()
address.sin_family = sa_family_t(AF_INET)
address.sin_addr.s_addr = inet_addr("127.0.0.1")
address.sin_port = 0  // any that is free; or in_port_t(7007).bigEndian
var size = socklen_t(MemoryLayout<sockaddr_in>.size)
withUnsafeMutableBytes(of: &address) { bytes in
    let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
    guard bind(listener, address, size) == 0, listen(listener, 16) == 0,
        getsockname(listener, address, &size) == 0,
        connect(client, address, size) == 0
    else { fatalError("no listener") }
}
send(client, "hello", 5, 0)
shutdown(client, Int32(SHUT_WR))

let server = try Loop.FileDescriptorSource(owning: listener) { server, _ in
    let peer = accept(server.descriptor, nil, nil)
    guard peer >= 0 else { return }
    _ = fcntl(peer, F_SETFD, FD_CLOEXEC)
    let connection = try? Loop.FileDescriptorSource(owning: peer) {
        connection, _ in
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(connection.descriptor, &bytes, bytes.count, 0)
        guard count > 0 else {
            connection.invalidate()
            return Loop.main.stop()
        }
        print("echoes \(count) bytes")
        send(connection.descriptor, bytes, count, Int32(MSG_NOSIGNAL))
    }
    if let connection { Loop.main.add(connection, in: .common) }
}
Loop.main.add(server, in: .common)
Loop.main.run()
