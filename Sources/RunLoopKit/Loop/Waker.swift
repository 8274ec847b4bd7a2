import Synchronization

/// Sleeping and waking: one atomic word and one eventfd.
///
/// The word says whether the loop sleeps, and holds the notes that senders have left since the loop last read it:
/// *notified* for a wake-up, *nudged* for "look again" without one. The protocol, which `WakeProtocolTests` explores in
/// every interleaving:
///
/// | thread | what it does |
/// |---|---|
/// | a sender | publishes its work, adds its note, and writes the eventfd if it finds *asleep* and no note |
/// | the loop, going to sleep | changes *awake* to *asleep*; if it finds a note instead, it only polls |
/// | the loop, awake again | swaps in *awake*, and learns whether a sender notified it |
/// | the loop, beginning a pass after a wait | swaps in *awake* and ignores notes, since it looks at all work next |
///
/// A hosted loop has *hosted* where others have *awake*: a foreign loop may sleep on its epoll set at any time, also
/// while one of its own handlers runs. To senders *hosted* is the same as *asleep*. A host that says when it sleeps
/// does what a loop does: it changes *awake* to *asleep*, and back when it is awake again, and keeps the notes.
///
/// No wake-up is lost. All four are read-modify-writes of one word, so they have one order. A sender's note before the
/// loop's change to *asleep* makes that change fail. A note after it finds *asleep*, so this sender writes, unless
/// another sender found it first and writes. A note before the beginning of a pass *releases* what the sender published
/// to the loop's *acquiring* swap there, so this pass sees the work.
///
/// No write is needless: a sender does not write if the loop is awake, or has a note already.
///
/// The eventfd is watched edge-triggered and never read, so its count is the number of writes. From it `close()` knows
/// that no sender is still about to write to a descriptor that it closes.
final class Waker: @unchecked Sendable {
    private static let awake: UInt8 = 0
    private static let asleep: UInt8 = 1
    private static let hosted: UInt8 = 2
    private static let notified: UInt8 = 4
    private static let nudged: UInt8 = 8

    private static let mayBeAsleep = asleep | hosted
    private static let notes = notified | nudged

    private let word = Atomic<UInt8>(Waker.awake)

    /// -1 until the loop first runs: before that it is never asleep, so no sender writes.
    private let eventFD = Atomic<Descriptor>(-1)

    private let process = ProcessMark.current

    /// The loop's lock: see `Loop`. Here, since a mode has a reference to its waker, but a weak one to its loop.
    let lock = Lock(.loop)

    /// The sequence numbers of the loop's events. Here, where senders are already.
    let turns = TurnCounter()

    /// The monitors of the loop, which sees here that it is woken.
    let monitors = Monitors()

    /// Writes that senders have made, or are about to make. Changed only by the loop's thread, when it finds a note in
    /// a word that said that it might be asleep.
    private var owedWrites: UInt64 = 0

    /// What the word says while the loop does not sleep: *awake* or *hosted*. Changed only by the loop's thread.
    private var whileRunning = Waker.awake

    /// Whether the word held a wake-up when the host began a pass. Accessed only by the loop's thread.
    private var hasKeptWakeUp = false

    /// Makes the eventfd, once. Called by the loop's thread with the loop's lock held.
    func open() throws(LoopError) {
        guard descriptor < 0 else { return }
        eventFD.store(try System.makeEventFD(), ordering: .relaxed)
    }

    /// The eventfd, which the modes' pollers watch.
    ///
    /// Relaxed: a sender reads it only after it found *asleep*, whose acquiring read orders it after `open()`.
    var descriptor: Descriptor { eventFD.load(ordering: .relaxed) }

    /// The sequence number of the first wake-up of a sleeping loop; 0 if there is none, or its sender has not stored it
    /// yet. Relaxed: it publishes nothing.
    private let turn = Atomic<UInt64>(0)

    /// Where the wake-up that ended a sleep belongs among what is ready: a nudge may have written before it. If its
    /// sender has not stored the number yet, the wake-up is the last.
    var wakeUpTurn: UInt64 {
        let known = turn.load(ordering: .relaxed)
        return known == 0 ? .max : known
    }

    init() {
        // Initializes it, which must not happen in a signal handler.
        _ = Monitors.areAttached
    }

    /// How often senders have written to the eventfd.
    let writes = Atomic<Int>(0)

    // MARK: From any thread, also from a signal handler

    /// The sequence number of an event of the loop.
    func nextTurn() -> UInt64 { turns.next() }

    /// Wakes the loop, or keeps it from going to sleep.
    func wake() { add(Waker.notified) }

    /// Makes a sleeping loop, or its host, look again without counting as a wake-up: `endWait()` does not report it.
    func nudge() { add(Waker.nudged) }

