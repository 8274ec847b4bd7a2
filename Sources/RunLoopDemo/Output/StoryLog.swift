import RunLoopKit

/// Reports a program's events as they happen: a line for each, with the time since the beginning. From any thread.
final class StoryLog: Sendable {
    private let isShown: Bool
    private let usesColour = TextStyle.isWanted
    private let start = Loop.Instant.now
    private let lock = Lock()

    /// - Parameter isShown: Whether anything is written: not if the output is for programs.
    init(isShown: Bool) { self.isShown = isShown }

    /// Writes the title above the story.
    func begin(_ title: String) {
        write("\(title)\n\n" + styled("       ms  what", .bold) + "\n")
    }

    /// - Parameters:
    ///   - event: A word or two.
    ///   - text: The event's description.
    func say(_ event: String, _ text: String) {
        // Takes the time under the lock, so that the lines are in the order of their times.
        lock.withLock {
            let time = start.duration(to: .now).inMilliseconds.rightAligned(to: 9)
            write("\(time)  \(styled(event.padded(to: 12), .cyan)) \(text)\n")
        }
    }

    /// Writes text that is not an event, such as a table.
    func write(_ text: String) {
        if isShown { StandardOutput.write(text) }
    }

    private func styled(_ text: String, _ style: TextStyle) -> String { usesColour ? style.applied(to: text) : text }
}
