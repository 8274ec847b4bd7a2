import Foundation

/// A program that runs, and reads from a pipe.
package final class Conversation {
    private let process: Process
    private let input: Pipe
    private let output: FileHandle

    /// All that it has said so far.
    package private(set) var heard = Data()

    init(process: Process, input: Pipe, output: FileHandle) {
        (self.process, self.input, self.output) = (process, input, output)
    }

    package func send(_ text: String) { input.fileHandleForWriting.write(Data(text.utf8)) }

    /// Ends its input.
    package func hangUp() { try? input.fileHandleForWriting.close() }

    /// Waits until the program has said `text`, or has ended.
    package func wait(for text: String) {
        while !String(decoding: heard, as: UTF8.self).contains(text) {
            let more = output.availableData
            if more.isEmpty { return }
            heard += more
        }
    }

    /// Waits until the program has read what it was sent, or has ended.
    package func waitUntilAllIsRead() {
        var entry = pollfd(fd: input.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
        while poll(&entry, 1, 0) > 0, process.isRunning { sched_yield() }
    }

    package func signal(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Whether somebody has made the end of the pipe non-blocking that the program has inherited.
    package var inputIsNonBlocking: Bool {
        fcntl(input.fileHandleForReading.fileDescriptor, F_GETFL) & O_NONBLOCK != 0
    }
}
