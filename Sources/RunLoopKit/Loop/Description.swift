extension Loop: CustomStringConvertible {
    /// The loop with its modes and their contents, over several lines, for people to read.
    ///
    /// ```
    /// Loop: running in default, 1 block posted
    ///   default (common)
    ///     port source: 0 sends waiting
    ///     timer: fires in 0.25 seconds, every 1.0 seconds
    ///     observer: beforeWaiting|afterWaiting, order 0
    ///   tracking
    ///     source 0: order 0, signalled
    /// ```
    public var description: String {
        let now = { [clock] (timer: Timer) in clock.nanoseconds(timer.timeBase) }
        return lock.withLock {
            var lines = [
                "Loop: \(stateInWords)" + (blocks.isEmpty ? "" : ", \(counted(blocks.blocks.count, "block")) posted")
            ]
            for state in modeStates {
                lines.append("  \(state.mode)" + (commonModes.contains(state.mode) ? " (common)" : ""))
                let contents: [String] =
                    state.source0s.map(\.summary) + state.source1s.all.map { $0.source.summary }
                    + state.timers.all.map { $0.summary(at: now($0)) }
                    + state.observers.map(\.summary)
                lines += contents.map { "    \($0)" }
            }
            return lines.joined(separator: "\n")
        }
    }

    private var stateInWords: String {
        if hasEnded { return "ended" }
        guard let mode = innermostRun?.mode.mode else { return "not running" }
        return "\(isWaiting ? "waiting" : "running") in \(mode)"
    }
}

private func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

// One line for each kind of item. Called with the loop's lock held.

extension Loop.Source0 {
    fileprivate var summary: String { "source 0: order \(order)" + (isSignalled ? ", signalled" : "") }
}

extension Loop.Observer {
    fileprivate var summary: String { "observer: \(activities), order \(order)" + (repeats ? "" : ", once") }
}

extension Loop.Timer {
    fileprivate func summary(at now: Int64) -> String {
        let next = servedOrNextTime
        let time =
            if next == TimerHeap.never { "never fires" } else if next <= now { "due" } else {
                "fires in \(Duration.nanoseconds(next - now))"
            }
        return "timer: \(time)" + (timeBase == .continuous ? " of the continuous clock" : "")
            + (repeats ? ", every \(interval)" : "")
    }
}
