import Synchronization

/// Standard output, unbuffered: what is written is there to be read, and nothing is left to be flushed at the end.
enum StandardOutput {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Writes all of `text`. If that cannot be done the program is asked to end, and what is written later is dropped.
    static func write(_ text: String) {
        guard !isLost.load(ordering: .relaxed) else { return }
        let error = writeAll(text, to: STDOUT_FILENO)
        if error != 0 { lose(error) }
    }

    private static let isLost = Atomic<Bool>(false)

    private static func lose(_ error: Int32) {
        isLost.store(true, ordering: .relaxed)
        guard error != EPIPE else { return Interruption.request(.readerGone) }
        StandardError.write("\(RunLoopDemo.name): cannot write the output: \(String(cString: strerror(error)))\n")
        Interruption.request(.outputFailed)
    }
}

enum StandardError {
    static func write(_ text: String) { _ = writeAll(text, to: STDERR_FILENO) }
}

/// Returns 0, or the errno of the write that failed.
private func writeAll(_ text: String, to descriptor: Int32) -> Int32 {
    var text = text
    return text.withUTF8 { bytes in
        var rest = UnsafeRawBufferPointer(bytes)
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            } else if errno == EAGAIN {
                waitUntilWritable(descriptor)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}

/// The terminal may have been made non-blocking by whoever shares it.
private func waitUntilWritable(_ descriptor: Int32) {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&entry, 1, -1)
}
