import Foundation

/// Keeps programs of concurrent tests from inheriting each other's pipes: a pipe is at its end only when every program
/// that has inherited it has ended.
enum Spawning {
    /// Held while a program is started, and while a pipe exists that a starting program could inherit.
    private static let lock = NSLock()

    static func withLock<Result>(_ body: () throws -> Result) rethrows -> Result { try lock.withLock(body) }

    /// A pipe that only the program inherits whose input or output it is.
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
