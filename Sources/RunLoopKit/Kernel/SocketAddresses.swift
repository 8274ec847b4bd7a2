internal import CLinux

extension System {
    /// The address of a socket: a sockaddr of its family.
    enum Address: Equatable {
        /// The four bytes of an address, and the port.
        case four([UInt8], UInt16)
        /// The sixteen bytes of an address, the port, and the scope of a link-local address.
        case six([UInt8], UInt16, scope: UInt32)
        /// The bytes of a path; none for a socket without a name. A first byte 0 begins an abstract name.
        case unix([UInt8])
        case other

        var family: Int32 {
            switch self {
            case .four: AF_INET
            case .six: AF_INET6
            case .unix: AF_UNIX
            case .other: AF_UNSPEC
            }
        }

        /// As the kernel takes it. A path must be shorter than `longestPath`.
        var bytes: [UInt8] {
            var bytes: [UInt8] = []
            withUnsafeBytes(of: sa_family_t(family)) { bytes += $0 }
            switch self {
            case .four(let host, let port):
                bytes += [UInt8(port >> 8), UInt8(port & 0xFF)] + host + [UInt8](repeating: 0, count: 8)
            case .six(let host, let port, let scope):
                bytes += [UInt8(port >> 8), UInt8(port & 0xFF), 0, 0, 0, 0] + host
                withUnsafeBytes(of: scope) { bytes += $0 }
            case .unix(let path): bytes += path.first == 0 ? path : path + [0]
            case .other: break
            }
            return bytes
        }

        /// From what the kernel has written.
        init(_ bytes: ArraySlice<UInt8>) {
            let bytes = Array(bytes)
            self = .other
            guard bytes.count >= 2 else { return }
            let family = bytes.withUnsafeBytes { Int32($0.loadUnaligned(as: sa_family_t.self)) }
            if family == AF_UNIX {
                let path = bytes[2...]
                self = .unix(Array(path.first == 0 ? path : path.prefix { $0 != 0 }))
            } else if family == AF_INET, bytes.count >= 8 {
                self = .four(Array(bytes[4..<8]), UInt16(bytes[2]) << 8 | UInt16(bytes[3]))
            } else if family == AF_INET6, bytes.count >= 28 {
                let scope = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 24, as: UInt32.self) }
                self = .six(Array(bytes[8..<24]), UInt16(bytes[2]) << 8 | UInt16(bytes[3]), scope: scope)
            }
        }
    }

    /// How many bytes a path may have, with a zero behind it.
    static var longestPath: Int { Int(CLINUX_ADDRESS_CAPACITY) - 2 }

    /// The error of a path that is too long.
    static var nameTooLong: Int32 { ENAMETOOLONG }

    /// The address that a socket has; `other` if the descriptor is no socket.
    static func ownAddress(of socket: Descriptor) -> Address { address { clinux_own_address(socket, $0) } }

    /// The address of a connected socket's peer; `other` if there is none.
    static func peerAddress(of socket: Descriptor) -> Address { address { clinux_peer_address(socket, $0) } }

    private static func address(_ ask: (UnsafeMutableRawPointer) -> Int32) -> Address {
        var bytes = [UInt8](repeating: 0, count: Int(CLINUX_ADDRESS_CAPACITY))
        let count = bytes.withUnsafeMutableBytes { ask($0.baseAddress!) }
        return Address(bytes.prefix(max(0, Int(count))))
    }

    /// The four or sixteen bytes of an address that is written in numbers; nil if it is not.
    static func hostBytes(_ text: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if bytes.withUnsafeMutableBytes({ clinux_parse_address(family, text, $0.baseAddress!) }) { return bytes }
        }
        return nil
    }

    /// The numbers of an address of four or sixteen bytes.
    static func hostText(_ bytes: [UInt8]) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
            let isPrinted = bytes.withUnsafeBytes {
                clinux_print_address(bytes.count == 4 ? AF_INET : AF_INET6, $0.baseAddress!, text.baseAddress!)
            }
            return isPrinted ? String(cString: text.baseAddress!) : ""
        }
    }
}
