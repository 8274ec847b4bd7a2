import Foundation

/// Makes lines of chunks of bytes.
struct LineSplitter {
    private var rest = Data()

    /// The first byte of `rest` that has not been looked at.
    private var searched = 0

    mutating func add(_ bytes: [UInt8]) { rest.append(contentsOf: bytes) }

    /// The next complete line, without its end; nil when there is none yet.
    mutating func next() -> Data? {
        guard let end = rest[(rest.startIndex + searched)...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = rest.count
            return nil
        }
        defer {
            rest = rest[(end + 1)...]
            searched = 0
        }
        return rest[..<end]
    }

    /// What follows the last line's end; nil when there is nothing.
    mutating func takeRest() -> Data? {
        defer { self = LineSplitter() }
        return rest.isEmpty ? nil : rest
    }
}
