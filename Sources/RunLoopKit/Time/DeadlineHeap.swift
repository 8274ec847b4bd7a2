/// Timers, earliest first. Equal deadlines are first come, first served: by the timers' turns.
///
/// A timer that moves to a later time does not change the heap, which then has it by a deadline that is too early. The
/// heap corrects this when the timer comes first, before it answers a question. So to push a timer out costs a compare,
/// and each correction a sift. No timer is here by a deadline that is too late: see `HeapMember`.
struct DeadlineHeap<Timer: HeapMember>: ~Copyable {
    /// No deadline.
    static var never: Int64 { .max }

    /// The deadline of a timer that does not fire now, but keeps a run going: it is firing already, or was stopped.
    static var stopped: Int64 { .max - 1 }

    /// The deadline of a timer that does not keep a run going: it waits to be restarted.
    static var idle: Int64 { .max }

    /// Identifies this heap among those that a timer is in.
    var owner: ObjectIdentifier?

    private var timers = SlotTable<Timer>()

    /// The slots of the timers by when they may fire, in nanoseconds, or earlier. Those of equal deadline are in no
    /// order: those that are due are sorted by turn.
    private var byDeadline = SlotHeap()

    /// The same timers by the time at which they must fire, the deadline plus the tolerance, or earlier; once any of
    /// them has a tolerance. Nil before that, and again when no timer is left. Without tolerances `byDeadline` says it
    /// all.
    private var byLatest: SlotHeap?
    var isSortedByLatest: Bool { byLatest != nil }

    /// Whether a timer that may be idle is here, or was since the heap was empty. Without one, the times of the first
    /// timer, which a lock guards, need not be asked for.
    private var mayBeIdle = false

    var isEmpty: Bool { byDeadline.isEmpty }

    var all: [Timer] {
        var all: [Timer] = []
        for index in 0..<byDeadline.count { all.append(timers[byDeadline.slot(at: index)]) }
        return all
    }

    // MARK: Changing

    mutating func insert(_ timer: Timer, _ times: HeapTimes) {
        if timer.mayBeIdle { mayBeIdle = true }
        if times.latest != times.deadline { sortByLatest() }
        insert(timer, times.deadline, latest: times.latest)
    }

    @inline(__always)
    private mutating func insert(_ timer: Timer, _ deadline: Int64, latest: Int64) {
        let slot = timers.insert(timer)
        if timer.slot == Timer.noSlot { timer.slot = slot } else { Self.setOtherSlot(slot, of: timer, owner!) }
        byDeadline.insert(slot, deadline)
        byLatest?.insert(slot, latest)
    }

    /// Returns whether the timer was there.
    ///
    /// - Precondition: The caller has a reference to the timer.
    @discardableResult
    mutating func remove(_ timer: Timer) -> Bool {
        guard let slot = slot(of: timer) else { return false }
        forgetSlot(of: timer)
        byDeadline.remove(slot)
        byLatest?.remove(slot)
        timers.remove(slot)
        if isEmpty {
            if isSortedByLatest { byLatest = nil }
            mayBeIdle = false
        }
        if timers.isSparse { closeGaps() }
        return true
    }

    /// Moves a timer. Necessary if its deadline or its latest time is earlier than at the last `insert` or `update`.
    mutating func update(_ timer: Timer, _ times: HeapTimes) {
        guard let slot = slot(of: timer) else { return }
        if times.latest != times.deadline { sortByLatest() }
        byDeadline.change(slot, to: times.deadline)
        byLatest?.change(slot, to: times.latest)
    }

    mutating func removeAll() {
        for timer in all { forgetSlot(of: timer) }
        timers = SlotTable()
        byDeadline = SlotHeap()
        byLatest = nil
        mayBeIdle = false
    }

    /// Begins to sort by `latest`. Until now it was the deadline of each timer.
    private mutating func sortByLatest() { if !isSortedByLatest { byLatest = byDeadline.copy() } }

    /// Gives back the storage of timers that have left.
    private mutating func closeGaps() {
        var smaller = DeadlineHeap()
        smaller.owner = owner
        if isSortedByLatest { smaller.byLatest = SlotHeap() }
        for index in 0..<byDeadline.count {
            let slot = byDeadline.slot(at: index)
            let deadline = byDeadline.key(of: slot)
            forgetSlot(of: timers[slot])
            smaller.insert(timers[slot], deadline, latest: byLatest?.key(of: slot) ?? deadline)
        }
        smaller.mayBeIdle = mayBeIdle
        self = smaller
    }

    // MARK: Slots

