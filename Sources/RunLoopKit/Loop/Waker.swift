import Synchronization

/// Sleeping and waking: one atomic word and one eventfd.
///
/// The word says whether the loop sleeps, and holds the notes that senders have left since the loop last read it:
/// *notified* for a wake-up, *nudged* for "look again" without one. `WakeProtocolTests` explores the protocol in every
/// interleaving:
///
/// | thread | what it does |
/// |---|---|
/// | a sender | publishes its work and adds its note; if it finds *asleep* without *written*, it writes |
/// | a sender that writes | joins the writers, writes the eventfd, leaves; adds *written* if the sleep is the same |
/// | the loop, going to sleep | changes *awake* to *asleep*; if it finds a note instead, it only polls |
/// | the loop, awake again | changes the state to *awake*, takes the notes, and learns whether a sender notified it |
/// | the loop, beginning a pass after a wait | does the same and ignores the notes, since it looks at all work next |
///
/// A hosted loop has *hosted* where others have *awake*: a foreign loop may sleep on its epoll set at any time, even
/// while one of its own handlers runs. To senders *hosted* is the same as *asleep*. A host that says when it sleeps
/// does what a loop does: it changes *awake* to *asleep* and back, and keeps the notes.
///
/// **No wake-up is lost.** All these are read-modify-writes of one word, so they have one order:
///
/// - A sender's note before the loop's change to *asleep* makes that change fail.
/// - A note after it finds *asleep*. Then this sender writes, or another one has written.
/// - A note before the beginning of a pass *releases* what the sender published to the loop's *acquiring* change there,
///   so this pass sees the work.
///
/// A hosted loop does not change the word before its host waits. There the kernel's locks order a note before the end
/// of the wait that the sender's write causes.
///
/// **No sender waits for another one.** A sender that the scheduler stops between its note and its write has not added
/// *written*. So each later sender writes as well, and the loop wakes at the first write. Each change that the loop
/// makes gives the sleep another number, so a late sender adds *written* to no later sleep. If the sleep is over, a
/// sender writes nothing, since the loop looks at all work before it sleeps again. One that has found *hosted* writes
/// in any case, since a handler may run the host before that.
///
/// A sender does not write if the loop is awake, or a write for this sleep has been made.
///
/// The eventfd is watched edge-triggered and never read. The loop closes it, unless senders are about to write; then
/// the last of them does.
final class Waker: @unchecked Sendable {
    // The word, from its lowest bit: the state, the notes, *written*, *closed*, the number of writers, and the number
    // of the sleep.
    private static let awake: UInt64 = 0
    private static let asleep: UInt64 = 1
    private static let hosted: UInt64 = 2
    static let notified: UInt64 = 4
    static let nudged: UInt64 = 8
    private static let written: UInt64 = 16
    private static let closed: UInt64 = 32
    private static let oneWriter: UInt64 = 1 << 8
    private static let oneSleep: UInt64 = 1 << 28

    private static let mayBeAsleep = asleep | hosted
    private static let notes = notified | nudged
    private static let writers = oneSleep - oneWriter
    static func sleep(of word: UInt64) -> UInt64 { word / oneSleep }

    private let word = Atomic<UInt64>(Waker.awake)

    /// -1 until the loop first runs: before that it is never asleep, so no sender writes.
    private let eventFD = Atomic<Descriptor>(-1)

    private let process = ProcessMark.current

    /// The loop's lock: see `Loop`. Here, since a mode has a reference to its waker, but a weak one to its loop.
    let lock = Lock(.loop)

    /// The sequence numbers of the loop's events. Here, where senders are already.
    let turns = TurnCounter()

    /// The monitors of the loop, which sees here that it is woken.
    let monitors = Monitors()

    /// What the word says while the loop does not sleep: *awake* or *hosted*. Changed only by the loop's thread.
    private var whileRunning = Waker.awake

