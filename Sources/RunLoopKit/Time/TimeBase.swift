extension Loop {
    /// What a timer counts its time on: two clocks that differ by the time that the machine has spent in suspend.
    ///
    /// Nobody sets either of them. In virtual time there is one clock, and no suspend.
    public enum TimeBase: Sendable, Hashable {
        /// CLOCK_MONOTONIC, which stands still in suspend: a timer of ten minutes comes ten minutes of work later. What
        /// CFRunLoop counts on, and Swift's `SuspendingClock`.
        case suspending

        /// CLOCK_BOOTTIME, which goes on in suspend: a timer whose time has come meanwhile fires when the machine
        /// wakes. For what has to do with the world: leases, appointments. Swift's `ContinuousClock`.
        case continuous
    }

    /// Now, on the clock of a time base.
    public func now(_ base: TimeBase) -> Instant { Instant(nanoseconds: clock.nanoseconds(base)) }
}

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

    var isEmpty: Bool { suspending.isEmpty && continuous.isEmpty }
    var all: [Loop.Timer] { suspending.all + continuous.all }

    subscript(base: Loop.TimeBase) -> TimerHeap {
        get { base == .suspending ? suspending : continuous }
        _modify { if base == .suspending { yield &suspending } else { yield &continuous } }
    }

    mutating func removeAll() {
        suspending.removeAll()
        continuous.removeAll()
    }
}
