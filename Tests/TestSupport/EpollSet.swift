#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The kernel's view of an epoll set: the lines of `/proc/self/fdinfo/<descriptor>` that begin with `tfd:`.
package struct EpollSet {
    package struct Entry: Hashable, CustomStringConvertible {
        package let descriptor: Int32
        /// Without errors and hang-ups, which the kernel adds to every entry.
        package let events: UInt32
        package let token: UInt64

        package init(descriptor: Int32, events: UInt32, token: UInt64) {
            (self.descriptor, self.events, self.token) = (descriptor, events & ~0x18, token)
        }

        package var description: String {
            "descriptor \(descriptor), events 0x\(String(events, radix: 16)), token 0x\(String(token, radix: 16))"
        }
    }

    /// The entries, in no particular order; empty if the descriptor is not an epoll set.
    package static func entries(of descriptor: Int32) -> [Entry] {
        let info = open("/proc/self/fdinfo/\(descriptor)", O_RDONLY | O_CLOEXEC)
        guard info >= 0 else { return [] }
        defer { close(info) }
        // 81 bytes for each entry. The C library parses them, because this runs after every step of many programs.
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1 << 14) { bytes in
            var count = 0
            while count < bytes.count - 1 {
                let more = read(info, bytes.baseAddress! + count, bytes.count - 1 - count)
                guard more > 0 else { break }
                count += more
            }
            bytes[count] = 0
            return parse(bytes.baseAddress!)
        }
    }

    /// Parses lines such as `tfd:        5 events:       19 data: ffffffffffffffff  pos:0 ino:2b sdev:e`, after others.
    private static func parse(_ text: UnsafePointer<CChar>) -> [Entry] {
        var found: [Entry] = []
        var position: UnsafeMutablePointer<CChar>! = UnsafeMutablePointer(mutating: text)
        func number(after key: String, _ base: Int32) -> UInt64? {
            guard let start = strstr(position, key) else { return nil }
            return strtoull(start + key.utf8.count, &position, base)
        }
        while let descriptor = number(after: "tfd:", 10), let events = number(after: "events:", 16),
            let token = number(after: "data:", 16)
        {
            found.append(
                Entry(descriptor: Int32(descriptor), events: UInt32(truncatingIfNeeded: events), token: token))
        }
        return found
    }
}

/// The open descriptors of this process, each with its file, such as `anon_inode:[eventpoll]`.
package func openDescriptors() -> [Int32: String] {
    guard let folder = opendir("/proc/self/fd") else { return [:] }
    let own = dirfd(folder)
    defer { closedir(folder) }
    var found: [Int32: String] = [:]
    while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        guard let number = Int32(name), number != own else { continue }
        var target = [CChar](repeating: 0, count: 256)
        let count = readlink("/proc/self/fd/\(name)", &target, target.count)
        guard count > 0 else { continue }
        found[number] = String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    return found
}

/// The number of threads of this process.
package func threadCount() -> Int {
    guard let folder = opendir("/proc/self/task") else { return 0 }
    defer { closedir(folder) }
    var count = -2  // "." and "..".
    while readdir(folder) != nil { count += 1 }
    return count
}
