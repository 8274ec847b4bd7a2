import Foundation

/// Keeps the programs of tests that run at the same time out of each other's pipes: a pipe is at its end only when
/// every program that has inherited it has ended.
enum Spawning {
    /// Held while a program is started, and while a pipe exists that is not closed by starting one.
    private static let lock = NSLock()

    static func withLock<Result>(_ body: () throws -> Result) rethrows -> Result { try lock.withLock(body) }

    /// A pipe that no program inherits but the one that gets it as its input or output.
    static func makePipe() -> Pipe {
        withLock {
            let pipe = Pipe()
            for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
                _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
            }
            return pipe
        }
    }
}
