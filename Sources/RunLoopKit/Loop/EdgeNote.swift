import Synchronization

/// Whether a port may have raised an edge in a mode's epoll set. A pass that does not sleep asks the kernel only then,
/// if the loop itself knows of everything else in the mode. That saves most of the cost of such a pass.
///
/// | thread | what it does |
/// |---|---|
/// | a sender | counts its send, writes the eventfd, then sets the note |
/// | the loop, about to poll | if the note is set, clears it, then asks the kernel |
///
/// No send is missed. A note that the loop finds was set after its sender's write: the *acquiring* exchange that clears
/// it orders the write before the loop's question. A note that is set later stays for the next poll. A loop that goes
/// to sleep asks the kernel in any case.
final class EdgeNote: Sendable {
    let waker: Waker

    // Set at first: a port may have been sent to before the epoll set was made.
    private let isSet = Atomic<Bool>(true)

    init(_ waker: Waker) { self.waker = waker }

    /// Sets the note. From any thread, even in a signal handler.
    ///
    /// Release: see above. An exchange, since a store would overwrite another sender's release: the loop would then be
    /// ordered after the last sender only.
    func set() { _ = isSet.exchange(true, ordering: .releasing) }

    /// Clears the note, and returns whether it was set. Called by the loop's thread.
    ///
    /// A note that is not set is not exchanged, which saves a locked instruction in most passes. Relaxed: if the note
    /// is set at that moment, the next poll finds it.
    func take() -> Bool { isSet.load(ordering: .relaxed) && isSet.exchange(false, ordering: .acquiring) }
}

extension TurnCounter {
    /// The number of an event in the modes of these notes. For several loops it is that of an event outside of all
    /// loops, which is larger than all before it in each; so too without any.
    static func next(in notes: [EdgeNote]) -> UInt64 {
        // Nearly always one loop, though perhaps in several modes.
        guard notes.count == 1 || areOfOneLoop(notes) else { return nextOutside() }
        // Without a retain: the array keeps the note alive, and that the waker.
        return Unmanaged.passUnretained(notes[0])._withUnsafeGuaranteedRef { $0.waker.nextTurn() }
    }

    @inline(never)
    private static func areOfOneLoop(_ notes: [EdgeNote]) -> Bool {
        // By indices: see `Monitors.notify`.
        var index = 1
        while index < notes.count, notes[index].waker === notes[0].waker { index += 1 }
        return index == notes.count
    }
}
