extension Loop {
    /// The clock of a timer. Times on different clocks cannot be compared.
    ///
    /// The first two differ by the time that the machine has spent in suspend, and are never set. In virtual time they
    /// are one clock, without suspend. The third is the time of day; in virtual time ``VirtualClock/setWallClock(to:)``
    /// sets it. <doc:Timers#The-clocks-and-suspend> compares them.
    public enum TimeBase: Sendable, Hashable {
        /// CLOCK_MONOTONIC, which stops in suspend: a timer of ten minutes fires after the machine was awake for ten
        /// minutes. CFRunLoop's clock, and Swift's `SuspendingClock`.
        case suspending

        /// CLOCK_BOOTTIME, which continues in suspend: a timer that becomes due meanwhile fires when the machine wakes.
        /// For times of the outside world, such as leases. Swift's `ContinuousClock`.
        case continuous

        /// CLOCK_REALTIME, the time of day: nanoseconds since 1970 in UTC. It continues in suspend. A timer keeps its
        /// time when a person, a time service or a leap second sets the clock.
        ///
        /// ```swift
        /// let startOf1970 = Loop.Instant(nanoseconds: 0)
        /// let everyFullSecond = Loop.Timer(at: startOf1970, repeating: .seconds(1), timeBase: .wallClock) { _ in
        ///     clockFace.update()
        /// }
        /// ```
        ///
        /// - *A timer that fires once* fires when the clock has reached or passed its time: at once if the clock is set
        ///   forward beyond it, later if it is set back.
        /// - *A repeating timer* fires at the instants of its grid: its time, and every interval before and after it.
        ///   One made for, or moved to, a time in the past first fires at the next instant. So a time far in the past
        ///   names a grid, as above.
        /// - *Set forward:* a repeating timer is called once for all instants that were skipped.
        /// - *Set back:* a repeating timer is called at the next instant, even if it was called for that one before.
        ///   ``Loop/Timer/Firing/scheduledTime`` says which one it is. Only the first call never comes before the time
        ///   that the timer was given. So a clock face goes on after a step back, where cron's rule, each instant once,
        ///   would leave it standing. That rule can be built on this one.
        ///
        /// The loop has no calendar. For local times, or the first of every month, compute the next time and set
        /// ``Loop/Timer/nextFireTime``. CF has no counterpart: `CFRunLoopTimer` converts a date to a monotonic time
        /// once.
        case wallClock
    }
}
