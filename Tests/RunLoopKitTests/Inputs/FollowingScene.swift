import Foundation
import LoopTestSupport
import Testing

@testable import RunLoopKit

/// A temporary folder, in it three more, one in the other, a source for the innermost, and a log.
final class FollowingScene {
    // What events are called.
    static let gone = "the folder is gone"
    static let again = "look again at everything"

    let scratch: String
    let loop = Loop.inVirtualTime().0
    let log = Log<Loop.FolderSource.Event>()
    private(set) var source: Loop.FolderSource!

    init(
        _ options: Loop.FolderSource.Options = .followsPath, at name: String = "outer/inner/root",
        _ prepare: (FollowingScene) -> Void = { _ in }
    ) throws {
        var template = Array("\(NSTemporaryDirectory())/following-XXXXXX".utf8CString)
        scratch = String(cString: mkdtemp(&template))
        for name in ["outer", "outer/inner", "outer/inner/root"] { makeFolder(name) }
        prepare(self)
        source = try Loop.FolderSource(name.hasPrefix(".") ? name + path(name) : path(name), options: options) {
            [log] _, events in
            #expect(!events.isEmpty)
            for event in events { log.add(event) }
        }
        loop.add(source)
    }

    deinit { try? FileManager.default.removeItem(atPath: scratch) }

    func path(_ name: String) -> String {
        name.hasPrefix(".") ? scratch + "/outer/inner/root" : "\(scratch)/\(name)"
    }

    func makeFolder(_ name: String) { #expect(mkdir(path(name), 0o755) == 0) }
    func make(_ name: String) { #expect(mknod(path(name), S_IFREG | 0o644, 0) == 0) }
    func move(_ old: String, to new: String) { #expect(rename(path(old), path(new)) == 0) }
    func link(_ name: String, to target: String) { #expect(symlink(path(target), path(name)) == 0) }
    func remove(_ name: String) { #expect(Glibc.remove(path(name)) == 0) }

    /// The number of folders in the path of one, which is that of its watches and of those above.
    func depth(_ name: String) -> Int { System.resolved(path(name).utf8 + [0])!.count { $0 == UInt8(ascii: "/") } }

    /// What has happened since the last call.
    func news() -> [String] {
        let count = log.entries.count
        _ = loop.run(mode: .default, for: .seconds(1))
        return log.entries.dropFirst(count).map(\.description)
    }
}
