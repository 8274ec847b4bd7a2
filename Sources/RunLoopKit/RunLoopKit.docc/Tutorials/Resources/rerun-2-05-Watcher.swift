import Glibc
import RunLoopKit

struct Failure: Error, CustomStringConvertible {
    let description: String
}

/// Reports the files of a folder that are written, moved there or deleted, once
/// each of them has come to rest.
@MainActor
final class Watcher {
    private let folder: String
    private let changes: KeyedDebounce<String, Void>
    private let inotify = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))

    init(folder: String, rest: Duration = .milliseconds(200)) throws {
        self.folder = folder
        changes = KeyedDebounce(interval: rest, isolation: .shared) { path, _ in
            print("changed: \(path)")
        }
        let kinds = UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_TO) | UInt32(IN_DELETE)
        guard inotify_add_watch(inotify, folder, kinds) >= 0 else {
            throw Failure(description: "cannot watch \(folder)")
        }
        let source = try Loop.FileDescriptorSource(
            owning: inotify, isolation: .shared
        ) { [unowned self] _, _ in
            readEvents()
        }
        Loop.main.add(source, in: .common)
        print("watching \(folder)")
    }

    /// Reports what is pending.
    func finish() {
        while readEvents() {}  // what came before the signal
        changes.flushAll()
    }

    /// Reads what a buffer holds. Returns whether there was anything.
    @discardableResult private func readEvents() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        let count = read(inotify, &buffer, buffer.count)
        guard count > 0 else { return false }
        buffer.withUnsafeBytes { bytes in
            var offset = 0
            while offset < count {
                let event = bytes.loadUnaligned(
                    fromByteOffset: offset, as: inotify_event.self)
                offset += MemoryLayout<inotify_event>.size
                let name = bytes[offset..<(offset + Int(event.len))]
                offset += Int(event.len)
                let file = String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
                changes(for: "\(folder)/\(file)")
            }
        }
        return true
    }
}
