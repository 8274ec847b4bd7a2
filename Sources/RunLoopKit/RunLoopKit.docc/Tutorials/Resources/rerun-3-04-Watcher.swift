import Glibc
import RunLoopKit

struct Failure: Error, CustomStringConvertible {
    let description: String
}

/// Reports the files of a folder that are written, moved there or deleted, once
/// each of them has come to rest.
@MainActor
final class Watcher {
    private var folder = ""
    private var watch: Int32 = -1  // inotify's number for the folder
    private let changes: KeyedDebounce<String, Void>
    private let inotify = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))

    init(folder: String, rest: Duration) throws {
        changes = KeyedDebounce(interval: rest, isolation: .shared) { path, _ in
            print("changed: \(path)")
        }
        let source = try Loop.FileDescriptorSource(
            owning: inotify, isolation: .shared
        ) { [unowned self] _, _ in
            readEvents()
        }
        try watch(folder, rest: rest)
        Loop.main.add(source, in: .common)
    }

    /// Watches another folder from now on. If it cannot, nothing changes.
    func watch(_ folder: String, rest: Duration) throws {
        let kinds = UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_TO) | UInt32(IN_DELETE)
        let new = inotify_add_watch(inotify, folder, kinds)
        guard new >= 0 else { throw Failure(description: "cannot watch \(folder)") }
        if watch >= 0, watch != new { inotify_rm_watch(inotify, watch) }
        watch = new
        self.folder = folder
        changes.interval = rest
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
                guard event.wd == watch, !file.isEmpty else { continue }
                changes(for: "\(folder)/\(file)")
            }
        }
        return true
    }
}
