import RunLoopDiagnostics
import RunLoopKit

/// A window is opened, and resized twice; a detector watches the layout of its views. In virtual time.
struct FeedbackStory {
    /// What a layout pass has done.
    struct Layout: Sendable {
        let time: Duration
        let event: String
        let size: View.Size
        let trail: [String]

        /// The detector's report of the pass, if there is one.
        let report: FeedbackLoopDetector.Report?

        /// The sizes in which the pass left the picture and the scroll bar.
        let picture: View.Size
        let barWidth: Double
    }

    let threshold: Int
    let isMended: Bool

    private static let events: [(seconds: Int64, name: String, size: View.Size)] = [
        (0, "open", View.Size(width: 240, height: 215)), (1, "enlarge", View.Size(width: 240, height: 260)),
        (2, "shrink", View.Size(width: 240, height: 215)),
    ]

    /// - Throws: `LoopError` if the loop's descriptors cannot be made.
    func tell() throws(LoopError) -> [Layout] {
        let loop = Loop(clock: VirtualClock())
        defer { loop.end() }
        try loop.prepare(.default)
        let window = LoopBound(Window(isMended: isMended), on: loop)
        let reports = LoopBound<[FeedbackLoopDetector.Report]>([], on: loop)
        let layouts = LoopBound<[Layout]>([], on: loop)
        let detector = FeedbackLoopDetector(
            on: loop, threshold: threshold, actions: [.call { reports.value.append($0) }, .dropCalls],
            label: { ($0 as? View)?.name })
        // The only two lines that concern the views' class.
        detector.watch(View.layouting)
        detector.watch(View.invalidating)
        let layoutPass = Loop.Observer(.beforeWaiting) { _, _ in window.value.layOutIfNeeded() }
        layoutPass.label = "layout pass"
        loop.add(layoutPass, in: .common)

        for event in FeedbackStory.events {
            let timer = Loop.Timer(after: .seconds(event.seconds)) { _ in window.value.resize(to: event.size) }
            timer.label = event.name
            loop.add(timer, in: .default)
            // A millisecond later the pass is over.
            let end = Loop.Timer(after: .seconds(event.seconds) + .milliseconds(1)) { _ in
                let window = window.value
                layouts.value.append(
                    Layout(
                        time: .seconds(event.seconds), event: event.name, size: event.size, trail: window.trail,
                        report: reports.value.popLast(), picture: window.picture.size, barWidth: window.bar.size.width))
            }
            end.label = "after \(event.name)"
            loop.add(end, in: .default)
        }
        loop.run(mode: .default, for: .seconds(10))
        layoutPass.invalidate()
        detector.detach()
        return layouts.value
    }
}
