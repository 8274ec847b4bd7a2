/// Divides chunks of bytes into lines.
struct LineSplitter {
    /// A line is longer than `LineSplitter.longestLine`.
    struct LineTooLong: Error {
        /// The message, one line.
        let message = "longer than \(LineSplitter.longestLine) bytes (1 MiB)"
    }

    /// In bytes, without the line's end. A line is held until its end arrives, and an input may have no line ends.
    static let longestLine = 1 << 20

    private var bytes: [UInt8] = []

    /// Where the next line begins.
    private var start = 0

    /// The first byte that has not been searched.
    private var searched = 0

    /// The number, from 1 on, of the line that `next()` or `takeRest()` last returned or refused.
    private(set) var lineNumber = 0

    mutating func add(_ chunk: [UInt8]) {
        bytes.removeFirst(start)
        searched -= start
        start = 0
        bytes += chunk
    }

    /// The next complete line, without its end; nil if there is none yet.
    mutating func next() throws(LineTooLong) -> [UInt8]? {
        let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n"))
        searched = end ?? bytes.count
        guard searched - start <= LineSplitter.longestLine else {
            lineNumber += 1
            throw LineTooLong()
        }
        guard let end else { return nil }
        defer {
            start = end + 1
            searched = start
        }
        lineNumber += 1
        return Array(bytes[start..<end])
    }

    /// The bytes after the last line's end; nil if there are none.
    mutating func takeRest() -> [UInt8]? {
        guard start < bytes.count else { return nil }
        defer {
            start = bytes.count
            searched = start
        }
        lineNumber += 1
        return Array(bytes[start...])
    }
}
