import Foundation
import TestSupport

/// A pipe whose ends close on exec from the beginning: a program has an end only as a descriptor that it was given.
/// Otherwise programs of concurrent tests would inherit each other's pipes, and a pipe is at its end only when every
/// program that has inherited it has ended.
struct PrivatePipe {
    let reader: FileHandle
    let writer: FileHandle

    /// `pipe2` would make such a pipe too, but the C library's Swift module lacks it. A pipe with a name has the same
    /// properties, and its ends are opened like files.
    init() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        guard mkfifo(path, 0o600) == 0 else { throw SpawnError(code: errno) }
        defer { unlink(path) }
        // Without O_NONBLOCK it would wait for the other end.
        let ends = [O_RDONLY | O_NONBLOCK, O_WRONLY].map { open(path, $0 | O_CLOEXEC) }
        guard ends.allSatisfy({ $0 >= 0 }), fcntl(ends[0], F_SETFL, O_RDONLY) == 0 else {
            throw SpawnError(code: errno)
        }
        (reader, writer) = (
            FileHandle(fileDescriptor: ends[0], closeOnDealloc: true),
            FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        )
    }
}
