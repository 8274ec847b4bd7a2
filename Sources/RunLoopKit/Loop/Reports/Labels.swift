/// The labels of blocks and limiters, each kept once and for good: a trace reads them without a lock, long after what
/// they name is gone.
///
/// A program has few of them, since a label names a kind of work. One that computes them without end must not grow
/// without end: see `limit`.
final class Labels: @unchecked Sendable {
    private static let ofProcess = OnePerProcess { _ in Labels() }

    /// The number of different labels that a process keeps.
    static let limit = 10_000

    private let lock = Lock(.leaf)
    /// Guarded by `lock`, so exclusivity is unchecked.
    @exclusivity(unchecked) private var texts: [String: UnsafePointer<UInt8>] = [:]

    private init() {}

    /// The text of a label, with a zero byte at its end. Nil for a new label when there are too many: the place stands
    /// in for it.
    ///
    /// Never inlined: most calls have no label.
    @inline(never)
    static func text(of label: String) -> UnsafePointer<UInt8>? { ofProcess.object.text(of: label) }

    private func text(of label: String) -> UnsafePointer<UInt8>? {
        lock.withLock {
            if let text = texts[label] { return text }
            guard texts.count < Labels.limit else { return nil }
            let text = Labels.copy(of: label)
            texts[label] = text
            return text
        }
    }

    /// Without unprintable characters: a zero byte would end the text early.
    private static func copy(of label: String) -> UnsafePointer<UInt8> {
        let bytes = Array(label.printable.utf8)
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count + 1)
        copy.initialize(from: bytes, count: bytes.count)
        (copy + bytes.count).initialize(to: 0)
        return UnsafePointer(copy)
    }
}
