extension Loop: CustomStringConvertible {
    /// The loop with its modes and their contents, over several lines, for people to read. From any thread.
    ///
    /// ```
    /// Loop: running in tracking, in a handler of default; 1 block posted
    ///   default (common)
    ///     port source (Server.swift:12): 0 sends waiting
    ///     timer "heartbeat": fires in 0.25 seconds, every 1.0 seconds
    ///   tracking
    ///     source 0 (Server.swift:20): order 0, signalled
    /// ```
    ///
    /// ``Loop/explain(_:)`` tells why one item is not called.
    public var description: String {
        let (state, modes) = lock.withLock { (stateInWords, modeStates.map { ($0.mode, $0.items) }) }
        let common = lock.withLock { commonModes }
        var lines = ["Loop: \(state)"]
        for (mode, items) in modes {
            lines.append("  \(mode)" + (common.contains(mode) ? " (common)" : ""))
            lines += items.map { "    \($0.name): \($0.isValid ? $0.status.words : "invalid")" }
        }
        return lines.joined(separator: "\n")
    }

    /// What the loop does, and the number of blocks that it has not run.
    private var stateInWords: String {
        lock.assertHeld()
        let count = blocks.blocks.count
        return doingInWords + (count == 0 ? "" : "; \(count) block\(count == 1 ? "" : "s") posted")
    }

    private var doingInWords: String {
        if hasEnded { return "ended" }
        guard let innermostRun else { return isClosing ? "not running, closing" : "not running" }
        let outer = innermostRun.stack.dropFirst().map { ", in a handler of \($0.mode.mode)" }.joined()
        return "\(isWaiting ? "waiting" : "running") in \(innermostRun.mode.mode)\(outer)"
    }
}
