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

    /// How much later than scheduled timers fired. Calls are counted: the instants that a slow handler made its own
    /// timer miss are in ``Loop/Timer/Firing/missed``, not here.
    public let timerLateness: DurationHistogram

    /// What waits for the loop. Blocks that a pass has taken to run them one after the other do not count any more.
    public let waiting: WaitingWork

    /// The share of the time awake that was spent in handlers, from 0 to 1; 0 for a loop that never ran.
    ///
    /// The rest is what the loop itself costs. So it is near 1 also for a loop that sleeps nearly always: for the share
    /// of a minute that handlers took, divide ``timeInCallouts`` by the minute.
    public var utilisation: Double { timeAwake == .zero ? 0 : timeInCallouts / timeAwake }
}

extension LoopMetrics {
    /// What the loop has done since an earlier snapshot of the same loop and monitor: for a report of each minute.
    ///
    /// ```swift
    /// let now = monitor.metrics(of: .main)!
    /// print("in handlers: \(now.since(last).timeInCallouts / .seconds(60)) of this minute")
    /// last = now
    /// ```
    ///
    /// What waits is that of this snapshot. See ``DurationHistogram/since(_:)`` for the longest durations.
    public func since(_ earlier: LoopMetrics) -> LoopMetrics {
        LoopMetrics(
            timeInCallouts: timeInCallouts - earlier.timeInCallouts, timeAwake: timeAwake - earlier.timeAwake,
            callouts: callouts - earlier.callouts, stalls: stalls - earlier.stalls,
            passes: passes.since(earlier.passes),
            timerLateness: timerLateness.since(earlier.timerLateness), waiting: waiting)
    }
}
