/// Timers, earliest first. Equal deadlines are first come, first served: by the timers' turns.
struct DeadlineHeap<Timer: HeapMember>: ~Copyable {
    /// No deadline.
    static var never: Int64 { LoopTime.never }

    /// The deadline of a timer that does not fire now, but keeps a run going: it is firing already, or was stopped.
    static var stopped: Int64 { .max - 1 }

    /// The deadline of a timer that does not keep a run going: it waits to be restarted.
    static var idle: Int64 { .max }

    /// Identifies this heap among those that a timer is in.
    var owner: ObjectIdentifier?

    private var timers = SlotTable<Timer>()

    /// The slots of the timers by when they may fire, in nanoseconds. Those of equal deadline are in no order: those
    /// that are due are sorted by turn.
    private var byDeadline = SlotHeap()

    /// The same timers by the time at which they must fire, the deadline plus the tolerance; once any of them has a
    /// tolerance. Nil before that, and again when no timer is left. Without tolerances `byDeadline` says it all.
    private var byLatest: SlotHeap?
    var isSortedByLatest: Bool { byLatest != nil }

    var isEmpty: Bool { byDeadline.isEmpty }

    var all: [Timer] {
        var all: [Timer] = []
        for index in 0..<byDeadline.count { all.append(timers[byDeadline.slot(at: index)]) }
        return all
    }

    func contains(where isWanted: (Timer) -> Bool) -> Bool {
        (0..<byDeadline.count).contains { isWanted(timers[byDeadline.slot(at: $0)]) }
    }

    // MARK: Changing

    mutating func insert(_ timer: Timer, _ times: HeapTimes) {
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
        if isEmpty, isSortedByLatest { byLatest = nil }
        if timers.isSparse { closeGaps() }
        return true
    }

    /// Moves a timer whose times have changed.
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

    // MARK: Asking

    /// Whether all timers wait to be restarted.
    var isIdle: Bool {
        // Not by `map`, which needs type metadata in a debug build, and the runtime's lock for them: at a fork, another
        // thread may hold that.
        guard let first = byDeadline.first else { return true }
        return first.key == Self.idle
    }

    /// Whether the loop must wake for a timer at `now` or before.
    @inline(__always)
    func isDue(at now: Int64) -> Bool {
        guard let first = byDeadline.first?.key, first <= now else { return false }
        return wakeUpTime.map { $0 <= now } ?? false
    }

    /// The earliest deadline; nil if no timer fires.
    var earliestDeadline: Int64? { Self.time(byDeadline.first?.key) }

    private static func time(_ key: Int64?) -> Int64? { key.flatMap { $0 >= stopped ? nil : $0 } }

    /// The latest time at which the loop must wake for its timers; nil if there is none.
    ///
    /// This is CF's rule of soft and hard deadlines in short form. CF visits the timers by soft deadline while that is
    /// not later than the earliest hard deadline so far. A timer beyond that point has a still later hard deadline. So
    /// the rule gives the earliest hard deadline of all. At that time its timer is soft-due, as are all others that CF
    /// would fire.
    var wakeUpTime: Int64? {
        switch byLatest {
        case .none: earliestDeadline
        case .some(let heap): Self.time(heap.first?.key)
        }
    }

    /// The timer whose deadline is not later than `now`; nil if there is none, or more than one.
    func onlyDue(at now: Int64) -> Timer? { byDeadline.hasOnlyFirst(upTo: now) ? timers[byDeadline.first!.slot] : nil }

    /// The timers whose deadline is not later than `now`, in the order in which they fire, appended to `due`.
    func collectDue(at now: Int64, into due: inout [Timer]) {
        guard let first = byDeadline.first, first.key <= now else { return }
        if byDeadline.hasOnlyFirst(upTo: now) { return due.append(timers[first.slot]) }
        var found: [(deadline: Int64, turn: UInt64, slot: UInt32)] = []
        byDeadline.forEach(upTo: now) { slot in
            found.append((byDeadline.key(of: slot), timers.with(slot) { $0.heapTimes.turn }, slot))
        }
        if found.count > 1 { found.sort { ($0.deadline, $0.turn) < ($1.deadline, $1.turn) } }
        // A loop, since each use of a generic type's key path makes it again, for 10,000 instructions.
        for (_, _, slot) in found { due.append(timers[slot]) }
    }

    /// Whether each timer is here by its times of now. For tests.
    var isExact: Bool {
        for index in 0..<byDeadline.count {
            let slot = byDeadline.slot(at: index)
            let times = timers[slot].heapTimes
            guard byDeadline.key(of: slot) == times.deadline else { return false }
            guard byLatest?.key(of: slot) ?? times.latest == times.latest else { return false }
        }
        return true
    }
}
