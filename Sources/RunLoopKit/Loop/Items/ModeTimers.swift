/// Timers, earliest first.
typealias TimerHeap = DeadlineHeap<Loop.Timer>

/// The timers of one mode: a heap for each time base, since their times cannot be compared. In virtual time all are in
/// the first.
struct ModeTimers {
    var suspending = TimerHeap()
    var continuous = TimerHeap()

    /// Whose places the timers keep: see `TimerHeap.owner`. A timer is in one heap of a mode.
    var owner: ObjectIdentifier? {
        get { suspending.owner }
        set { (suspending.owner, continuous.owner) = (newValue, newValue) }
    }

    /// Whether no timer keeps a run going.
    var areIdle: Bool { mutating get { suspending.isIdle && continuous.isIdle } }
    var all: [Loop.Timer] { suspending.all + continuous.all }

    /// Without those that wait to be restarted.
    var allThatKeepRunsGoing: [Loop.Timer] { all.filter { $0.timesForHeap().deadline != TimerHeap.idle } }

    subscript(base: Loop.TimeBase) -> TimerHeap {
        get { base == .suspending ? suspending : continuous }
        _modify { if base == .suspending { yield &suspending } else { yield &continuous } }
    }

    /// The timers that are due, in the order in which they fire.
    func allDue(at now: ClockTimes) -> [Loop.Timer] {
        var due: [Loop.Timer] = []
        suspending.collectDue(at: now.suspending, into: &due)
        continuous.collectDue(at: now.continuous, into: &due)
        return due
    }

    mutating func removeAll() {
        suspending.removeAll()
        continuous.removeAll()
    }
}
