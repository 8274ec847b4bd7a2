import Synchronization

/// The stages of a loop's life. A loop only moves forward.
///
/// | a loop that is | then comes | and it is |
/// |---|---|---|
/// | open | `close(discardingBlocks: false)` | closing |
/// | open, closing | `close(discardingBlocks: true)` | discarding |
/// | open, closing, discarding | `end(tellingSources:)` begins | ended |
/// | ended | the loop's descriptors are closed | over |
/// | over | the values of boxes are released, and jobs given up | silent |
///
/// No enumeration, whose atomic variables turn each number that they load into a case: 30 instructions of a run.
struct Lifecycle: RawRepresentable, AtomicRepresentable, Comparable {
    let rawValue: UInt8

    /// The loop accepts items and blocks.
    static var open: Self { Self(rawValue: 0) }
    /// The loop refuses items and blocks. Its runs end. It still runs the blocks that it has accepted.
    static var closing: Self { Self(rawValue: 1) }
    /// As `closing`, but the loop drops blocks that have not begun.
    static var discarding: Self { Self(rawValue: 2) }
    /// The loop is empty and cannot run.
    static var ended: Self { Self(rawValue: 3) }
    /// The handlers of `onEnd` have returned, and the loop has no descriptors.
    static var over: Self { Self(rawValue: 4) }
    /// The loop's thread calls nothing of the program's any more.
    static var silent: Self { Self(rawValue: 5) }

    static func < (earlier: Self, later: Self) -> Bool { earlier.rawValue < later.rawValue }
}

extension Loop {
    /// Moves on to a later stage; does nothing if the loop is at that stage or beyond. A caller that holds the
    /// lock and finds the loop open may add to it.
    func advance(to next: Lifecycle) {
        lock.assertHeld()
        // Release: a thread that finds the loop at this stage sees what the caller did before.
        if lifecycle.load(ordering: .relaxed) < next { lifecycle.store(next, ordering: .releasing) }
    }

    /// Whether the loop accepts items and blocks.
    @inline(__always)
    var isOpen: Bool {
        lock.assertHeld()
        return lifecycle.load(ordering: .relaxed) == .open
    }

    /// Whether every run ends. Acquire: see `advance(to:)`.
    @inline(__always)
    var isClosing: Bool { lifecycle.load(ordering: .acquiring) >= .closing }

    /// Whether to drop blocks that a pass has taken out already. Relaxed: nothing depends on when a thread sees it.
    @inline(__always)
    var discardsBlocks: Bool { lifecycle.load(ordering: .relaxed) >= .discarding }

    /// Acquire: see `advance(to:)`.
    package var hasEnded: Bool { lifecycle.load(ordering: .acquiring) >= .ended }

    /// Whether the handlers of `onEnd` have returned, and the descriptors are closed. Acquire: see `advance(to:)`.
    package var isOver: Bool { lifecycle.load(ordering: .acquiring) >= .over }
}
