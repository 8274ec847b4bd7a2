import RunLoopKit

/// A stall: a handler has kept its loop from coming around for longer than a threshold. See ``StallMonitor``.
public struct StallReport: Sendable, CustomStringConvertible {
    /// What a report announces.
    public enum Stage: Equatable, Sendable {
        /// The stall has exceeded this threshold, and lasts.
        case exceeded(Duration)
        /// The stall is over. The only report of a stall that ended before the watcher looked.
        case ended
    }

    /// The same in all reports of one stall; later stalls have higher numbers.
    public let number: Int

    /// What the report announces.
    public let stage: Stage

    /// Whether no other report of this stall came before: for a handler that looks at each stall once. It may be that
    /// of the end.
    public let isFirst: Bool

    /// The name with which the loop is watched.
    public let loop: String

    /// The kind of the handler.
    public let kind: Loop.HandlerKind

    /// The item with its kind, such as `timer "frame"`, or what else the handler is: `block`, with the place where it
    /// was posted if a monitor or a ``LoopTracer`` was attached to the loop by then. A limiter's action that runs
    /// inside the call is a part of the caller's handler, which is named: the backtrace shows the action.
    public let label: String

    /// The activity at which an observer is called; empty for other kinds.
    public let activity: Loop.Activity

    /// The mode in which the handler was called.
    public let mode: Loop.Mode

    /// In how many other runs of the loop the handler's run is nested.
    public let nesting: Int

    /// When the handler was called or, if it then ran the loop nested, when that run last came around.
    public let start: Loop.Instant

    /// When the handler returned, ran the loop, or let it call another handler. Nil while the stall lasts.
    public let end: Loop.Instant?

    /// How long the stall has lasted, without the time in which the watcher could not run either. Of a stall that
    /// lasts, when the watcher looked: a watcher that is in time looks at the threshold, and calls its handler later.
    public let duration: Duration

    /// What waited for the loop when this was reported; for a stall that has ended, when it was last reported before.
    public let waiting: WaitingWork

    /// Where the loop's thread was when this was reported; as `waiting` for a stall that has ended.
    public let backtrace: Backtrace

    /// How many stalls have got no reports since the handler was called before, as too many reports waited for it: see
    /// ``StallMonitor``. They are later than the stalls whose reports wait.
    public let lostStalls: Int

    /// What happened, in a line or, with a backtrace, in several.
    public var description: String {
        lostStalls == 0
            ? event : "\(event)\n(\(lostStalls) later stall\(lostStalls == 1 ? " has" : "s have") no report)"
    }

    private var event: String {
        let loop = loop.printable
        let handler = "\(label)\(activity.isEmpty ? "" : " at \(activity)") in mode '\(mode)'"
        let depth = nesting == 0 ? "" : ", \(nesting) run\(nesting == 1 ? "" : "s") deep"
        switch stage {
        case .ended:
            return "the loop '\(loop)' continues: \(handler)\(depth) had kept it from coming around for "
                + "\(wholeTime) (stall \(number))"
        case .exceeded(let threshold):
            let head =
                "the loop '\(loop)' is stalled: \(handler)\(depth) has kept it from coming around for "
                + "\(duration.inWholeMilliseconds) (stall \(number), threshold \(threshold.inWholeMilliseconds)); "
                + "\(waiting) \(waiting.total > 1 ? "wait" : "waits") behind it"
            return backtrace.frames.isEmpty ? head : "\(head)\n\(backtrace)"
        }
    }
}

extension StallReport {
    /// From the start to the end, and how much of that was no time of the watcher's, if it is a tenth or more.
    private var wholeTime: String {
        let whole = end.map { start.duration(to: $0) } ?? duration
        let unwatched = whole - duration
        let rest =
            unwatched * 10 < whole
            ? "" : ", the watcher's thread could not run for \(unwatched.inWholeMilliseconds) of them"
        return whole.inWholeMilliseconds + rest
    }

    /// The same for the handler.
    func finished(_ backtrace: Backtrace, lostStalls: Int) -> StallReport {
        StallReport(
            number: number, stage: stage, isFirst: isFirst, loop: loop, kind: kind, label: label, activity: activity,
            mode: mode, nesting: nesting, start: start, end: end, duration: duration, waiting: waiting,
            backtrace: backtrace, lostStalls: lostStalls)
    }
}

extension Duration {
    fileprivate var inWholeMilliseconds: String { "\(wholeNanoseconds / 1_000_000) ms" }
}
