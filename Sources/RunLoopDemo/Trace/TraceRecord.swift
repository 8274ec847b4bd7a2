import RunLoopKit

/// An event on a loop's thread.
struct TraceRecord {
    /// Since the trace began.
    let time: Duration

    /// The number of runs in which the record's run is nested.
    let depth: Int

    /// The number of runs and callouts around the record, for display. A run's `entry` and `exit`, and both ends of a
    /// callout, count as outside.
    let indentation: Int

    let mode: Loop.Mode
    let event: Event

    enum Event {
        case activity(Loop.Activity)
        case callout(Callout, Phase, label: String)
        /// A run returned.
        case result(Loop.RunResult)
    }

    /// The kind of handler that the loop called.
    enum Callout: String {
        case timer, source0, port, block, observer, mainQueue
    }

    enum Phase: String {
        case begin, end
    }
}

/// The end of a trace.
struct TraceSummary {
    /// How the last run ended; nil if there was none.
    let result: Loop.RunResult?
    let duration: Duration
    let runs: Int
    let counters: Loop.Counters
}

/// Writes a trace while it is recorded.
protocol TraceWriter {
    mutating func begin()
    mutating func write(_ record: TraceRecord)
    mutating func end(_ summary: TraceSummary)
}
