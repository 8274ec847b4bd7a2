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
    /// What waits for the loop. From any thread: holds the loop's lock for a moment, and does not stop the loop.
    func waitingWork() -> WaitingWork {
        let jobs = jobs.count
        return lock.withLock {
            var work = WaitingWork(blocks: waitingBlocks, jobs: jobs)
            guard let run = innermostRun else { return work }
            let mode = run.mode
            work.sources = mode.source0s.all.count { $0.isSignalled } + mode.source1s.all.count { $0.source.isReady }
            work.timers = dueTimers(in: mode)
            return work
        }
    }

    /// The number of timers that are due, without one that fires now.
    private func dueTimers(in mode: ModeState) -> Int {
        lock.assertHeld()
        return mode.timers.allDue(at: times(for: mode)).count
    }
}

extension Source1 {
    /// Whether it has something to handle. A source that does not know asks the kernel, except for descriptors that it
    /// watches edge-triggered: those are never read, and so always readable.
    fileprivate var isReady: Bool {
        if let readyTurn { return readyTurn != 0 }
        return watches.contains { watch in
            guard let events = watch.events, !events.contains(.edge) else { return false }
            return !System.readiness(of: watch.descriptor, for: events).isEmpty
        }
    }
}