    // A timer says its slot in one heap, but not which heap that is, which would take 8 bytes of every timer. A heap
    // looks whether it has the timer in that slot. The slots that the timer has in further heaps stand by their owners.

    /// The slot of a timer; nil if it is not here.
    @inline(__always)
    func slot(of timer: Timer) -> UInt32? {
        timers.has(timer, in: timer.slot) ? timer.slot : otherSlot(of: timer)
    }

    private func otherSlot(of timer: Timer) -> UInt32? {
        timer.hasOtherSlots ? Self.otherSlot(of: timer, owner!) : nil
    }

    // Static, since the compiler would copy the heap's 150 bytes to pass it.

    @inline(never)
    private static func otherSlot(of timer: Timer, _ owner: ObjectIdentifier) -> UInt32? { timer.otherSlots[owner] }

    @inline(never)
    private static func setOtherSlot(_ slot: UInt32?, of timer: Timer, _ owner: ObjectIdentifier) {
        timer.otherSlots[owner] = slot
    }

    /// - Precondition: The timer is here.
    @inline(__always)
    private func forgetSlot(of timer: Timer) {
        // Not by its number: the slot in another heap may have the same one.
        if timer.hasOtherSlots, otherSlot(of: timer) != nil {
            Self.setOtherSlot(nil, of: timer, owner!)
        } else {
            timer.slot = Timer.noSlot
        }
    }

    /// The deadline of the first timer, after correcting those that came first and were too early.
    private mutating func firstDeadline() -> Int64? {
        while let first = byDeadline.first {
            let deadline = timers.with(first.slot) { $0.timesForHeap().deadline }
            if deadline == first.key { return deadline }
            byDeadline.change(first.slot, to: deadline)
        }
        return nil
    }

    // MARK: Asking

    /// Whether no timer keeps a run going.
    var isIdle: Bool {
        mutating get {
            guard mayBeIdle, !isEmpty else { return isEmpty }
            return firstDeadline()! == Self.idle
        }
    }

    /// Whether the loop must wake for a timer at `now` or before.
    @inline(__always)
    mutating func isDue(at now: Int64) -> Bool {
        // Mostly the first key, which is never too late, says that nothing is due.
        guard let first = byDeadline.first?.key, first <= now else { return false }
        return wakeUpTimeOfTimers().map { $0 <= now } ?? false
    }

    /// The earliest deadline; nil if no timer fires.
    var earliestDeadline: Int64? {
        mutating get { firstDeadline().flatMap { $0 >= Self.stopped ? nil : $0 } }
    }

    /// The latest time at which the loop must wake for its timers; nil if there is none.
    ///
    /// This is CF's rule of soft and hard deadlines in short form. CF visits the timers by soft deadline while that is
    /// not later than the earliest hard deadline so far. A timer beyond that point has a later hard deadline still. So
    /// the rule gives the earliest hard deadline of all, and at that time its timer is soft-due, as all others are that
    /// CF would fire.
    @inline(__always)
    var wakeUpTime: Int64? {
        // Inlined so far, since most passes have no timers.
        mutating get { isEmpty ? nil : wakeUpTimeOfTimers() }
    }

    @inline(never)
    private mutating func wakeUpTimeOfTimers() -> Int64? { isSortedByLatest ? earliestLatest() : earliestDeadline }

    private mutating func earliestLatest() -> Int64? {
        while let first = byLatest?.first {
            let latest = timers.with(first.slot) { $0.timesForHeap().latest }
            if latest == first.key { return latest >= Self.stopped ? nil : latest }
            byLatest?.change(first.slot, to: latest)
        }
        return nil
    }

    /// The timer whose deadline is not later than `now`; nil if there is none, or there may be more than one.
    mutating func onlyDue(at now: Int64) -> Timer? {
        guard let deadline = firstDeadline(), deadline <= now, byDeadline.hasOnlyFirst(upTo: now) else { return nil }
        return timers[byDeadline.first!.slot]
    }

    /// The timers whose deadline is not later than `now`, in the order in which they fire, appended to `due`.
    func collectDue(at now: Int64, into due: inout [Timer]) {
        guard let first = byDeadline.first, first.key <= now else { return }
        var found: [(times: HeapTimes, slot: UInt32)] = []
        byDeadline.forEach(upTo: now) { slot in
            let times = timers.with(slot) { $0.timesForHeap() }
            if times.deadline <= now { found.append((times, slot)) }
        }
        if found.count > 1 {
            found.sort { ($0.times.deadline, $0.times.turn) < ($1.times.deadline, $1.times.turn) }
        }
        // A loop, since a key path of a generic type is made anew at each use, for 10,000 instructions.
        for (_, slot) in found { due.append(timers[slot]) }
    }
}
