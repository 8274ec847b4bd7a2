import Synchronization

/// Sleeping and waking: one atomic word and one eventfd.
///
/// The word says whether the loop sleeps, and holds the notes that senders left since it last looked: *notified* for a
/// wake-up, *nudged* for "look again" without one. The protocol, which `WakeProtocolTests` explores in every
/// interleaving:
///
/// | thread | what it does |
/// |---|---|
/// | a sender | publishes its work, adds its note, and writes the eventfd if it finds *asleep* and no note |
/// | the loop, going to sleep | changes *awake* to *asleep*; if it finds a note instead, it only polls |
/// | the loop, awake again | swaps in *awake*, and learns whether a sender notified it |
/// | the loop, beginning a pass after a wait | swaps in *awake* and ignores notes: it is about to look at all work |
///
/// A hosted loop has *hosted* wherever others have *awake*: somebody else's loop may be asleep on its epoll set at any
/// time, also while one of its own handlers runs. To senders that is the same as *asleep*.
///
/// No wake-up is lost. All four are read-modify-writes of one word, so they have one order. A sender's note that comes
/// before the loop's change to *asleep* makes that change fail. One that comes after it finds *asleep*, and writes,
/// unless somebody else has found it so and does. And one that comes before the beginning of a pass *releases* what it
/// published to the loop's *acquiring* swap there, so this pass sees the work.
///
/// No write is needless: a loop that is awake, or has a note already, is not written to.
///
/// The eventfd is watched edge-triggered and never read, so its count is the number of writes: this is how `close()`
/// knows that no sender is still on its way to a descriptor that is about to be closed.
final class Waker: @unchecked Sendable {
    private static let awake: UInt8 = 0
    private static let asleep: UInt8 = 1
    private static let hosted: UInt8 = 2
    private static let notified: UInt8 = 4
    private static let nudged: UInt8 = 8

    private static let mayBeAsleep = asleep | hosted
    private static let notes = notified | nudged

    private let word = Atomic<UInt8>(Waker.awake)

    /// -1 until the loop first runs: before that it cannot be asleep, so nobody writes.
    private let eventFD = Atomic<Descriptor>(-1)

    private let process = ProcessMark.current

    /// Writes that senders have made, or are about to make. Changed by the loop's thread only, when it finds a note in
    /// a word that said that it might be asleep.
    private var owedWrites: UInt64 = 0

    /// What the word says while the loop does not sleep: *awake*, or *hosted*. Changed by the loop's thread only.
    private var whileRunning = Waker.awake

    /// Whether there was a wake-up when the host came. Touched by the loop's thread only.
    private var hasKeptWakeUp = false

    /// Makes the eventfd, once. Called by the loop's thread, with the loop locked.
    func open() throws(LoopError) {
        guard descriptor < 0 else { return }
        eventFD.store(try System.makeEventFD(), ordering: .relaxed)
    }

    /// The eventfd, to be watched by the modes' pollers.
    ///
    /// Relaxed: a sender reads it only after it found *asleep*, whose acquiring read orders it after `open()`.
    var descriptor: Descriptor { eventFD.load(ordering: .relaxed) }

    /// The turn of the first wake-up of a sleeping loop; 0 while there is none, or its sender has not come to say so.
    /// Relaxed: only the number is wanted.
    private let turn = Atomic<UInt64>(0)

    /// Where the wake-up that ended a sleep belongs among what is ready: a nudge may have written before it. One whose
    /// sender is still on its way is the last.
    var wakeUpTurn: UInt64 {
        let known = turn.load(ordering: .relaxed)
        return known == 0 ? .max : known
    }

    init() {
        _ = Turn.next()  // Made when first used, which must not be in a signal handler.
    }

    /// How often senders had to write to the eventfd.
    let writes = Atomic<Int>(0)

    // MARK: From any thread, also from a signal handler

    /// Wakes the loop, or keeps it from going to sleep.
    func wake() { leave(Waker.notified) }

    /// Makes a sleeping loop, or its host, look again without counting as a wake-up: the loop finds itself not
    /// notified.
    func nudge() { leave(Waker.nudged) }

    private func leave(_ note: UInt8) {
        // Release: the loop sees what the caller published. Acquire: see `descriptor`.
        let found = word.bitwiseOr(note, ordering: .acquiringAndReleasing).oldValue
        guard found & Waker.mayBeAsleep != 0 else { return }
        if note == Waker.notified, found & Waker.notified == 0 { turn.store(Turn.next(), ordering: .relaxed) }
        guard found & Waker.notes == 0 else { return }
        guard process.isCurrent else { return }
        writes.add(1, ordering: .relaxed)
        System.signal(eventFD: descriptor)
    }

    /// Whether the loop sleeps and nobody has left a note. Acquire: what the loop did before it went to sleep is seen.
    var isAsleep: Bool {
        let found = word.load(ordering: .acquiring)
        return found & Waker.mayBeAsleep != 0 && found & Waker.notes == 0
    }

    // MARK: On the loop's thread

    /// Makes the next note write, whatever notes there are: the host has come, and has perhaps taken the edge that the
    /// first one's write made. A wake-up among them is kept for `endWait()`; for a nudge the caller looks again anyway.
    func hostHasCome() { hasKeptWakeUp = endWait() }

    /// Forgets notes: whoever begins a pass looks at everything. Says whether there was a wake-up.
    func forget() -> Bool { endWait() }

    /// Begins or ends being hosted. A wake-up that comes at this moment is forgotten: the caller looks at everything.
    func setHosted(_ isHosted: Bool) {
        whileRunning = isHosted ? Waker.hosted : Waker.awake
        _ = endWait()
    }

    /// Marks the loop asleep; false, and no mark, when it has a note.
    ///
    /// Release: see `descriptor` and `isAsleep`. Acquire on failure is not needed: the loop's next look at its work
    /// comes after another acquiring swap.
    func beginWait() -> Bool {
        guard !hasKeptWakeUp else { return false }
        turn.store(0, ordering: .relaxed)
        return word.compareExchange(
            expected: whileRunning, desired: Waker.asleep, successOrdering: .acquiringAndReleasing,
            failureOrdering: .relaxed
        ).exchanged
    }

    /// Marks the loop awake; true when it was notified. Acquire: the sender's work is seen.
    func endWait() -> Bool {
        let found = word.exchange(whileRunning, ordering: .acquiring)
        // Of all that left a note, the first one writes.
        if found & Waker.mayBeAsleep != 0, found & Waker.notes != 0 { owedWrites += 1 }
        defer { hasKeptWakeUp = false }
        return hasKeptWakeUp || found & Waker.notified != 0
    }

    /// Closes the eventfd once every sender that found the loop asleep has written. The loop never sleeps again, so
    /// no other will.
    func close() {
        let descriptor = descriptor
        guard descriptor >= 0 else { return }
        // A thread that ended inside a wait has left the note to be counted.
        _ = endWait()
        // A sender sits between its note and its write for a few instructions, unless it was preempted there. In a
        // forked child there is none, and what was written is the parent's.
        var seen = process.isCurrent ? System.drain(eventFD: descriptor) : owedWrites
        while seen < owedWrites {
            System.yieldThread()
            seen += System.drain(eventFD: descriptor)
        }
        eventFD.store(-1, ordering: .relaxed)
        System.close(descriptor)
    }

    deinit { close() }
}
