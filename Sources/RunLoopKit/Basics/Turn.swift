import Synchronization

/// Process-wide sequence numbers that order events.
enum Turn {
    private static let last = Atomic<UInt64>(0)

    /// Returns a number larger than all before; never 0. Relaxed: the numbers order events and publish nothing.
    static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}
