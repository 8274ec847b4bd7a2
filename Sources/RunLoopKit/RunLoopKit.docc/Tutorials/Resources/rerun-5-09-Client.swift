import Glibc

/// Sends a line to a server, and prints the answer.
func ask(socketAt path: String, _ line: String) throws {
    let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(server) }
    guard withAddress(path, { connect(server, $0, $1) }) == 0 else {
        throw Failure(description: "cannot connect to \(path)")
    }
    let text = line + "\n"
    send(server, text, text.utf8.count, Int32(MSG_NOSIGNAL))
    var bytes = [UInt8](repeating: 0, count: 1024)
    while case let count = read(server, &bytes, bytes.count), count > 0 {
        print(String(decoding: bytes[..<count], as: UTF8.self), terminator: "")
    }
}
