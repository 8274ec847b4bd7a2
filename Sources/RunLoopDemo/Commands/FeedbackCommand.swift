import RunLoopKit

/// `RunLoopDemo feedback`: a layout that triggers itself, found by a `FeedbackLoopDetector`.
struct FeedbackCommand: Command {
    private static let thresholds = 2...10_000

    let name = "feedback"
    let summary = "Finds a layout that triggers itself, explains it, and breaks the circle."
    let discussion = """
        A window has a picture in a scroll view. The picture keeps its proportions: the wider, the higher. If it is too
        high for the scroll view, a scroll bar appears, which makes it narrower, and so lower: the scroll bar is not
        needed, disappears, and the picture is too high again. An observer lays out the views before the loop sleeps,
        until none is invalid. That would never end.

        A FeedbackLoopDetector watches the views' methods 'layout' and 'invalidate' from outside. It counts the calls of
        each view within one pass of the loop, reports the circle, and drops calls for the rest of the pass, so the
        program lives on. The window is opened, enlarged so that the picture fits, and shrunk again, in virtual time.

        With '--mended' the scroll bar depends on the height that the picture has without one, and the layout comes to
        rest. With '--output' the first pass is drawn as a picture too, or, to standard output, instead.

        With '--format json' each line is an object: "t" (nanoseconds of virtual time), "event", and what belongs to it:
        "cause", "width" and "height" of the window, "calls", "pictureHeight" and "barWidth" of a "layout"; "step",
        "count", "threshold", "mode", "activity", "rounds", "cycle" and "callers" of a "report".
        """
    let options: [Option] = [
        .flag("mended", "The same window without the mistake."),
        .value(
            "threshold", "\(thresholds.lowerBound)...\(thresholds.upperBound)",
            "How many calls of a view in one pass are too many. Default: 100."),
        .value("output", "FILE|-", "Draws the first pass as SVG, too."),
        .format,
    ]

    func run(_ arguments: Arguments) throws -> ExitCode {
        let format = try arguments.format()
        let threshold = try arguments.number(
            "threshold", default: FeedbackLoopDetector.defaultThreshold, in: FeedbackCommand.thresholds)
        let file = arguments.value(of: "output")
        if file == "" { throw UsageError("--output needs a path") }
        guard file != "-" || format == .text else {
            throw UsageError("--output cannot be \"-\" with --format json: both would be standard output")
        }
        let story = FeedbackStory(threshold: threshold, isMended: arguments.hasFlag("mended"))
        let layouts = try story.tell()
        if let file {
            let code = writePicture(FeedbackPicture.draw(layouts[0], of: story), to: file)
            if code != .success || file == "-" { return code }
        }
        switch format {
        case .text: FeedbackText().write(layouts, of: story, picture: file)
        case .json: for layout in layouts { StandardOutput.write(FeedbackJSON.lines(of: layout, of: story)) }
        }
        return .success
    }
}
