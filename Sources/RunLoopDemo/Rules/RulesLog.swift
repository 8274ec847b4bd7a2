import RunLoopKit

/// Writes the events of the rules' story with their virtual time, as text or as JSON.
final class RulesLog: Sendable {
    enum Chapter: String {
        case object, `class`, conflict, predicate, keep, again
    }

    enum Event: String {
        case apply, refused, call, run, change, discard, save, load, list
    }

    /// In virtual time, on the main thread.
    let loop = Loop(clock: VirtualClock())
    private let isJSON: Bool
    private let usesColour = TextStyle.isWanted
    /// Narrower than this, nothing would be gained by breaking lines.
    private let width = max(60, StandardOutput.width)
    private let chapter: LoopBound<(name: Chapter, start: Loop.Instant)>

    /// - Throws: `LoopError` when the loop's descriptors cannot be had.
    init(isJSON: Bool) throws(LoopError) {
        self.isJSON = isJSON
        chapter = LoopBound((.object, loop.now), on: loop)
        try loop.prepare(.default)
    }

    /// Starts a chapter, whose time begins at zero.
    func begin(_ name: Chapter, _ title: String, explanation: String? = nil) {
        chapter.value = (name, loop.now)
        guard !isJSON else { return }
        StandardOutput.write("\n")
        for line in title.wrapped(to: width) { StandardOutput.write(styled(line, .bold) + "\n") }
        StandardOutput.write("\n")
        if let explanation { explain(explanation + "\n") }
    }

    func say(_ event: Event, _ text: String) {
        let (name, start) = chapter.value
        let time = start.duration(to: loop.now).inNanoseconds / 1_000_000
        guard isJSON else { return write(event, text, time) }
        var line = JSONLine()
        line.add("chapter", name.rawValue)
        line.add("t", time)
        line.add("event", event.rawValue)
        line.add("text", text)
        StandardOutput.write(line.text)
    }

    /// Runs of the method stand out: the story is about their times.
    private func write(_ event: Event, _ text: String, _ time: Int64) {
        let name = event.rawValue.padded(to: 8)
        let (label, indentation) = event == .run ? (styled(name, .green), "  → ") : (styled(name, .cyan), "")
        let beginning = "\(time) ms".rightAligned(to: 9) + "  "
        // Further lines are aligned with the first one's text.
        let margin = beginning.count + name.count + 1 + indentation.count
        let lines = text.printable.wrapped(to: width - margin).joined(
            separator: "\n" + String(repeating: " ", count: margin))
        StandardOutput.write("\(beginning)\(label) \(indentation)\(lines)\n")
    }

    /// Writes for people only.
    func explain(_ text: String) {
        guard !isJSON else { return }
        StandardOutput.write(text.wrapped(to: width).joined(separator: "\n") + "\n")
    }

    private func styled(_ text: String, _ style: TextStyle) -> String { usesColour ? style.applied(to: text) : text }
}