    @inline(__always)
    private func add(_ note: UInt8) {
        // Release: the loop sees what the caller published. Acquire: see `descriptor`.
        let found = word.bitwiseOr(note, ordering: .acquiringAndReleasing).oldValue
        if found & Waker.mayBeAsleep != 0 { addToSleeper(note, found) }
    }

    /// - Parameter found: The word before the note was added.
    @inline(never)
    private func addToSleeper(_ note: UInt8, _ found: UInt8) {
        if note == Waker.notified, found & Waker.notified == 0 { turn.store(nextTurn(), ordering: .relaxed) }
        guard found & Waker.notes == 0 else { return }
        guard process.isCurrent else { return }
        writes.add(1, ordering: .relaxed)
        if note == Waker.notified, !monitors.isEmpty { monitors.report { $0.wasWoken() } }
        System.signal(eventFD: descriptor)
    }

    /// Whether the loop sleeps and has no note. Acquire: the caller sees what the loop did before it went to sleep.
    var isAsleep: Bool {
        let found = word.load(ordering: .acquiring)
        return found & Waker.mayBeAsleep != 0 && found & Waker.notes == 0
    }

    /// Whether the loop sleeps, or its host may. Relaxed: for `Loop.sleep` the loop's lock orders it; a sender that
    /// asks without it (`ModeState.wakeIfAwake`) takes it as a hint.
    var mayBeAsleep: Bool { word.load(ordering: .relaxed) & Waker.mayBeAsleep != 0 }

    // MARK: On the loop's thread

    /// Whether a sender has left a note since the loop last read the word. Relaxed: the loop reads the word again, with
    /// acquiring order, before it looks at any work.
    var hasNote: Bool { hasKeptWakeUp || word.load(ordering: .relaxed) & Waker.notes != 0 }

    /// Makes the next note write, whatever notes there are: the host begins a pass, and may have consumed the edge of
    /// the first note's write. Keeps a wake-up among the notes for `endWait()`. A nudge is dropped, since the caller
    /// looks again.
    func hostHasCome() { hasKeptWakeUp = endWait() }

    /// Forgets notes, since the caller begins a pass and looks at all work. Returns whether there was a wake-up.
    func forget() -> Bool { endWait() }

    /// Begins or ends being hosted. Forgets notes, since the caller looks at all work.
    func setHosted(_ isHosted: Bool) {
        whileRunning = isHosted ? Waker.hosted : Waker.awake
        _ = endWait()
    }

    /// Makes the word say *awake* while the host runs: from now on the host says when it sleeps, by `beginWait()`.
    func setHostSaysWhenItSleeps() {
        whileRunning = Waker.awake
        endHostSleep()
    }

    /// Marks the host awake, and keeps the notes: they keep it from sleeping until it makes a pass.
    ///
    /// Relaxed: the pass, which acquires what the senders of the notes released, comes later.
    func endHostSleep() {
        guard mayBeAsleep else { return }
        let found = word.bitwiseAnd(Waker.notes, ordering: .relaxed).oldValue
        if found & Waker.notes != 0 { owedWrites += 1 }
    }

    /// Marks the loop asleep. Returns false, and marks nothing, if the loop has a note.
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

    /// Marks the loop awake. Returns whether it was notified. Acquire: the caller sees the sender's work.
    ///
    /// A word without notes is not swapped, which saves a locked instruction in most passes: a note that a sender adds
    /// after the load stays, as one added after a swap would.
    @inline(__always)
    func endWait() -> Bool {
        if word.load(ordering: .acquiring) == whileRunning, !hasKeptWakeUp { return false }
        return takeNotes()
    }

    @inline(never)
    private func takeNotes() -> Bool {
        let found = word.exchange(whileRunning, ordering: .acquiring)
        // Of all senders that left a note, the first one writes.
        if found & Waker.mayBeAsleep != 0, found & Waker.notes != 0 { owedWrites += 1 }
        defer { hasKeptWakeUp = false }
        return hasKeptWakeUp || found & Waker.notified != 0
    }

    /// Closes the eventfd once every sender that found the loop asleep has written. The loop never sleeps again, so no
    /// other sender writes.
    func close() {
        let descriptor = descriptor
        guard descriptor >= 0 else { return }
        // A thread that ended inside a wait has not counted its note.
        _ = endWait()
        // A forked child has no senders, and the writes are the parent's.
        var seen = process.isCurrent ? 0 : owedWrites
        while seen < owedWrites {
            seen += System.drain(eventFD: descriptor)
            // A sender sits between its note and its write for a few instructions, unless it was preempted there.
            if seen < owedWrites { System.yieldThread() }
        }
        eventFD.store(-1, ordering: .relaxed)
        System.close(descriptor)
    }

    deinit { close() }
}
