import RunLoopKit

/// How many things wait for a loop: a snapshot. Sources and timers are those of the mode that runs; a loop that does
/// not run counts none.
public struct WaitingWork: Equatable, Sendable, CustomStringConvertible {
    /// Posted blocks, in whatever mode. One of them runs the jobs, if there are any.
    public var blocks = 0
    /// Jobs of Swift concurrency.
    public var jobs = 0
    /// Sources of the current mode that are signalled or ready.
    public var sources = 0
    /// Timers of the current mode that are due.
    public var timers = 0

    /// All of them.
    public var total: Int { blocks + jobs + sources + timers }

    /// Those that there are, such as `2 blocks and 1 timer`; `nothing` if there are none.
    public var description: String {
        let parts = [(blocks, "block"), (jobs, "job"), (sources, "source"), (timers, "timer")].filter { $0.0 > 0 }.map {
            "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")"
        }
        guard let last = parts.last else { return "nothing" }
        return parts.count == 1 ? last : parts.dropLast().joined(separator: ", ") + " and " + last
    }
}

extension Loop {
    /// What waits for the loop. From any thread.
    func waitingWork() -> WaitingWork {
        let counts = countsOfWaitingWork
        return WaitingWork(blocks: counts.blocks, jobs: counts.jobs, sources: counts.sources, timers: counts.timers)
    }
}
