import Foundation

/// Makes lines of chunks of bytes.
struct LineSplitter {
    // An array, not `Data`, whose pointers are tagged: the leak checker takes what they refer to for lost.
    private var bytes: [UInt8] = []

    /// Where the next line begins.
    private var start = 0

    /// The first byte that has not been looked at.
    private var searched = 0

    mutating func add(_ chunk: [UInt8]) {
        bytes.removeFirst(start)
        searched -= start
        start = 0
        bytes += chunk
    }

    /// The next complete line, without its end; nil when there is none yet.
    mutating func next() -> Data? {
        guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = bytes.count
            return nil
        }
        defer {
            start = end + 1
            searched = start
        }
        return Data(bytes[start..<end])
    }

    /// The lines that are complete with `chunk`.
    mutating func lines(with chunk: [UInt8]) -> [Data] {
        add(chunk)
        var lines: [Data] = []
        while let line = next() { lines.append(line) }
        return lines
    }

    /// What follows the last line's end; nil when there is nothing.
    mutating func takeRest() -> Data? {
        defer { self = LineSplitter() }
        return start < bytes.count ? Data(bytes[start...]) : nil
    }
}
