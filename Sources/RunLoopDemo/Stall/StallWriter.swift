import RunLoopDiagnostics
import RunLoopKit

/// Writes the scenes and their reports, as text or as JSON.
struct StallWriter: Sendable {
    /// More frames would show nothing new.
    private static let frames = 8

    let format: OutputFormat
    private let usesColour = TextStyle.isWanted
    /// Narrower than this, nothing would be gained by breaking lines.
    private let width = max(60, StandardOutput.width)

    init(format: OutputFormat) { self.format = format }

    func begin(_ scene: any StallScene) {
        guard format == .text else { return }
        StandardOutput.write((scene.name == "blocks" ? "" : "\n") + styled(scene.title, .bold) + "\n\n")
        write(scene.beginning)
        StandardOutput.write("\n")
    }

    func end(_ scene: any StallScene) {
        guard format == .text else { return }
        StandardOutput.write("\n")
        write(scene.lesson)
    }

    /// - Parameter start: When the scene began.
    func write(_ report: StallReport, in scene: any StallScene, since start: Loop.Instant) {
        switch format {
        case .text: writeText(report, since: start)
        case .json: StandardOutput.write(json(report, scene))
        }
    }

    func write(_ metrics: LoopMetrics, of loop: String, in scene: any StallScene) {
        guard format == .json else {
            let share = Int((metrics.utilisation * 100).rounded())
            return say("metrics", .cyan, "'\(loop)' spent \(share) % of its time awake in handlers")
        }
        var line = JSONLine()
        line.add("story", scene.name)
        line.add("event", "metrics")
        line.add("loop", loop)
        line.add("callouts", Int64(metrics.callouts))
        line.add("busyNs", metrics.timeInCallouts.inNanoseconds)
        line.add("awakeNs", metrics.timeAwake.inNanoseconds)
        StandardOutput.write(line.text)
    }

    // MARK: Text

    private func writeText(_ report: StallReport, since start: Loop.Instant) {
        let duration = "\(report.duration.inMilliseconds) ms"
        guard report.stage != .ended else {
            let end = report.end.map { " at \(start.duration(to: $0).inMilliseconds) ms" } ?? ""
            return say("continues", .green, "'\(report.loop)' continued\(end), after a stall of \(duration)")
        }
        let beginning = start.duration(to: report.start).inMilliseconds
        say("stalled", .yellow, "'\(report.loop)' called \(report.label) at \(beginning) ms, in mode \(report.mode)")
        let waiting = "\(report.waiting) \(report.waiting.total > 1 ? "wait" : "waits") behind it"
        say("", .cyan, "it has not returned for \(duration); \(waiting)")
        for (number, function) in functions(of: report).enumerated() {
            say(number == 0 ? "  in" : "", .cyan, "\(number)  \(function)")
        }
    }

    private func say(_ event: String, _ style: TextStyle, _ text: String) {
        StandardOutput.write("  \(styled(event.padded(to: 10), style)) \(text.printable)\n")
    }

    private func write(_ paragraph: String) {
        StandardOutput.write(paragraph.wrapped(to: width).joined(separator: "\n") + "\n")
    }

    private func styled(_ text: String, _ style: TextStyle) -> String { usesColour ? style.applied(to: text) : text }

    /// The functions of the handler, innermost first.
    private func functions(of report: StallReport) -> [String] {
        let frames = report.backtrace.ofHandler.filter { frame in
            // Not what the compiler and the library have put between the loop and the handler.
            guard let function = frame.function else { return true }
            return !function.contains("thunk") && !function.hasPrefix("RunLoopKit.")
        }
        return frames.prefix(StallWriter.frames).map { frame in
            guard let function = frame.function else {
                return frame.description.replacing(/\ \(build id \w+\)/, with: "")
            }
            // `RunLoopDemo.(Disk in _5A2F).waitForAnswer() -> ()` is Disk.waitForAnswer() for people.
            return function.replacing("RunLoopDemo.", with: "").replacing("Swift.", with: "").replacing(
                /\((\w+) in _\w+\)/
            ) { "\($0.output.1)" }
            .replacing(" -> ()", with: "")
        }
    }

    // MARK: JSON

    private func json(_ report: StallReport, _ scene: any StallScene) -> String {
        var line = JSONLine()
        line.add("story", scene.name)
        line.add("event", report.stage == .ended ? "continues" : "stalled")
        line.add("loop", report.loop)
        line.add("ns", report.duration.inNanoseconds)
        guard report.stage != .ended else { return line.text }
        line.add("kind", "\(report.kind)")
        line.add("label", report.label)
        line.add("mode", report.mode.name)
        line.add("nesting", Int64(report.nesting))
        line.add("blocks", Int64(report.waiting.blocks))
        line.add("jobs", Int64(report.waiting.jobs))
        line.add("sources", Int64(report.waiting.sources))
        line.add("timers", Int64(report.waiting.timers))
        line.add("functions", functions(of: report))
        return line.text
    }
}
