/// A timeline for programs: an object for each call and each action, in the order of time.
enum TimelineJSON {
    static func lines(of timeline: Timeline) -> String {
        let calls = timeline.calls.map { (time: $0.time, order: 0, text: line(nil, $0.time, "call", $0)) }
        let actions = Lane.allCases.enumerated().flatMap { index, lane in
            timeline.actions(of: lane).map {
                (time: $0.time, order: index + 1, text: line(lane, $0.time, "action", $0.call))
            }
        }
        // At one instant: the call, then the lanes from top to bottom.
        return (calls + actions).sorted { ($0.time, $0.order) < ($1.time, $1.order) }.map(\.text).joined()
    }

    private static func line(_ lane: Lane?, _ time: Duration, _ event: String, _ call: Call) -> String {
        var line = JSONLine()
        if let lane { line.add("lane", lane.name) }
        line.add("t", time.inNanoseconds)
        line.add("event", event)
        line.add("value", Int64(call.value))
        return line.text
    }
}
