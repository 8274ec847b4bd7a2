import RunLoopKit

/// What a loop has done since a ``StallMonitor`` has watched it: a snapshot, which never changes.
///
/// All sums and counts begin with zero when the monitor begins to watch the loop, and only grow from snapshot to
/// snapshot: ``since(_:)`` has what a period adds. Only ``waiting`` is of the moment. Times are durations on
/// CLOCK_MONOTONIC, which stands still while the machine is suspended, even for a loop in virtual time.
///
/// How often the loop slept, was woken and armed its timer is in `Loop.counters`, which need no monitor.
public struct LoopMetrics: Equatable, Sendable, CustomStringConvertible {
    /// The watch whose sums these are: a number for each time that a monitor began to watch a loop.
    let watch: UInt64

    /// Time in handlers, up to the moment of the snapshot if one is active. A handler that runs the loop nested counts
    /// without that run, whose own handlers count.
    public let timeInCallouts: Duration

    /// Time in which the loop ran and did not sleep, with that in handlers. For a hosted loop this includes the time
    /// that the host takes between two passes if the first one left work. At least ``timeInCallouts``.
    public let timeAwake: Duration

    /// The number of calls of handlers that have returned, of every `Loop.HandlerKind`. Each message of a port is a
    /// call; the jobs of the main queue that a pass runs are one. A caller that waits for a block, as by
    /// `Loop.performAndWait(in:for:label:file:line:_:)`, gets its answer inside the call, so that call may not be
    /// counted yet.
    public let callouts: Int

    /// The number of stalls that were found, each once, however many thresholds it has exceeded. Those that last are
    /// included, and those that got no report: ``StallReport/lostStalls``.
    public let stalls: Int

    /// How long each pass that has ended took, without its sleep. For a hosted loop this includes the time that the
    /// host takes before the next pass, if this one left work. A run that finds nothing to wait for makes none.
    public let passes: DurationHistogram

    /// How much later than scheduled timers fired, on the timer's clock; recorded as the call begins. In virtual time
    /// it is zero, unless a handler has made the time pass. Calls are counted: the instants that a slow handler made
    /// its own timer miss are in `Loop.Timer.Firing.missed`, not here.
    public let timerLateness: DurationHistogram

    /// What waits for the loop. Blocks that a pass has taken to run them one after the other do not count any more.
    public let waiting: WaitingWork

    /// The share of the time awake that was spent in handlers, from 0 to 1; 0 for a loop that never ran.
    ///
    /// The rest is what the loop itself costs. So it is near 1 even for a loop that sleeps nearly always: for the share
    /// of a minute that handlers took, divide ``timeInCallouts`` by the minute; for the share that the loop was busy,
    /// ``timeAwake``.
    public var utilisation: Double { timeAwake == .zero ? 0 : timeInCallouts / timeAwake }

    /// All of them, on four lines.
    public var description: String {
        """
        \(counted(callouts, "call")) of handlers took \(timeInCallouts.inWords) of \(timeAwake.inWords) awake; \
        \(counted(stalls, "stall"))
        passes: \(passes)
        lateness of timers: \(timerLateness)
        waiting: \(waiting)
        """
    }
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
    /// If the monitor has begun to watch the loop anew in between, what it has done since then: this whole snapshot. So
    /// nothing is ever negative.
    ///
    /// What waits is that of this snapshot. See ``DurationHistogram/since(_:)`` for the longest durations.
    public func since(_ earlier: LoopMetrics) -> LoopMetrics {
        guard watch == earlier.watch else { return self }
        return LoopMetrics(
            watch: watch, timeInCallouts: timeInCallouts - earlier.timeInCallouts,
            timeAwake: timeAwake - earlier.timeAwake,
            callouts: callouts - earlier.callouts, stalls: stalls - earlier.stalls,
            passes: passes.since(earlier.passes),
            timerLateness: timerLateness.since(earlier.timerLateness), waiting: waiting)
    }
}
