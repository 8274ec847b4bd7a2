import RunLoopKit

/// A trace for programs: a JSON object for each record, a line for each object, and nothing else.
struct JSONTraceWriter: TraceWriter {
    func begin() {}
    func end(_ summary: TraceSummary) {}

    func write(_ record: TraceRecord) {
        var line = JSONLine()
        line.add("t", record.time.inNanoseconds)
        line.add("depth", Int64(record.depth))
        line.add("mode", record.mode.name)
        switch record.event {
        case .activity(let activity):
            line.add("event", "activity")
            line.add("activity", activity.description)
        case .callout(let callout, let phase, let label):
            line.add("event", callout.rawValue)
            line.add("phase", phase.rawValue)
            line.add("label", label)
        case .result(let result):
            line.add("event", "result")
            line.add("result", result.description)
        }
        StandardOutput.write(line.text)
    }
}
