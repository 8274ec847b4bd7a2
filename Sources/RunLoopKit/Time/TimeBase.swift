extension Loop {
    /// The clock of a timer: one of two that differ by the time that the machine has spent in suspend.
    ///
    /// Neither is ever set. In virtual time there is one clock, and no suspend.
    public enum TimeBase: Sendable, Hashable {
        /// CLOCK_MONOTONIC, which stops in suspend: a timer of ten minutes fires after the machine was awake for ten
        /// minutes. CFRunLoop's clock, and Swift's `SuspendingClock`.
        case suspending

        /// CLOCK_BOOTTIME, which continues in suspend: a timer that becomes due meanwhile fires when the machine wakes.
        /// For times of the outside world, such as leases and appointments. Swift's `ContinuousClock`.
        case continuous
    }
}