    /// Whether the word held a wake-up when the host began a pass. Accessed only by the loop's thread.
    private var hasKeptWakeUp = false

    /// The wake-ups that the loop's thread has taken. A run that is about to sleep compares it with what it was when
    /// the run last looked for work. Accessed only by the loop's thread.
    private(set) var takenWakeUps: UInt64 = 0

    /// The number of the kernel's last answer, in whatever mode. A run that begins takes a number as well: code between
    /// two runs may have changed what was reported before. Accessed only by the loop's thread.
    private(set) var answer: UInt64 = 0

    @inline(__always)
    func noteAnswer() { answer += 1 }

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

    // MARK: From any thread, even in a signal handler

    /// The sequence number of an event of the loop.
    func nextTurn() -> UInt64 { turns.next() }

    /// Wakes the loop, or keeps it from going to sleep.
    func wake() { add(Waker.notified) }

    /// Makes a sleeping loop, or its host, look again without counting as a wake-up: `endWait()` does not report it.
    func nudge() { add(Waker.nudged) }

    @inline(__always)
    private func add(_ note: UInt64) {
        let found = leave(note)
        if found & Waker.mayBeAsleep != 0 { endSleep(found, note) }
    }

    /// Adds a note. Returns the word before that. `endSleep` follows if it may be asleep.
    @inline(__always)
    func leave(_ note: UInt64) -> UInt64 {
        // Release: the loop sees what the caller published. Acquire: see `descriptor`.
        word.bitwiseOr(note, ordering: .acquiringAndReleasing).oldValue
    }

    /// Ends a sleep by a write, unless it is over, or a write has been made.
    ///
    /// - Parameter found: The word before the note was added.
    @inline(never)
    func endSleep(_ found: UInt64, _ note: UInt64) {
        if note == Waker.notified, found & Waker.notified == 0 { turn.store(nextTurn(), ordering: .relaxed) }
        guard found & Waker.written == 0, process.isCurrent, beginWriting(found) else { return }
        writes.wrappingAdd(1, ordering: .relaxed)
        if note == Waker.notified, !monitors.isEmpty { monitors.notify { $0.wasWoken() } }
        System.signal(eventFD: descriptor)
        endWriting(for: Waker.sleep(of: found))
    }

    /// Counts the caller among the writers, for whom the eventfd stays open. Returns false if no write is needed.
    ///
    /// - Parameter found: The word before the caller added its note.
    func beginWriting(_ found: UInt64) -> Bool {
        var now = word.load(ordering: .relaxed)
        while needsWrite(found, now) {
            // Relaxed: the note has acquired what `open()` did, and the word has one order, with `close()` in it.
            let change = word.weakCompareExchange(expected: now, desired: now + Waker.oneWriter, ordering: .relaxed)
            if change.exchanged { return true }
            now = change.original
        }
        return false
    }

    private func needsWrite(_ found: UInt64, _ now: UInt64) -> Bool {
        guard now & Waker.closed == 0 else { return false }
        let isSameSleep = Waker.sleep(of: found) == Waker.sleep(of: now)
        return isSameSleep ? now & Waker.written == 0 : found & Waker.hosted != 0
    }

