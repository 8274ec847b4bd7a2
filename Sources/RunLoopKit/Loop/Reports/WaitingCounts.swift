// What diagnostics ask about the work and the runs of a loop.

extension Loop {
    /// How many blocks, jobs, sources and timers wait for the loop. Sources and timers are those of the mode that runs;
    /// a loop that does not run counts none. From any thread: holds the loop's lock for a moment, and does not stop the
    /// loop.
    package var countsOfWaitingWork: (blocks: Int, jobs: Int, sources: Int, timers: Int) {
        let jobs = waitingJobs
        return lock.withLock {
            guard let run = innermostRun else { return (waitingBlocks, jobs, 0, 0) }
            let mode = run.mode
            let sources =
                mode.source0s.all.count { $0.hasHandler && $0.isSignalled }
                + mode.source1s.all.count { $0.source.hasHandler && $0.source.isReady }
            return (waitingBlocks, jobs, sources, dueTimers(in: mode))
        }
    }

    /// The number of jobs that have yet to run. From any thread.
    package var waitingJobs: Int { jobs.count }

    /// The number of timers that are due, without one that fires now.
    private func dueTimers(in mode: ModeState) -> Int {
        lock.assertHeld()
        var due: [Loop.Timer] = []
        mode.timers.collectDue(at: times(for: mode), into: &due)
        return due.count
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

extension Loop {
    /// The innermost run that makes passes; nil outside a run, and between the passes of a hosted loop. On the loop's
    /// thread.
    package var innermostPassingRun: Run? {
        // The bottom run of a hosted loop makes no passes itself: its host sleeps, and calls its own handlers.
        innermostRun.flatMap { $0.isHosted && $0.below == nil ? nil : $0 }
    }

    /// Whether the loop runs a job, or a handler isolated to an actor. On the loop's thread.
    package var isInsideJob: Bool { own.isInsideJob }
}
