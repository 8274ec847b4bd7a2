import Foundation

/// A running program that reads from a pipe.
package final class Conversation {
    private let process: RunningProgram
    private let input: PrivatePipe
    private let output: FileHandle

    /// All output so far.
    package private(set) var heard = Data()

    init(process: RunningProgram, input: PrivatePipe, output: FileHandle) {
        (self.process, self.input, self.output) = (process, input, output)
    }

    package func send(_ text: String) { input.writer.write(Data(text.utf8)) }

    /// Ends the program's input.
    package func hangUp() { try? input.writer.close() }

    /// Waits until the output contains `text`, or the program has ended.
    package func wait(for text: String) {
        while !String(decoding: heard, as: UTF8.self).contains(text) {
            let more = output.availableData
            if more.isEmpty { return }
            heard += more
        }
    }

    /// Waits until the program has read all input that was sent, or has ended.
    package func waitUntilAllIsRead() {
        var entry = pollfd(fd: input.reader.fileDescriptor, events: Int16(POLLIN), revents: 0)
        while poll(&entry, 1, 0) > 0, process.isRunning { sched_yield() }
    }

    package func signal(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Whether a process has made the program's inherited end of the pipe non-blocking.
    package var inputIsNonBlocking: Bool {
        fcntl(input.reader.fileDescriptor, F_GETFL) & O_NONBLOCK != 0
    }
}
