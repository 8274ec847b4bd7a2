extension Loop: CustomStringConvertible {
    /// The loop with its modes and their contents, over several lines, for people to read. From any thread.
    ///
    /// ```
    /// Loop of "server": running in tracking, in a handler of default; 1 block posted
    ///   default (common)
    ///     port source (Server.swift:12): 0 sends waiting
    ///     timer "heartbeat": fires in 0.25 seconds, every 1.0 seconds
    ///   tracking
    ///     source 0 (Server.swift:20): order 0, signalled
    /// ```
    ///
    /// The first line counts the posted blocks of all modes. While a `StallMonitor` watches the loop, it names the
    /// handler that runs, of any kind, and for how long. A timer or an observer says that its handler runs.
    /// ``Loop/explain(_:)`` tells why one item is not called.
    public var description: String { page(of: lock.withLock { Contents(of: self) }) }

    /// The same, without waiting for long for a thread that holds the loop's lock and does not continue.
    var descriptionWithPatience: String {
        let deadline = LoopTime.monotonic.nanoseconds.addingSaturating(20_000_000)
        if let contents = lock.withLock(until: deadline, { Contents(of: self) }) { return page(of: contents) }
        return "Loop of \"\(threadName)\": \(isWaiting ? "waiting" : "not waiting"); a thread holds its lock, and does "
            + "not continue"
    }

    /// What the lock guards, for printing without it.
    private struct Contents {
        let state: String
        let modes: [(mode: Mode, isCommon: Bool, items: [Item])]

        init(of loop: Loop) {
            state = loop.stateInWords
            modes = loop.modesWithItems.map { ($0.mode, $0.isCommon, $0.items) }
        }
    }

    private func page(of contents: Contents) -> String {
        let handler = waker.monitors.first(\.calloutInWords).map { ", calling \($0)" } ?? ""
        var lines = ["Loop of \"\(threadName)\": \(contents.state)\(handler)"]
        for (mode, isCommon, items) in contents.modes {
            lines.append("  \(mode)" + (isCommon ? " (common)" : ""))
            lines += items.map { "    \($0.name): \($0.isValid ? $0.words : "invalid")" }
        }
        return lines.joined(separator: "\n")
    }

    /// What the loop does, and the number of blocks that it has not run.
    private var stateInWords: String {
        lock.assertHeld()
        let count = waitingBlocks
        return summaryInWords + (count == 0 ? "" : "; \(counted(count, "block")) posted")
    }

    private var summaryInWords: String {
        if hasEnded { return "ended" }
        guard let innermostRun else { return isClosing ? "not running, closing" : "not running" }
        let outer = innermostRun.stack.dropFirst().map { ", in a handler of \($0.mode.mode)" }.joined()
        return "\(isWaiting ? "waiting" : "running") in \(innermostRun.mode.mode)\(outer)"
    }

    /// What the loop does, in a few words, as the first line of its description says it.
    var state: String { lock.withLock { stateInWords } }
}

package func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
