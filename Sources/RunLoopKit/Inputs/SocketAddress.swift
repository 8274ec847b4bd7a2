extension Loop {
    /// Where a ``Listener`` listens, and what a ``Connection`` connects to.
    ///
    /// ```swift
    /// let address: Loop.SocketAddress = .tcp(.loopback, port: 7007)
    /// print(address)  // 127.0.0.1:7007
    /// ```
    ///
    /// Names of hosts are not looked up, since that blocks: call `getaddrinfo` on a ``LoopThreadPool``.
    public enum SocketAddress: Hashable, Sendable, CustomStringConvertible {
        /// A TCP port of a host. A listener at port 0 gets a free one, which its ``Listener/address`` has.
        case tcp(_ host: Host, port: UInt16)

        /// The path of a Unix socket, of 107 bytes at most. A relative one counts from the working folder. A path that
        /// begins with a NUL is an abstract name, which is no file; an empty one is that of a socket without a name.
        case unix(_ path: String)

        /// The port; 0 for a Unix socket.
        public var port: UInt16 { if case .tcp(_, let port) = self { port } else { 0 } }

        /// The host and the port, or the path: `127.0.0.1:80`, `[::1]:80`, `/run/example.socket`.
        public var description: String {
            switch self {
            case .tcp(let host, let port): host.bytes.count == 4 ? "\(host):\(port)" : "[\(host)]:\(port)"
            case .unix(let path): path.utf8.first == 0 ? "@\(path.dropFirst())".printable : path.printable
            }
        }
    }
}

extension Loop.SocketAddress {
    /// An IPv4 or IPv6 address.
    public struct Host: Hashable, Sendable, CustomStringConvertible {
        /// The four or sixteen bytes, the most significant one first.
        public let bytes: [UInt8]

        /// The number of the interface that a link-local IPv6 address is of; 0 for others.
        public let scope: UInt32

        init(bytes: [UInt8], scope: UInt32 = 0) { (self.bytes, self.scope) = (bytes, scope) }

        /// Reads an address that is written in numbers, such as `192.0.2.1` or `2001:db8::1`. Nil if the text is none.
        ///
        /// - Parameters:
        ///   - text: The numbers, without a port.
        ///   - scope: The number of an interface, for a link-local IPv6 address.
        public init?(_ text: String, scope: UInt32 = 0) {
            guard !text.utf8.contains(0), let bytes = System.hostBytes(text) else { return nil }
            self.init(bytes: bytes, scope: scope)
        }

        /// This machine, by IPv4: `127.0.0.1`.
        public static var loopback: Host { Host(bytes: [127, 0, 0, 1]) }

        /// All IPv4 addresses of this machine: `0.0.0.0`. For listeners.
        public static var any: Host { Host(bytes: [0, 0, 0, 0]) }

        /// This machine, by IPv6: `::1`.
        public static var loopbackV6: Host { Host(bytes: [UInt8](repeating: 0, count: 15) + [1]) }

        /// All IPv6 addresses of this machine: `::`. A listener accepts IPv4 as well, unless `net.ipv6.bindv6only` is
        /// set; the peers' addresses are like `::ffff:192.0.2.1` then.
        public static var anyV6: Host { Host(bytes: [UInt8](repeating: 0, count: 16)) }

        /// The address in numbers.
        public var description: String { System.hostText(bytes) + (scope == 0 ? "" : "%\(scope)") }
    }

    /// Nil for an address of another family.
    init?(_ address: System.Address) {
        switch address {
        case .four(let host, let port): self = .tcp(Host(bytes: host), port: port)
        case .six(let host, let port, let scope): self = .tcp(Host(bytes: host, scope: scope), port: port)
        case .unix(let path): self = .unix(String(decoding: path, as: UTF8.self))
        case .other: return nil
        }
    }

    /// The address as the kernel takes it.
    ///
    /// - Parameter call: What is to be called, for the error of a path that the kernel cannot take.
    func ofSystem(_ call: String) throws(LoopError) -> System.Address {
        switch self {
        case .tcp(let host, let port):
            return host.bytes.count == 4 ? .four(host.bytes, port) : .six(host.bytes, port, scope: host.scope)
        case .unix(let path):
            let bytes = Array(path.utf8)
            guard !bytes.isEmpty, bytes.first == 0 || !bytes.contains(0) else {
                throw LoopError(
                    call: "\(call)(\(self))", code: System.invalidArgument,
                    advice: bytes.isEmpty ? "the path is empty" : "the path contains a NUL")
            }
            guard bytes.count < System.longestPath else {
                throw LoopError(
                    call: "\(call)(\(self))", code: System.nameTooLong,
                    advice: "the path of a socket has \(System.longestPath - 1) bytes at most")
            }
            return .unix(bytes)
        }
    }
}
