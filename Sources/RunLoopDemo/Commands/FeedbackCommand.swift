import RunLoopDiagnostics
import RunLoopKit

/// `RunLoopDemo feedback`: a layout that triggers itself, found by a `FeedbackLoopDetector`.
struct FeedbackCommand: Command {
    private static let thresholds = 2...10_000

    let name = "feedback"
    let summary = "Finds a layout that triggers itself, explains it, and breaks the cycle."
    let discussion = """
        A window shows a picture in a scroll view. The picture keeps its proportions: the wider it is, the taller. If
        it is too tall for the scroll view, a scroll bar appears, which makes the picture narrower and therefore
        lower. The scroll bar is then not needed and disappears, and the picture is too tall again. An observer lays
        out the views before the loop sleeps, until all are valid, which never happens.

        A FeedbackLoopDetector watches the views' methods 'layout' and 'invalidate' from outside. It counts the calls
        of each view within one pass of the loop, reports the cycle, and drops the calls of the cycle for the rest of
        the pass, so that the program continues. The window is opened, enlarged until the picture fits, and shrunk
        again, in virtual time.

        With '--mended' the height that the picture has without a scroll bar decides whether there is one, and the
        layout comes to rest. With '--output' the command also draws the first pass; with '--output -' it writes only
        the picture, to standard output.

        With '--format json' each line is an object: "t" (nanoseconds of virtual time), "event", and what belongs to
        it: "cause", "width" and "height" of the window, "calls", "pictureHeight" and "barWidth" of a "layout";
        "step", "count", "threshold", "mode", "activity", "rounds", "cycle" and "callers" of a "report".
        """
    let options: [Option] = [
        .flag("mended", "Lays out the same window without the mistake."),
        .value(
            "threshold", "\(thresholds.lowerBound)...\(thresholds.upperBound)",
            "The number of calls of a view in one pass that is reported. Default: 100."),
        .value("output", "FILE|-", "Also draws the first pass, as SVG."),
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
