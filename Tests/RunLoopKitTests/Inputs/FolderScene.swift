import Foundation
import LoopTestSupport
import Testing

@testable import RunLoopKit

/// A temporary folder, a source for it, and a log.
final class FolderScene {
    let outer: String
    let root: String
    let loop = Loop.inVirtualTime().0
    let log = Log<Loop.FolderSource.Event>()
    private(set) var source: Loop.FolderSource!
    private var open: [Int32] = []

    convenience init(_ options: Loop.FolderSource.Options = [], _ prepare: (FolderScene) -> Void = { _ in }) throws {
        try self.init(options, exclusion: nil, prepare)
    }

    convenience init(
        _ options: Loop.FolderSource.Options = [], excluding exclusion: @escaping Loop.FolderSource.Exclusion,
        _ prepare: (FolderScene) -> Void = { _ in }
    ) throws {
        try self.init(options, exclusion: exclusion, prepare)
    }

    init(
        _ options: Loop.FolderSource.Options, exclusion: Loop.FolderSource.Exclusion?, _ prepare: (FolderScene) -> Void
    ) throws {
        var template = Array("\(NSTemporaryDirectory())/folder-XXXXXX".utf8CString)
        outer = String(cString: mkdtemp(&template))
        root = outer + "/root"
        makeFolder("")
        prepare(self)
        let handler: Loop.FolderSource.Handler = { [log] _, events in
            #expect(!events.isEmpty)
            for event in events { log.add(event) }
        }
        source =
            if let exclusion {
                try Loop.FolderSource(root, options: options, excluding: exclusion, handler: handler)
            } else {
                try Loop.FolderSource(root, options: options, handler: handler)
            }
        loop.add(source)
    }

    deinit {
        for file in open { close(file) }
        try? FileManager.default.removeItem(atPath: outer)
    }

    func path(_ name: String) -> String { name.isEmpty ? root : root + "/" + name }

    func makeFolder(_ name: String) { #expect(mkdir(path(name), 0o755) == 0) }

    /// Makes a file without opening it.
    func make(_ name: String) { #expect(mknod(path(name), S_IFREG | 0o644, 0) == 0) }

    func write(_ name: String, closing: Bool = true) {
        let file = Glibc.open(path(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        #expect(file >= 0 && Glibc.write(file, "x", 1) == 1)
        if closing { close(file) } else { open.append(file) }
    }

    func move(_ old: String, to new: String) { #expect(rename(path(old), path(new)) == 0) }

    /// Exchanges the paths of two things. Returns false if the system cannot.
    func exchange(_ first: String, _ second: String) -> Bool {
        typealias Rename =
            @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
        guard let function = dlsym(nil, "renameat2") else { return false }
        // AT_FDCWD and RENAME_EXCHANGE.
        return unsafeBitCast(function, to: Rename.self)(-100, path(first), -100, path(second), 2) == 0
    }

    func remove(_ name: String) { #expect(Glibc.remove(path(name)) == 0) }

    /// Makes so many events that the kernel drops what comes next. False if it keeps too many for a test.
    func fillQueue() throws -> Bool {
        let text = try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
        guard let limit = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)), limit <= 100_000 else {
            return false
        }
        // Equal events in a row are one: so two names in turn. And an eighth more than suffices, since a file that is
        // closed while another test starts a program, which has a copy until its exec, makes its event later, or none.
        // What changes no folder takes the kernel less time.
        for name in ["a", "b"] { make(name) }
        for _ in 0...(limit / 2 + limit / 16) {
            for name in ["a", "b"] { touch(name) }
        }
        for name in ["a", "b"] { remove(name) }
        return true
    }

    /// Opens a file, and closes it, which is an event. Other tests may have all descriptors for a moment.
    private func touch(_ name: String) {
        var file: Int32
        repeat { file = Glibc.open(path(name), O_WRONLY | O_CLOEXEC) } while file < 0 && errno == EMFILE
        precondition(file >= 0, "open failed with \(errno)")
        close(file)
    }

    /// What has happened since the last call.
    ///
    /// - Parameter least: How many events to wait for.
    func news(_ least: Int = 0) -> [String] {
        let count = log.entries.count
        repeat { _ = loop.run(mode: .default, for: .seconds(1)) } while log.entries.count < count + least
        return log.entries.dropFirst(count).map(\.description)
    }
}
