/// Timers, earliest first.
typealias TimerHeap = DeadlineHeap<Loop.Timer>

/// The timers of one mode: a heap for each time base, since their times cannot be compared. In virtual time those of
/// the continuous clock are in the first.
struct ModeTimers: ~Copyable {
    enum Heap {
        case suspending, continuous, wallClock
        /// Precise timers on the suspending clock.
        case precise
    }

    var suspending = TimerHeap()

    /// Nil in nearly every mode: a pass then does not look at the other heaps.
    var others: OtherTimers?

    /// Whose places the timers keep: see `TimerHeap.owner`. A timer is in one heap of a mode.
    var owner: ObjectIdentifier? {
        get { suspending.owner }
        set { suspending.owner = newValue }
    }

    /// False for a mode that has had timers on another clock, or precise ones, too.
    var isEmpty: Bool { suspending.isEmpty && others == nil }

    /// Whether all timers wait to be restarted.
    var areIdle: Bool { suspending.isIdle && others?.areIdle ?? true }
    var all: [Loop.Timer] { suspending.all + (others?.all ?? []) }

    /// Without those that wait to be restarted.
    var allButIdle: [Loop.Timer] { all.filter { $0.heapTimes.deadline != TimerHeap.idle } }

    func contains(where isWanted: (Loop.Timer) -> Bool) -> Bool {
        suspending.contains(where: isWanted) || others?.contains(where: isWanted) ?? false
    }

    // Not a subscript, which would allocate for its access.

    mutating func insert(_ timer: Loop.Timer, _ times: HeapTimes, in heap: Heap) {
        if heap == .suspending { suspending.insert(timer, times) } else { insertSlowly(timer, times, in: heap) }
    }

    @inline(never)
    private mutating func insertSlowly(_ timer: Loop.Timer, _ times: HeapTimes, in heap: Heap) {
        if others == nil { others = OtherTimers(owner) }
        others![heap].insert(timer, times)
    }

    /// Returns whether the timer was there.
    @discardableResult
    mutating func remove(_ timer: Loop.Timer, from heap: Heap) -> Bool {
        heap == .suspending ? suspending.remove(timer) : others?[heap].remove(timer) ?? false
    }

    mutating func update(_ timer: Loop.Timer, _ times: HeapTimes, in heap: Heap) {
        if heap == .suspending { suspending.update(timer, times) } else { others?[heap].update(timer, times) }
    }

    /// As `DeadlineHeap.isExact`.
    var areExact: Bool { suspending.isExact && others?.areExact ?? true }

    /// The timers that are due, in the order in which they fire.
    func collectDue(at now: ClockTimes, into due: inout [Loop.Timer]) {
        // Precise timers first: those that are merely late can wait.
        others?.precise.collectDue(at: now.suspending.addingSaturating(HeadStart.ofPass), into: &due)
        suspending.collectDue(at: now.suspending, into: &due)
        others?.collectDue(at: now, into: &due)
    }

    mutating func removeAll() {
        suspending.removeAll()
        others?.removeAll()
        others = nil
    }
}

/// The timers of one mode that are not in its first heap. An object, since few modes have any.
final class OtherTimers {
    // Exclusivity is unchecked, as in `ModeState`.
    @exclusivity(unchecked) var continuous = TimerHeap()
    @exclusivity(unchecked) var wallClock = TimerHeap()
    @exclusivity(unchecked) var precise = TimerHeap()

    init(_ owner: ObjectIdentifier?) {
        continuous.owner = owner
        wallClock.owner = owner
        precise.owner = owner
    }

    subscript(heap: ModeTimers.Heap) -> TimerHeap {
        _read {
            switch heap {
            case .continuous: yield continuous
            case .wallClock: yield wallClock
            case .suspending, .precise: yield precise
            }
        }
        _modify {
            switch heap {
            case .continuous: yield &continuous
            case .wallClock: yield &wallClock
            case .suspending, .precise: yield &precise
            }
        }
    }

    var areIdle: Bool { continuous.isIdle && wallClock.isIdle && precise.isIdle }
    var areExact: Bool { continuous.isExact && wallClock.isExact && precise.isExact }
    var all: [Loop.Timer] { continuous.all + wallClock.all + precise.all }

    func contains(where isWanted: (Loop.Timer) -> Bool) -> Bool {
        continuous.contains(where: isWanted) || wallClock.contains(where: isWanted) || precise.contains(where: isWanted)
    }

    /// Whether a timer must fire at these times.
    func isDue(at now: ClockTimes) -> Bool {
        continuous.wakeUpTime.map { $0 <= now.continuous } ?? false
            || wallClock.wakeUpTime.map { $0 <= now.wallClock } ?? false
            || precise.earliestDeadline.map { $0 <= now.suspending.addingSaturating(HeadStart.ofPass) } ?? false
    }

    func collectDue(at now: ClockTimes, into due: inout [Loop.Timer]) {
        continuous.collectDue(at: now.continuous, into: &due)
        wallClock.collectDue(at: now.wallClock, into: &due)
    }

    func removeAll() {
        continuous.removeAll()
        wallClock.removeAll()
        precise.removeAll()
    }
}
