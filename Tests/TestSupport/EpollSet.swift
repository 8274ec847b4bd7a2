#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// What the kernel says an epoll set watches: the lines of `/proc/self/fdinfo/<descriptor>` that begin with `tfd:`.
package struct EpollSet {
    package struct Entry: Hashable, CustomStringConvertible {
        package let descriptor: Int32
        /// Without errors and hang-ups, which the kernel adds to all.
        package let events: UInt32
        package let token: UInt64

        package init(descriptor: Int32, events: UInt32, token: UInt64) {
            (self.descriptor, self.events, self.token) = (descriptor, events & ~0x18, token)
        }

        package var description: String {
            "descriptor \(descriptor), events 0x\(String(events, radix: 16)), token 0x\(String(token, radix: 16))"
        }
    }

    /// What is watched, in no order; empty when the descriptor is no epoll set.
    package static func entries(of descriptor: Int32) -> [Entry] {
        var found: [Entry] = []
        withFields(ofFile: "/proc/self/fdinfo/\(descriptor)") { line in
            // tfd:        5 events:       19 data: ffffffffffffffff  pos:0 ino:2b sdev:e
            guard line.count >= 6, line[0] == "tfd:", let descriptor = Int32(line[1]),
                let events = UInt32(line[3], radix: 16), let token = UInt64(line[5], radix: 16)
            else { return }
            found.append(Entry(descriptor: descriptor, events: events, token: token))
        }
        return found
    }

    private static func withFields(ofFile path: String, _ body: ([Substring]) -> Void) {
        guard let text = text(ofFile: path) else { return }
        for line in text.split(separator: "\n") { body(line.split(separator: " ", maxSplits: 6)) }
    }
}

/// A small file's contents; nil when it cannot be read.
package func text(ofFile path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
        bytes += chunk[..<count]
    }
}

/// The descriptors that this process has open, each with what it is open on, such as `anon_inode:[eventpoll]`.
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
