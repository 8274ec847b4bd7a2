import RunLoopKit

/// A trace for people: a line for each record, indented by the callouts and runs around it.
///
/// A callout without any records in it is one line, not two. So the writer holds its begin back until the next record,
/// which for such a callout is its end and comes at once.
struct TextTraceWriter: TraceWriter {
    let usesColour: Bool

    private var heldBegin: TraceRecord?

    /// The time of the previous record.
    private var previousTime = Duration.zero

    private var hasSeenRun = false

    /// The activities that have been explained: each is explained once.
    private var explained = Loop.Activity()

    init(usesColour: Bool) { self.usesColour = usesColour }

    // MARK: TraceWriter

    func begin() {
        let legend = """
            A run loop on the main thread, as an observer of all its activities sees it.

              ┌ entry … └ exit   a run of the loop; what happens in it is indented
              · beforeTimers     an activity: a point of the loop's pass at which observers are called
              ● timer            a callout: the loop calls a handler (▶ … ◀ when more happens inside)
              ⇒ timedOut         what the run returned


            """
        StandardOutput.write(legend + styled("       ms  mode      what", .bold) + "\n")
    }

    mutating func write(_ record: TraceRecord) {
        defer { previousTime = record.time }
        let held = heldBegin.take()
        if case .callout(_, .end, _) = record.event {
            return if let held { writeCallout(held, "●") } else { writeCallout(record, "◀") }
        }
        // A record inside the callout whose begin was held back.
        if let held { writeCallout(held, "▶") }
        switch record.event {
        case .callout: heldBegin = record
        case .activity(let activity): writeActivity(activity, record)
        case .result(let result): writeLine(record, styled("⇒ \(result)", .bold))
        }
    }

    func end(_ summary: TraceSummary) {
        let counters = summary.counters
        let ending = Interruption.isRequested ? "Interrupted" : "Done"
        let last = summary.result.map { "the last run was \($0.inWords)" } ?? "there was no run"
        StandardOutput.write(
            """

            \(ending): \(last). \(summary.runs.counted("run")), \(counters.passes.counted("pass", "passes")) and \
            \(counters.waits.counted("sleep")) in \(summary.duration.inMilliseconds) ms.

            """)
    }

    // MARK: Lines

    private func writeCallout(_ record: TraceRecord, _ marker: String) {
        guard case .callout(let callout, _, let label) = record.event else { return }
        let kind = styled("\(marker) \(callout.rawValue.padded(to: 9))", callout.style)
        writeLine(record, "\(kind) \(label)")
    }

    private mutating func writeActivity(_ activity: Loop.Activity, _ record: TraceRecord) {
        separateRuns(activity, record)
        let marker =
            switch activity {
            case .entry: "┌"
            case .exit: "└"
            default: "·"
            }
        let name = "\(marker) \(activity.description)"
        guard let remark = remark(on: activity, at: record.time) else { return writeLine(record, styled(name, .dim)) }
        writeLine(record, styled("\(name.padded(to: 16)) \(remark)", .dim))
    }

    /// A blank line before each outermost run except the first.
    private mutating func separateRuns(_ activity: Loop.Activity, _ record: TraceRecord) {
        guard activity == .entry, record.indentation == 0 else { return }
        if hasSeenRun { StandardOutput.write("\n") }
        hasSeenRun = true
    }

    private mutating func remark(on activity: Loop.Activity, at time: Duration) -> String? {
        // Nothing else happens on the thread between falling asleep and this record.
        if activity == .afterWaiting { return "slept \((time - previousTime).inMilliseconds) ms" }
        return explained.insert(activity).inserted ? activity.explanation : nil
    }

    private func writeLine(_ record: TraceRecord, _ text: String) {
        let time = record.time.inMilliseconds.rightAligned(to: 9)
        let mode = record.mode.name.padded(to: 8)
        let indentation = String(repeating: "│ ", count: record.indentation)
        StandardOutput.write("\(time)  \(mode)  \(styled(indentation, .dim))\(text)\n")
    }

    private func styled(_ text: String, _ style: TextStyle) -> String { usesColour ? style.applied(to: text) : text }
}

extension TraceRecord.Callout {
    fileprivate var style: TextStyle {
        switch self {
        case .timer: .yellow
        case .source0: .cyan
        case .port: .magenta
        case .block: .green
        case .observer, .mainQueue: .blue
        }
    }
}

extension Loop.Activity {
    fileprivate var explanation: String? {
        switch self {
        case .entry: "a run begins"
        case .beforeTimers: "a pass begins"
        case .beforeSources: "blocks and signalled sources are next"
        case .beforeWaiting: "nothing left to do: the loop goes to sleep"
        case .exit: "the run is over"
        default: nil
        }
    }
}

extension Loop.RunResult {
    fileprivate var inWords: String {
        switch self {
        case .finished: "finished, since nothing was left to wait for"
        case .stopped: "stopped"
        case .timedOut: "ended by its time limit"
        case .handledSource: "ended by a source"
        }
    }
}
