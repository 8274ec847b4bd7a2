/// The story for programs: a JSON object on each line.
enum FeedbackJSON {
    static func lines(of layout: FeedbackStory.Layout, of story: FeedbackStory) -> String {
        var line = JSONLine()
        line.add("t", layout.time.inNanoseconds)
        line.add("event", "layout")
        line.add("cause", layout.event)
        line.add("width", Int64(layout.size.width))
        line.add("height", Int64(layout.size.height))
        line.add("calls", Int64(layout.trail.count))
        line.add("pictureHeight", Int64(layout.picture.height))
        line.add("barWidth", Int64(layout.barWidth))
        guard let report = layout.report else { return line.text }
        var second = JSONLine()
        second.add("t", layout.time.inNanoseconds)
        second.add("event", "report")
        second.add("step", "\(report.step)")
        second.add("count", Int64(report.count))
        second.add("threshold", Int64(story.threshold))
        second.add("mode", report.mode.name)
        second.add("activity", report.activity?.description ?? "none")
        second.add("rounds", Int64(report.rounds))
        second.add("cycle", report.cycle.map(\.description))
        second.add("callers", report.callers.map(\.label))
        return line.text + second.text
    }
}
