import RunLoopKit

/// Says what happens in a program while it happens: a line for each event, with the time since the beginning. From
/// any thread.
final class StoryLog: Sendable {
    private let isShown: Bool
    private let usesColour = TextStyle.isWanted
    private let start = Loop.Instant.now
    private let lock = Lock()

    /// - Parameter isShown: Whether anything is written at all: not when the output is for programs.
    init(isShown: Bool) { self.isShown = isShown }

    /// Writes what the story is about, above it.
    func begin(_ title: String) {
        write("\(title)\n\n" + styled("       ms  what", .bold) + "\n")
    }

    /// - Parameters:
    ///   - event: A word or two.
    ///   - text: What there is to say about it.
    func say(_ event: String, _ text: String) {
        // The time is taken with the lock held, so that the lines are in the order of their times.
        lock.withLock {
            let time = start.duration(to: .now).inMilliseconds.rightAligned(to: 9)
            write("\(time)  \(styled(event.padded(to: 12), .cyan)) \(text)\n")
        }
    }

    /// Writes what is no event, such as a table.
    func write(_ text: String) {
        if isShown { StandardOutput.write(text) }
    }

    private func styled(_ text: String, _ style: TextStyle) -> String { usesColour ? style.applied(to: text) : text }
}
