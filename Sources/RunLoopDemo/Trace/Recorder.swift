import RunLoopKit

/// Records what a loop does while it does it: its activities, the handlers that it calls, and the results of its runs.
///
/// The activities come from an observer that the loop calls before all others. A loop has no observers for handlers, so
/// callers wrap those:
///
/// ```swift
/// let timer = Loop.Timer(every: .seconds(1)) { _ in
///     recorder.callout(.timer, "heartbeat") { beat() }
/// }
/// ```
///
/// The recorder does not change what it shows: an observer keeps no run going, and neither it nor the wrapper posts,
/// wakes or stops anything. Use it on the loop's own thread.
final class Recorder: Sendable {
    private struct State {
        var writer: any TraceWriter
        var indentation = 0
        var activeRuns = 0
        var runs = 0
        var lastResult: Loop.RunResult?
    }

    private let loop: Loop
    private let start: Loop.Instant
    private let state: LoopBound<State>

    /// Begins a trace of the calling thread's loop.
    init(writer: sending any TraceWriter) {
        loop = .current
        start = loop.now
        state = LoopBound(State(writer: writer), on: loop)
        state.value.writer.begin()
    }

    /// Records the activities of all runs in `modes`, until the returned observer is invalidated.
    func observe(_ modes: [Loop.Mode]) -> Loop.Observer {
        let observer = Loop.Observer(.all, order: .min) { _, activity in self.record(activity) }
        observer.label = "recorder"
        for mode in modes { loop.add(observer, in: mode) }
        return observer
    }

    /// Calls `body`, and records the call of a handler.
    func callout(_ callout: TraceRecord.Callout, _ label: String, _ body: () -> Void = {}) {
        record(.callout(callout, .begin, label: label))
        state.value.indentation += 1
        body()
        state.value.indentation -= 1
        record(.callout(callout, .end, label: label))
    }

    /// Runs the loop, and records the run's result.
    func run(mode: Loop.Mode, for duration: Duration, returnAfterSourceHandled: Bool = false) {
        let result = loop.run(mode: mode, for: duration, returnAfterSourceHandled: returnAfterSourceHandled)
        state.value.runs += 1
        state.value.lastResult = result
        record(.result(result), in: mode, depth: state.value.activeRuns)
    }

    /// Ends the trace.
    func finish() {
        let summary = TraceSummary(
            result: state.value.lastResult, duration: start.duration(to: loop.now), runs: state.value.runs,
            counters: loop.counters)
        state.value.writer.end(summary)
    }

    // MARK: Recording

    private func record(_ activity: Loop.Activity) {
        if activity == .entry { state.value.activeRuns += 1 }
        if activity == .exit { state.value.indentation -= 1 }
        record(.activity(activity))
        if activity == .entry { state.value.indentation += 1 }
        if activity == .exit { state.value.activeRuns -= 1 }
    }

    /// Records the mode and the depth of the innermost run, unless that run is over.
    private func record(_ event: TraceRecord.Event, in mode: Loop.Mode? = nil, depth: Int? = nil) {
        let time = start.duration(to: loop.now)
        let mode = mode ?? loop.currentMode ?? .default
        let depth = depth ?? max(0, state.value.activeRuns - 1)
        state.value.writer.write(
            TraceRecord(time: time, depth: depth, indentation: state.value.indentation, mode: mode, event: event))
    }
}
