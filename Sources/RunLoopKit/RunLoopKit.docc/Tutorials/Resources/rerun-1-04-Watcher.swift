import Glibc
import RunLoopKit

struct Failure: Error, CustomStringConvertible {
    let description: String
}

/// Reports the files of a folder that are written, moved there or deleted.
@MainActor
final class Watcher {
    private let folder: String
    private let inotify = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))

    init(folder: String) throws {
        self.folder = folder
        let kinds = UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_TO) | UInt32(IN_DELETE)
        guard inotify_add_watch(inotify, folder, kinds) >= 0 else {
            throw Failure(description: "cannot watch \(folder)")
        }
        print("watching \(folder)")
    }
}
