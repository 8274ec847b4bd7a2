import Synchronization

/// Sleeping and waking: one atomic word and one eventfd.
///
/// The protocol, which `WakeProtocolTests` explores in every interleaving:
///
/// | who | does |
/// |---|---|
/// | a sender | publishes its work, then swaps in *notified*; only if it finds *asleep* does it write the eventfd |
/// | the loop, going to sleep | changes *running* to *asleep*; if it finds *notified* instead, it only polls |
/// | the loop, awake again | swaps in *running*, and learns whether somebody notified it |
/// | the loop, beginning a pass after a wait | swaps in *running*, forgetting notifications: it is about to look at all work anyway |
///
/// A hosted loop has *hosted* wherever others have *running*: somebody else's loop may be asleep on its epoll set at any
/// time, also while one of its own handlers runs. To senders that is the same as *asleep*.
///
/// No wake-up is lost. All four are read-modify-writes of one word, so they have one order. A sender's swap that comes
/// before the loop's change to *asleep* makes that change fail. One that comes after it finds *asleep*, and writes. And
/// one that comes before the beginning of a pass *releases* what it published to the loop's *acquiring* swap there,
/// so this pass sees the work.
///
/// No write is needless: a loop that is awake, or has been notified already, is not written to.
///
/// The eventfd is watched edge-triggered and never read, so its count is the number of writes: this is how `close()`
/// knows that no sender is still on its way to a descriptor that is about to be closed.
final class Waker: @unchecked Sendable {
    private static let running: UInt8 = 0
    private static let asleep: UInt8 = 1
    private static let notified: UInt8 = 2
    private static let hosted: UInt8 = 3

    private let word = Atomic<UInt8>(Waker.running)

    /// -1 until the loop first runs: before that it cannot be asleep, so nobody writes.
    private let eventFD = Atomic<Descriptor>(-1)

    /// Writes that `wakeSilently()` made.
    private let silentWrites = Atomic<UInt64>(0)

    /// Writes made by senders. Changed by the loop's thread only, when it finds that it was notified asleep.
    private var senderWrites: UInt64 = 0
    private var isWaiting = false

    /// What the word says while the loop is awake. Changed by the loop's thread only.
    private var awake = Waker.running

    /// Makes the eventfd, once. Called by the loop's thread, with the loop locked.
    func open() throws(LoopError) {
        guard descriptor < 0 else { return }
        eventFD.store(try System.makeEventFD(), ordering: .relaxed)
    }

    /// The eventfd, to be watched by the modes' pollers.
    ///
    /// Relaxed: a sender reads it only after it found *asleep*, whose acquiring swap orders it after `open()`.
    var descriptor: Descriptor { eventFD.load(ordering: .relaxed) }

    /// How often senders had to write to the eventfd.
    let writes = Atomic<Int>(0)

    // MARK: From any thread, also from a signal handler

    /// Wakes the loop, or keeps it from going to sleep.
    func wake() {
        // Release: the loop sees what the caller published. Acquire: see `descriptor`.
        let found = word.exchange(Waker.notified, ordering: .acquiringAndReleasing)
        guard found == Waker.asleep || found == Waker.hosted else { return }
        writes.add(1, ordering: .relaxed)
        System.signal(eventFD: descriptor)
    }

    /// Whether the loop sleeps and nobody has notified it. Acquire: what the loop did before it went to sleep is seen.
    var isAsleep: Bool {
        let found = word.load(ordering: .acquiring)
        return found == Waker.asleep || found == Waker.hosted
    }

    /// Makes a sleeping loop, or its host, look again without counting as a wake-up: the loop finds itself not
    /// notified. The caller makes sure that the loop has not ended.
    func wakeSilently() {
        silentWrites.add(1, ordering: .relaxed)
        System.signal(eventFD: descriptor)
    }

    // MARK: On the loop's thread

    /// Forgets wake-ups: whoever begins a pass looks at everything. Says whether there was one.
    func forget() -> Bool { endWait() }

    /// Begins or ends being hosted. A wake-up that comes at this moment is forgotten: the caller looks at everything.
    func setHosted(_ isHosted: Bool) {
        _ = endWait()
        let before = awake
        awake = isHosted ? Waker.hosted : Waker.running
        // Acquire, as in endWait(). A sender that came in between is counted under the rules that it found.
        if word.exchange(awake, ordering: .acquiring) == Waker.notified, before == Waker.hosted { senderWrites += 1 }
    }

    /// Marks the loop asleep; false, and no mark, when it has been notified.
    ///
    /// Release: see `descriptor` and `isAsleep`. Acquire on failure is not needed: the loop's next look at its work
    /// comes after another acquiring swap.
    func beginWait() -> Bool {
        isWaiting =
            word.compareExchange(
                expected: awake, desired: Waker.asleep, successOrdering: .acquiringAndReleasing,
                failureOrdering: .relaxed
            ).exchanged
        return isWaiting
    }

    /// Marks the loop awake; true when it was notified. Acquire: the sender's work is seen.
    func endWait() -> Bool {
        let wasNotified = word.exchange(awake, ordering: .acquiring) == Waker.notified
        if wasNotified, isWaiting || awake == Waker.hosted { senderWrites += 1 }
        isWaiting = false
        return wasNotified
    }

    /// Closes the eventfd once every sender that found the loop asleep has written. The loop never sleeps again, so
    /// no other will.
    func close() {
        let descriptor = descriptor
        guard descriptor >= 0 else { return }
        // A sender sits between its swap and its write for a few instructions, unless it was preempted there.
        var seen = System.drain(eventFD: descriptor)
        while seen < senderWrites + silentWrites.load(ordering: .relaxed) {
            System.yieldThread()
            seen += System.drain(eventFD: descriptor)
        }
        eventFD.store(-1, ordering: .relaxed)
        System.close(descriptor)
    }

    deinit { close() }
}
