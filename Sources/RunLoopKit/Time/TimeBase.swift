extension Loop {
    /// The clock of a timer.
    ///
    /// The first two differ by the time that the machine has spent in suspend, and are never set. In virtual time they
    /// are one clock, and there is no suspend. The third is the time of day; ``VirtualClock/setWallClock(to:)`` sets
    /// that of virtual time. Times on different clocks cannot be compared.
    public enum TimeBase: Sendable, Hashable {
        /// CLOCK_MONOTONIC, which stops in suspend: a timer of ten minutes fires after the machine was awake for ten
        /// minutes. CFRunLoop's clock, and Swift's `SuspendingClock`.
        case suspending

        /// CLOCK_BOOTTIME, which continues in suspend: a timer that becomes due meanwhile fires when the machine wakes.
        /// For times of the outside world, such as leases. Swift's `ContinuousClock`.
        case continuous

        /// CLOCK_REALTIME, in nanoseconds since 1970 in UTC, which can be set and continues in suspend: for
        /// appointments, "at 07:00" or "on every full second". A timer keeps its time when the clock is set, by a
        /// person, by a time service, or by a leap second.
        ///
        /// ```swift
        /// let startOf1970 = Loop.Instant(nanoseconds: 0)
        /// let everyFullSecond = Loop.Timer(at: startOf1970, repeating: .seconds(1), timeBase: .wallClock) { _ in
        ///     clockFace.update()
        /// }
        /// ```
        ///
        /// - A timer that fires once fires when the clock has reached or passed its time: at once if the clock is set
        ///   forward beyond it, later if the clock is set back.
        /// - A repeating timer fires at the instants of its grid: its time, and every interval before and after it. If
        ///   the clock is set forward, the timer is called once for all instants that were skipped, and then at the
        ///   next one. If the clock is set back, the timer is called at the next instant, also if it was called for
        ///   that one before; ``Loop/Timer/Firing/scheduledTime`` says which one it is. Only the first call never
        ///   comes before the time that the timer was given.
        /// - A repeating timer that is made for, or moved to, a time in the past first fires at the next instant of
        ///   its grid. So a time far in the past names a grid, as above.
        ///
        /// The loop has no calendar: for local times, days of 23 hours, or the first of every month, the caller
        /// computes the next time and sets ``Loop/Timer/nextFireTime``. No counterpart in CF: `CFRunLoopTimer` takes a
        /// date, and converts it to a time on the monotonic clock once.
        case wallClock
    }
}