    func endWriting(for sleep: UInt64) {
        var found = word.load(ordering: .relaxed)
        while true {
            let isSameSleep = Waker.sleep(of: found) == sleep
            let new = (found - Waker.oneWriter) | (isSameSleep ? Waker.written : 0)
            // Release: the write comes before the last writer closes the eventfd. Acquire: for that writer.
            let change = word.weakCompareExchange(
                expected: found, desired: new, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed)
            if change.exchanged { return closeIfUnused(new) }
            found = change.original
        }
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
    /// the first note's write. Keeps a wake-up among the notes for `endWait()`. Drops a nudge, since the caller looks
    /// again.
    func hostHasCome() { hasKeptWakeUp = endWait() }

    /// Begins or ends being hosted. Forgets notes, since the caller looks at all work.
    func setHosted(_ isHosted: Bool) {
        whileRunning = isHosted ? Waker.hosted : Waker.awake
        endWait()
    }

    /// Makes the word say *awake* while the host runs: from now on the host says when it sleeps, by `beginWait()`.
    func setHostSaysWhenItSleeps() {
        whileRunning = Waker.awake
        endHostSleep()
    }

    /// Marks the host awake, and keeps the notes: they keep it from sleeping until it makes a pass.
    func endHostSleep() { if mayBeAsleep { change(to: Waker.awake, keeping: Waker.notes) } }

    /// Marks the loop asleep. Returns false, and marks nothing, if the loop has a note.
    ///
    /// Release: see `descriptor` and `isAsleep`. Acquire on failure is not needed: the loop's next look at its work
    /// comes after another acquiring change.
    func beginWait() -> Bool {
        guard !hasKeptWakeUp else { return false }
        turn.store(0, ordering: .relaxed)
        var found = word.load(ordering: .relaxed)
        while isRunning(found) {
            let change = word.weakCompareExchange(
                expected: found, desired: next(found, Waker.asleep), successOrdering: .acquiringAndReleasing,
                failureOrdering: .relaxed)
            if change.exchanged { return true }
            found = change.original
        }
        return false
    }

    /// Marks the loop awake. Returns whether it was notified. Acquire: the caller sees the sender's work.
    ///
    /// A word without notes is not changed, which saves a locked instruction in most passes: a note that a sender adds
    /// after the load stays, as one added after a change would.
    @inline(__always)
    @discardableResult
    func endWait() -> Bool {
        if isRunning(word.load(ordering: .acquiring)), !hasKeptWakeUp { return false }
        return endWaitSlowly()
    }

    @inline(never)
    private func endWaitSlowly() -> Bool {
        let wasNotified = change(to: whileRunning) & Waker.notified != 0
        if wasNotified { takenWakeUps += 1 }
        defer { hasKeptWakeUp = false }
        return hasKeptWakeUp || wasNotified
    }

    /// Whether a word is that of a loop that does not sleep and has no notes.
    @inline(__always)
    private func isRunning(_ word: UInt64) -> Bool { word & (Waker.mayBeAsleep | Waker.notes) == whileRunning }

    /// Changes the state, and takes the notes that are not kept. Returns the word before.
    ///
    /// Acquire: see `endWait()`. Release: a sender that finds *hosted* sees the eventfd that `open()` has stored.
    @discardableResult
    private func change(to state: UInt64, keeping kept: UInt64 = 0) -> UInt64 {
        var found = word.load(ordering: .relaxed)
        while true {
            let change = word.weakCompareExchange(
                expected: found, desired: next(found, state | found & kept),
                successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed)
            if change.exchanged { return found }
            found = change.original
        }
    }

    /// The word with another state, another number of the sleep, and the writers that it has.
    @inline(__always)
    private func next(_ word: UInt64, _ state: UInt64) -> UInt64 {
        (word & ~(Waker.mayBeAsleep | Waker.notes | Waker.written) | state) &+ Waker.oneSleep
    }

    // MARK: The end

    /// Closes the eventfd; if senders are about to write, the last of them does. The loop never sleeps again, so no
    /// other sender writes.
    func close() {
        guard descriptor >= 0 else { return }
        change(to: Waker.awake | Waker.closed)
        // A forked child has no senders, and the writers that it counts are its parent's.
        // Acquire: the writes of those that have left come before.
        closeIfUnused(process.isCurrent ? word.load(ordering: .acquiring) : Waker.closed)
    }

    private func closeIfUnused(_ word: UInt64) {
        guard word & Waker.closed != 0, word & Waker.writers == 0 else { return }
        // An exchange: the loop and the last sender may both come here.
        let descriptor = eventFD.exchange(-1, ordering: .relaxed)
        if descriptor >= 0 { System.close(descriptor) }
    }

    deinit { close() }
}
