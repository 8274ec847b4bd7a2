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
}
