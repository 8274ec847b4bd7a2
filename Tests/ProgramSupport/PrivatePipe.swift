import Foundation
import TestSupport

/// A pipe whose ends close on exec from the beginning: a program has an end only as a descriptor that it was given.
/// Otherwise programs of concurrent tests would inherit each other's pipes, and a pipe is at its end only when every
/// program that has inherited it has ended.
struct PrivatePipe {
    let reader: FileHandle
    let writer: FileHandle

    /// Looked up by name, since the C library's Swift module lacks it. Not a pipe with a name in its stead: a program
    /// that opens such a pipe again does not notice that its writers are gone.
    private static let pipe2 = unsafeBitCast(
        dlsym(nil, "pipe2"), to: (@convention(c) (UnsafeMutablePointer<Int32>, Int32) -> Int32).self)

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard PrivatePipe.pipe2(&ends, O_CLOEXEC) == 0 else { throw SpawnError(code: errno) }
        reader = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        writer = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    }
}
