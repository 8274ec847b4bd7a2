import CLinux
import Foundation
import TestSupport

/// A pipe whose ends close on exec from the beginning: a program has an end only as a descriptor that it was given.
/// Otherwise programs of concurrent tests would inherit each other's pipes, and a pipe is at its end only when every
/// program that has inherited it has ended.
struct PrivatePipe {
    let reader: FileHandle
    let writer: FileHandle

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, Int32(O_CLOEXEC)) == 0 else { throw SpawnError(code: errno) }
        reader = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        writer = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    }
}
