/// What a loop has done since a ``StallMonitor`` has watched it: a snapshot, which never changes.
public struct LoopMetrics: Equatable, Sendable {
    /// Time in handlers that did not run the loop, or wait in such a run.
    public let timeInCallouts: Duration

    /// Time in which the loop ran and did not sleep, with that in handlers. For a hosted loop this includes the time
    /// that the host takes between two passes if the first one left work.
    public let timeAwake: Duration

    /// The number of calls of handlers.
    public let callouts: Int

    /// The number of stalls that were reported.
    public let stalls: Int

    /// How long each pass took, without its sleep.
    public let passes: DurationHistogram

    /// How much later than scheduled timers fired.
    public let timerLateness: DurationHistogram

    /// What waits for the loop. Blocks that a pass has taken to run them one after the other do not count any more.
    public let waiting: WaitingWork

    /// The share of the time awake that was spent in handlers, from 0 to 1; 0 for a loop that never ran.
    public var utilisation: Double { timeAwake == .zero ? 0 : timeInCallouts / timeAwake }
}
