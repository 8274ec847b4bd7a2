/// Timers, earliest first.
typealias TimerHeap = DeadlineHeap<Loop.Timer>

/// The timers of one mode: a heap for each time base, since their times cannot be compared. In virtual time those of
/// the continuous clock are in the first.
struct ModeTimers {
    var suspending = TimerHeap()

    /// Nil in nearly every mode: a pass then does not look at the other clocks.
    var others: OtherTimers?

    /// Whose places the timers keep: see `TimerHeap.owner`. A timer is in one heap of a mode.
    var owner: ObjectIdentifier? {
        get { suspending.owner }
        set { suspending.owner = newValue }
    }

    /// Whether no timer keeps a run going.
    var areIdle: Bool { mutating get { suspending.isIdle && others?.areIdle ?? true } }
    var all: [Loop.Timer] { suspending.all + (others?.all ?? []) }

    /// Without those that wait to be restarted.
    var allThatKeepRunsGoing: [Loop.Timer] { all.filter { $0.timesForHeap().deadline != TimerHeap.idle } }

    // Not a subscript, which would allocate for its access.

    mutating func insert(_ timer: Loop.Timer, _ times: HeapTimes, in base: Loop.TimeBase) {
        if base == .suspending { suspending.insert(timer, times) } else { insertElsewhere(timer, times, in: base) }
    }

    @inline(never)
    private mutating func insertElsewhere(_ timer: Loop.Timer, _ times: HeapTimes, in base: Loop.TimeBase) {
        if others == nil { others = OtherTimers(owner) }
        others![base].insert(timer, times)
    }

    mutating func remove(_ timer: Loop.Timer, from base: Loop.TimeBase) {
        if base == .suspending { suspending.remove(timer) } else { others?[base].remove(timer) }
    }

    mutating func update(_ timer: Loop.Timer, _ times: HeapTimes, in base: Loop.TimeBase) {
        if base == .suspending { suspending.update(timer, times) } else { others?[base].update(timer, times) }
    }

    /// The timers that are due, in the order in which they fire.
    func allDue(at now: ClockTimes) -> [Loop.Timer] {
        var due: [Loop.Timer] = []
        suspending.collectDue(at: now.suspending, into: &due)
        others?.collectDue(at: now, into: &due)
        return due
    }

    mutating func removeAll() {
        suspending.removeAll()
        others?.removeAll()
        others = nil
    }
}

/// The timers of one mode that do not count on the loop's own clock.
struct OtherTimers {
    var continuous = TimerHeap()
    var wallClock = TimerHeap()

    init(_ owner: ObjectIdentifier?) { (continuous.owner, wallClock.owner) = (owner, owner) }

    subscript(base: Loop.TimeBase) -> TimerHeap {
        get { base == .continuous ? continuous : wallClock }
        _modify { if base == .continuous { yield &continuous } else { yield &wallClock } }
    }

    var areIdle: Bool { mutating get { continuous.isIdle && wallClock.isIdle } }
    var all: [Loop.Timer] { continuous.all + wallClock.all }

    /// Whether a timer must fire at these times.
    mutating func isDue(at now: ClockTimes) -> Bool {
        continuous.wakeUpTime.map { $0 <= now.continuous } ?? false
            || wallClock.wakeUpTime.map { $0 <= now.wallClock } ?? false
    }

    func collectDue(at now: ClockTimes, into due: inout [Loop.Timer]) {
        continuous.collectDue(at: now.continuous, into: &due)
        wallClock.collectDue(at: now.wallClock, into: &due)
    }

    mutating func removeAll() {
        continuous.removeAll()
        wallClock.removeAll()
    }
}
