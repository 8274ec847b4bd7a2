import RunLoopKit

/// Writes what happens in the story of the rules, with its virtual time: for people, or for programs.
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
    private let chapter: LoopBound<(name: Chapter, start: Loop.Instant)>

    init(isJSON: Bool) {
        self.isJSON = isJSON
        chapter = LoopBound((.object, loop.now), on: loop)
    }

    /// Begins a chapter, whose time starts at zero.
    func begin(_ name: Chapter, _ title: String) {
        chapter.value = (name, loop.now)
        guard !isJSON else { return }
        StandardOutput.write("\n\(styled(title, .bold))\n\n")
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

    /// What a method does stands out: the story is about when that happens.
    private func write(_ event: Event, _ text: String, _ time: Int64) {
        let name = event.rawValue.padded(to: 8)
        let (label, indentation) = event == .run ? (styled(name, .green), "  → ") : (styled(name, .cyan), "")
        StandardOutput.write("\("\(time) ms".rightAligned(to: 9))  \(label) \(indentation)\(text)\n")
    }

    /// Writes for people only.
    func explain(_ text: String) {
        if !isJSON { StandardOutput.write(text + "\n") }
    }

    private func styled(_ text: String, _ style: TextStyle) -> String { usesColour ? style.applied(to: text) : text }
}
