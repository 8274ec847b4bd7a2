import Synchronization

/// Standard output, unbuffered: a reader sees all that was written, and the end needs no flush.
enum StandardOutput {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The number of columns: the terminal's, or the variable COLUMNS, or 80.
    static var width: Int {
        if let size = windowSize, size.ws_col > 0 { return Int(size.ws_col) }
        guard let columns = environmentVariable("COLUMNS").flatMap({ UInt16($0) }), columns > 0 else { return 80 }
        return Int(columns)
    }

    /// The terminal's size; nil without a terminal, or if it has no size.
    static var size: (columns: Int, rows: Int)? {
        guard let size = windowSize, size.ws_col > 0, size.ws_row > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    private static var windowSize: winsize? {
        var size = winsize()
        return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 ? size : nil
    }

    /// Writes all of `text`. If that fails, requests the program's end and drops later output.
    static func write(_ text: String) {
        guard !isLost.load(ordering: .relaxed) else { return }
        if let failure = writeAll(text, to: STDOUT_FILENO) { lose(failure) }
    }

    private static let isLost = Atomic<Bool>(false)

    private static func lose(_ failure: WriteFailure) {
        isLost.store(true, ordering: .relaxed)
        switch failure {
        case .interrupted: break
        case .error(EPIPE): Interruption.request(.readerGone)
        case .error(let error):
            let reason = error == EBADF ? "standard output is closed" : String(cString: strerror(error))
            StandardError.complain("cannot write the output: \(reason)")
            Interruption.request(.outputFailed)
        }
    }
}

enum StandardError {
    /// In characters. A message quotes input of any length; the rest is cut off.
    private static let longestMessage = 1000

    /// Writes a message of one line, with the program's name. Escapes unprintable characters.
    static func complain(_ message: String) {
        let isLong = message.unicodeScalars.count > longestMessage
        let shown = isLong ? String(message.unicodeScalars.prefix(longestMessage)) + "…" : message
        _ = writeAll("\(RunLoopDemo.name): \(shown.printable)\n", to: STDERR_FILENO)
    }
}
