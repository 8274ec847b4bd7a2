import RunLoopDiagnostics
import RunLoopKit

/// A layout pass as a picture: the cycle that the detector has found, and the pass's first calls, one after the other.
struct FeedbackPicture {
    private let layout: FeedbackStory.Layout
    private let story: FeedbackStory
    private var svg = SVG()

    /// What was called, in the order of the first calls.
    private let rows: [String]

    static func draw(_ layout: FeedbackStory.Layout, of story: FeedbackStory) -> String {
        var picture = FeedbackPicture(layout, story)
        picture.drawAll()
        return picture.svg.document(
            width: Metrics.width, height: picture.height, title: picture.title, style: sheet)
    }

    private init(_ layout: FeedbackStory.Layout, _ story: FeedbackStory) {
        (self.layout, self.story) = (layout, story)
        rows = layout.trail.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    private enum Metrics {
        static let width = 860.0
        static let left = 24.0
        /// The centre of the circle, and its half axes.
        static let centre = (x: 250.0, y: 218.0)
        static let radius = (x: 138.0, y: 92.0)
        static let box = (width: 142.0, height: 32.0)
        static let text = 520.0
        static let callsLeft = 170.0
        static let callWidth = 12.0
        static let rowHeight = 20.0
        /// How many calls are drawn.
        static let calls = 50
    }

    private var report: FeedbackLoopDetector.Report? { layout.report }
    private var title: String { report == nil ? "A layout that comes to rest" : "A layout that triggers itself" }
    private var callsTop: Double { report == nil ? 130 : 408 }
    private var height: Double { callsTop + Metrics.rowHeight * Double(rows.count) + 44 }

    private mutating func drawAll() {
        svg.add("rect", ["class": "paper", "width": "100%", "height": "100%"])
        svg.add("text", ["class": "title", "x": Metrics.left, "y": 38.0], text: title)
        let size = "\(Int(layout.size.width)) × \(Int(layout.size.height))"
        svg.add(
            "text", ["class": "note", "x": Metrics.left, "y": 60.0],
            text: "RunLoopDemo feedback\(story.isMended ? " --mended" : ""): a window of \(size) opens. "
                + "One pass of the loop, as a FeedbackLoopDetector counts it.")
        if let report {
            drawCircle(report)
            drawExplanation(report)
        }
        drawCalls()
    }

    // MARK: The cycle

    /// Clockwise, from the top.
    private func place(_ step: Double, of count: Int) -> (x: Double, y: Double) {
        let angle = 2 * Double.pi * step / Double(count)
        return (Metrics.centre.x + Metrics.radius.x * sin(angle), Metrics.centre.y - Metrics.radius.y * cos(angle))
    }

    private mutating func drawCircle(_ report: FeedbackLoopDetector.Report) {
        let steps = report.cycle
        for index in steps.indices { drawArrow(from: index, of: steps.count) }
        for (index, step) in steps.enumerated() {
            let (x, y) = place(Double(index), of: steps.count)
            svg.beginGroup(["class": kind(step.name)], title: "\(step)")
            svg.add(
                "rect",
                [
                    "class": "box", "x": x - Metrics.box.width / 2, "y": y - Metrics.box.height / 2,
                    "width": Metrics.box.width, "height": Metrics.box.height, "rx": 6.0,
                ])
            svg.add("text", ["class": "step", "x": x, "y": y + 5], text: "\(step)")
            svg.endGroup()
        }
        svg.add(
            "text", ["class": "rounds", "x": Metrics.centre.x, "y": Metrics.centre.y - 2],
            text: max(1, report.rounds).counted("round"))
        svg.add(
            "text", ["class": "note middle", "x": Metrics.centre.x, "y": Metrics.centre.y + 17], text: "in one pass")
    }

    /// Along the ellipse, from box to box: the part of it that no box covers, and a head at its end.
    private mutating func drawArrow(from index: Int, of count: Int) {
        let points = stride(from: 0.0, through: 1, by: 0.02).map { place(Double(index) + $0, of: count) }
        let ends = [place(Double(index), of: count), place(Double(index + 1), of: count)]
        let free = points.filter { point in
            ends.allSatisfy { end in
                abs(point.x - end.x) > Metrics.box.width / 2 + 6 || abs(point.y - end.y) > Metrics.box.height / 2 + 6
            }
        }
        guard let last = free.last, free.count > 2 else { return }
        let line = zip(free, free.dropFirst()).map { SVG.line($0, $1) }.joined()
        svg.add("path", ["class": "arrow", "d": line])
        let before = free[free.count - 3]
        let length = ((last.x - before.x) * (last.x - before.x) + (last.y - before.y) * (last.y - before.y))
            .squareRoot()
        let (dx, dy) = ((last.x - before.x) / length * 9, (last.y - before.y) / length * 9)
        let wings = [1.0, -1.0].map { side in
            SVG.line((last.x - dx - side * dy * 0.55, last.y - dy + side * dx * 0.55), last)
        }
        svg.add("path", ["class": "arrow", "d": wings.joined()])
    }

    private mutating func drawExplanation(_ report: FeedbackLoopDetector.Report) {
        let activity = report.activity.map { ", at \($0)" } ?? ""
        let lines = [
            ("name", "\(report.step) was called \(report.count) times"),
            ("text", "within one pass\(activity)."),
            ("text", ""),
            ("text", "The picture is too tall: a scroll bar appears."),
            ("text", "The scroll bar makes it narrower and lower:"),
            ("text", "the scroll bar disappears. It is too tall again."),
            ("text", ""),
            ("text", "The detector drops the calls that follow."),
            ("text", "The loop sleeps, and the program continues."),
        ]
        for (index, line) in lines.enumerated() where line.1 != "" {
            svg.add(
                "text", ["class": line.0, "x": Metrics.text, "y": 142 + 21 * Double(index)], text: line.1)
        }
    }

    // MARK: The calls

    private mutating func drawCalls() {
        let shown = layout.trail.prefix(Metrics.calls)
        let isAll = shown.count == layout.trail.count
        let heading =
            isAll
            ? "All \(shown.count) calls of the pass, from left to right"
            : "The first \(shown.count) of \(layout.trail.count) calls, from left to right"
        svg.add("text", ["class": "name", "x": Metrics.left, "y": callsTop - 16], text: heading)
        svg.add(
            "text", ["class": "note end", "x": Metrics.width - Metrics.left, "y": callsTop - 16], text: "calls made")
        for (index, row) in rows.enumerated() { drawRow(row, Array(shown), top: top(ofRow: index)) }
        let dots = shown.enumerated().map { x, call in
            (x: Metrics.callsLeft + (Double(x) + 0.5) * Metrics.callWidth, y: middle(of: call))
        }
        let line = zip(dots, dots.dropFirst()).map { SVG.line($0, $1) }.joined()
        svg.add("path", ["class": "line", "d": line])
        for (call, dot) in zip(shown, dots) {
            svg.beginGroup(["class": kind(call)], title: call)
            svg.add("circle", ["class": "mark", "cx": dot.x, "cy": dot.y, "r": 4.2])
            svg.endGroup()
        }
        drawLegend()
    }

    private func top(ofRow index: Int) -> Double { callsTop + Metrics.rowHeight * Double(index) }

    private func middle(of call: String) -> Double {
        top(ofRow: rows.firstIndex(of: call) ?? 0) + Metrics.rowHeight / 2
    }

    private mutating func drawRow(_ row: String, _ shown: [String], top: Double) {
        let right = Metrics.width - Metrics.left
        svg.add("path", ["class": "rule", "d": "M\(Metrics.left) \(top)H\(right)"])
        svg.add("text", ["class": "text", "x": Metrics.left, "y": top + 14.5], text: row)
        let count = layout.trail.count { $0 == row }
        svg.add("text", ["class": "text end", "x": right, "y": top + 14.5], text: "\(count)")
    }

    private mutating func drawLegend() {
        let y = top(ofRow: rows.count) + 24
        for (index, name) in ["layout", "invalidate"].enumerated() {
            let x = Metrics.callsLeft + Double(index) * 130
            svg.beginGroup(["class": name], title: name)
            svg.add("circle", ["class": "mark", "cx": x + 6, "cy": y - 4.5, "r": 4.2])
            svg.endGroup()
            svg.add("text", ["class": "note", "x": x + 16, "y": y], text: name)
        }
    }

    private func kind(_ call: String) -> String { call.hasSuffix("layout") ? "layout" : "invalidate" }

    /// Colours of Okabe and Ito, as in the picture of the limiters.
    private static let sheet = """
        text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, \
        sans-serif; fill: #24292f }
        .paper { fill: #ffffff }
        .title { font-size: 21px; font-weight: 600 }
        .name { font-size: 14px; font-weight: 600 }
        .note { font-size: 12px; fill: #57606a }
        .text { font-size: 13px }
        .step { font-size: 13px; font-weight: 600; text-anchor: middle }
        .rounds { font-size: 18px; font-weight: 600; text-anchor: middle }
        .middle { text-anchor: middle }
        .end { text-anchor: end }
        .rule { stroke: #eaeef2; fill: none }
        .line { stroke: #c3cad2; stroke-width: 1.2; fill: none }
        .arrow { stroke: #57606a; stroke-width: 1.8; fill: none; stroke-linecap: round }
        .box { stroke-width: 1.5 }
        .layout .box { fill: #ddeffa; stroke: #0072b2 }
        .layout .mark { fill: #0072b2 }
        .invalidate .box { fill: #fbeedd; stroke: #d55e00 }
        .invalidate .mark { fill: #d55e00 }
        """
}
