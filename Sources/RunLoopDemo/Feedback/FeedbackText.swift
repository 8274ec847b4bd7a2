import RunLoopDiagnostics
import RunLoopKit

/// The story for people.
struct FeedbackText {
    private let usesColour = TextStyle.isWanted
    /// Narrower than this, nothing would be gained by breaking lines.
    private let width = max(60, StandardOutput.width)
    private let margin = String(repeating: " ", count: 20)

    func write(_ layouts: [FeedbackStory.Layout], of story: FeedbackStory, picture: String?) {
        explain(story)
        for layout in layouts where !Interruption.isRequested { write(layout) }
        let reports = layouts.count { $0.report != nil }
        StandardOutput.write("\n")
        paragraph(
            reports == 0
                ? "No report: the scroll bar depends on the height that the picture has without a scroll bar. That "
                    + "height does not depend on the scroll bar, so no layout triggers itself."
                : "\(reports.counted("report")), one for each pass with a feedback loop: the scroll bar depends on the "
                    + "picture's height, which depends on the scroll bar. With --mended the scroll bar depends on the "
                    + "height that the picture has without one.")
        if let picture { StandardOutput.write("\nWrote the picture to \(picture.debugDescription.printable).\n") }
    }

    private func explain(_ story: FeedbackStory) {
        paragraph(
            """
            A window shows a picture in a scroll view. The wider the picture, the taller it is. A scroll bar, which \
            makes the picture narrower, appears if the picture \(story.isMended ? "would be" : "is") taller than \
            the view\(story.isMended ? " without one" : ""). An observer lays out the views before the loop sleeps, \
            until all are valid. A detector counts the calls of each view within one pass, and reports a view that \
            gets \(story.threshold).
            """)
        StandardOutput.write("\n" + styled("        t  event    what", .bold) + "\n")
    }

    private func write(_ layout: FeedbackStory.Layout) {
        let time = "\(layout.time.inNanoseconds / 1_000_000) ms".rightAligned(to: 9)
        let event = styled(layout.event.padded(to: 8), .cyan)
        StandardOutput.write(
            "\(time)  \(event) the window is now \(Int(layout.size.width)) × \(Int(layout.size.height))\n")
        if let report = layout.report { write(report) }
        let bar = layout.barWidth > 0 ? "a scroll bar" : "no scroll bar"
        let ending = layout.report == nil ? "at rest" : "the cycle is broken, and the loop sleeps"
        let calls = layout.trail.count.counted("call")
        item("\(ending) after \(calls): the picture is \(Int(layout.picture.height)) high, with \(bar)")
    }

    private func write(_ report: FeedbackLoopDetector.Report) {
        for line in report.description.split(separator: "\n") {
            let isFirst = !line.hasPrefix(" ")
            item(line.drop { $0 == " " }.description, isFirst ? .yellow : nil)
        }
        // The cycle, from the first step down, and from the last one up again.
        for (index, step) in report.cycle.enumerated() {
            let isOnly = report.cycle.count == 1
            let corner = isOnly ? "↻ " : index == 0 ? "┌▶ " : index == report.cycle.count - 1 ? "└─ " : "│  "
            StandardOutput.write("\(margin)  \(styled(corner, .yellow))\(step.description.printable)\n")
        }
    }

    private func item(_ text: String, _ style: TextStyle? = nil) {
        for line in text.printable.wrapped(to: width - margin.count) {
            StandardOutput.write(margin + (style.map { styled(line, $0) } ?? line) + "\n")
        }
    }

    private func paragraph(_ text: String) {
        StandardOutput.write(text.wrapped(to: width).joined(separator: "\n") + "\n")
    }

    private func styled(_ text: String, _ style: TextStyle) -> String { usesColour ? style.applied(to: text) : text }
}
