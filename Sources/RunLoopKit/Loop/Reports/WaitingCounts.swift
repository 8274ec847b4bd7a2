// What diagnostics ask about the work and the runs of a loop.

extension Loop {
    /// How many blocks, jobs, sources and timers wait for the loop. Sources and timers are those of the mode that runs;
    /// a loop that does not run counts none. From any thread: holds the loop's lock while it lists them, and asks the
    /// kernel afterwards.
    package var countsOfWaitingWork: (blocks: Int, jobs: Int, sources: Int, timers: Int) {
        let jobs = waitingJobs
        var asked = AskedSources()
        let (blocks, known, timers) = lock.withLock {
            guard let run = innermostRun else { return (waitingBlocks, 0, 0) }
            let mode = run.mode
            let known =
                mode.source0s.all.count { $0.hasHandler && $0.isSignalled }
                + mode.source1s.all.count { $0.source.hasHandler && asked.knows($0.source) }
            return (waitingBlocks, known, dueTimers(in: mode))
        }
        return (blocks, jobs, known + asked.readyCount(), timers)
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

/// The descriptors of sources that do not know whether they are ready, so that one system call asks for many.
///
/// A thread may close one of them before the kernel is asked, and open another file by its number: the count is of a
/// moment, and nothing else depends on it.
private struct AskedSources {
    private var requests: [System.ReadinessRequest] = []
    /// The source of each request, as a number.
    private var sources: [Int] = []

    /// Whether a source knows that it has something to handle. If it does not know, its descriptors will be asked,
    /// except for those that it watches edge-triggered: they are never read, and so always readable.
    mutating func knows(_ source: any Source1) -> Bool {
        if let readyTurn = source.readyTurn { return readyTurn != 0 }
        let number = (sources.last ?? 0) + 1
        for watch in source.watches {
            guard let events = watch.events, !events.contains(.edge) else { continue }
            requests.append(System.ReadinessRequest(watch.descriptor, events))
            sources.append(number)
        }
        return false
    }

    /// How many of the sources are ready, as the kernel says.
    mutating func readyCount() -> Int {
        System.answer(&requests)
        var (count, last) = (0, 0)
        for index in requests.indices where requests[index].isReady && sources[index] != last {
            (count, last) = (count + 1, sources[index])
        }
        return count
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

extension Loop {
    /// The timers that wait for a time, and the version-1 sources other than ports. A port waits for senders, which
    /// learn of the loop's end; a limiter reports its call itself.
    var itemsThatWait: [Item] {
        lock.withLock {
            modesWithItems.flatMap { mode -> [Item] in
                mode.timers.allButIdle.filter { !$0.isOfLimiter }
                    + mode.source1s.all.map(\.source).filter { !$0.isPort }
            }
        }
    }
}
