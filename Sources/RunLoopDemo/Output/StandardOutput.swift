import Synchronization

/// Standard output, unbuffered: what is written is there to be read, and nothing is left to be flushed at the end.
enum StandardOutput {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// How many columns there are: the terminal's, or 80.
    static var width: Int { size?.columns ?? 80 }

    /// The terminal's; nil when there is none, or when it does not know.
    static var size: (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

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

/// Makes a file of `text`, in the place of any that is there. Returns 0, or the errno of what failed.
func writeFile(_ text: String, to file: String) -> Int32 {
    let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { return errno }
    let error = writeAll(text, to: descriptor)
    return close(descriptor) == 0 || error != 0 ? error : errno
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
