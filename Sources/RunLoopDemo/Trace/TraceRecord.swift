import RunLoopKit

/// Something that happened on a loop's thread.
struct TraceRecord {
    /// Since the trace began.
    let time: Duration

    /// In how many other runs the run is nested that this belongs to.
    let depth: Int

    /// In how many runs and callouts this happened, for the eye. A run's `entry` and `exit`, and the two ends of a
    /// callout, count as outside of it.
    let indentation: Int

    let mode: Loop.Mode
    let event: Event

    enum Event {
        case activity(Loop.Activity)
        case callout(Callout, Phase, label: String)
        /// A run returned.
        case result(Loop.RunResult)
    }

    /// What the loop called a handler for.
    enum Callout: String {
        case timer, source0, port, block, observer, mainQueue
    }

    enum Phase: String {
        case begin, end
    }
}

/// What is left to say when a trace is over.
struct TraceSummary {
    /// How the last run ended; nil if there was none.
    let result: Loop.RunResult?
    let duration: Duration
    let runs: Int
    let counters: Loop.Counters
}

/// Shows a trace while it is made.
protocol TraceWriter {
    mutating func begin()
    mutating func write(_ record: TraceRecord)
    mutating func end(_ summary: TraceSummary)
}
