import Synchronization

/// How far a loop is on its way to its end. It only moves forward.
///
/// | a loop that is | then comes | and it is |
/// |---|---|---|
/// | open | `close(discardingBlocks: false)` | closing |
/// | open, closing | `close(discardingBlocks: true)` | discarding |
/// | open, closing, discarding | `end(tellingSources:)` | ended |
enum Lifecycle: UInt8, AtomicRepresentable, Comparable {
    /// The loop accepts items and blocks.
    case open
    /// The loop refuses items and blocks. Its runs end, and it will run the blocks that it has accepted.
    case closing
    /// As `closing`, but blocks that have not begun are dropped.
    case discarding
    /// Nothing is in the loop, and it cannot run.
    case ended

    static func < (earlier: Self, later: Self) -> Bool { earlier.rawValue < later.rawValue }
}

extension Loop {
    /// Moves on to a later state; does nothing if the loop is there, or has passed it. The lock is held, so a caller
    /// that holds the lock and finds the loop open may put things into it.
    func advance(to next: Lifecycle) {
        lock.assertHeld()
        // Release: a thread that finds the loop in this state sees what the caller did before.
        if lifecycle.load(ordering: .relaxed) < next { lifecycle.store(next, ordering: .releasing) }
    }

    /// Whether the loop accepts items and blocks. The lock is held.
    var isOpen: Bool {
        lock.assertHeld()
        return lifecycle.load(ordering: .relaxed) == .open
    }

    /// Whether every run is to end. Acquire: see `advance(to:)`.
    var isClosing: Bool { lifecycle.load(ordering: .acquiring) >= .closing }

    /// Whether blocks that a pass has taken out already are to be dropped. Relaxed: nothing depends on when it is seen.
    var discardsBlocks: Bool { lifecycle.load(ordering: .relaxed) >= .discarding }

    /// Acquire: see `advance(to:)`.
    var hasEnded: Bool { lifecycle.load(ordering: .acquiring) == .ended }
}
