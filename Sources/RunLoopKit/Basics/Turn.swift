import Synchronization

/// Who was first: numbers that only grow, for the whole process.
enum Turn {
    private static let last = Atomic<UInt64>(0)

    /// A number larger than all before, and so never 0. Relaxed: only the numbers' order is wanted.
    static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}
