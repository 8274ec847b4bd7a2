import RunLoopKit

/// One thread that does many jobs and stays alive between them, and what the same jobs cost with a thread for each.
struct KeepAliveStory {
    private static let idleMilliseconds = 100

    let jobs: Int
    let stage: Stage
    let log: StoryLog

    /// - Throws: An error if threads or descriptors cannot be made or counted.
    func tell() throws -> KeepAliveReport {
        log.begin("\(jobs.counted("job")) on one thread that stays alive, then a thread for each job.")
        var report = KeepAliveReport(jobs: jobs, before: try .now())
        log.say("before", "\(report.before) in this process")

        try work(&report)

        report.after = try .settled(expecting: report.before)
        log.say("after", report.after == report.before ? "\(report.after), as before" : "\(report.after)")
        try compare(&report)
        return report
    }

    // MARK: One thread for all jobs

    private func work(_ report: inout KeepAliveReport) throws {
        let thread = try LoopThread(name: "keepalive")
        log.say("started", "a LoopThread, which makes it \(try KernelCounts.now())")
        let burst = JobLog()
        let oneByOne = JobLog()

        report.timePerJobInBurst = handOverInBurst(to: thread, burst)
        watchIdle(thread.loop, &report)
        report.timePerJob = try handOverOneByOne(to: thread, oneByOne)

        end(thread)
        report.done = min(burst.done, oneByOne.done)
        report.isInOrder = burst.isInOrder && oneByOne.isInOrder
        report.distinctThreads = burst.threads.union(oneByOne.threads).count
    }

    /// Hands over all jobs at once; they run in the same order. Returns the mean duration of one.
    private func handOverInBurst(to thread: LoopThread, _ jobLog: JobLog) -> Duration? {
        let start = Loop.Instant.now
        let last = jobs - 1
        for number in 0...last where !Interruption.isRequested {
            thread.perform { [stage] in
                jobLog.note(number)
                jobLog.noteThread()
                if number == last { stage.proceed() }
            }
        }
        guard !Interruption.isRequested else { return nil }
        stage.wait()
        guard !Interruption.isRequested else { return nil }
        let timePerJob = start.duration(to: .now) / jobs
        // Only now, since output takes longer than many jobs.
        log.say("posted", "\(jobs.counted("job")) in a burst, without waiting for any")
        log.say("all ran", "on thread \(jobLog.threads.map { "\($0)" }.joined(separator: " and "))")
        let order = jobLog.isInOrder ? "in order" : "out of order"
        log.say("burst done", "\(jobLog.done.counted("job")), \(order), on \(jobLog.threads.count.counted("thread"))")
        return timePerJob
    }

    /// Between jobs the thread sleeps: its loop makes no pass and no system call.
    private func watchIdle(_ loop: Loop, _ report: inout KeepAliveReport) {
        let before = waitUntilIdle(loop)
        guard !Interruption.isRequested else { return }
        let soFar = "\(before.passes.counted("pass", "passes")) and \(before.waits.counted("sleep"))"
        log.say("idle", "the loop sleeps, after \(soFar) so far")
        stage.pause(.milliseconds(KeepAliveStory.idleMilliseconds))
        guard !Interruption.isRequested else { return }
        let more = loop.counters.since(before)
        report.whileIdle = more
        let work = "\(more.passes.counted("pass", "passes")) and \(more.waits.counted("sleep"))"
        log.say("still idle", "\(KeepAliveStory.idleMilliseconds) ms later: \(work) more")
    }

    /// Waits until the loop sleeps, and returns its counters.
    private func waitUntilIdle(_ loop: Loop) -> Loop.Counters {
        while true {
            // A loop counts as waiting a little before it sleeps: it is idle only when its counters stay the same.
            let counters = loop.counters
            stage.pause(.milliseconds(10))
            if (loop.isWaiting && loop.counters == counters) || Interruption.isRequested { return counters }
        }
    }

    /// Waits for each job before it hands over the next one. Returns the mean duration of one.
    private func handOverOneByOne(to thread: LoopThread, _ jobLog: JobLog) throws -> Duration? {
        guard !Interruption.isRequested else { return nil }
        log.say("one by one", "the same again, each job waited for before the next")
        let timePerJob = try time { number in try thread.performAndWait { jobLog.note(number) } }
        guard let timePerJob else { return nil }
        try thread.performAndWait { jobLog.noteThread() }
        let number = jobLog.threads.first ?? 0
        log.say("last job", "on thread \(number), \(timePerJob.inWholeNanoseconds) ns for each")
        return timePerJob
    }

    private func end(_ thread: LoopThread) {
        let isInterrupted = Interruption.isRequested
        log.say("stopping", isInterrupted ? "what has not begun is dropped" : "what has been accepted is done first")
        thread.stop(discardingPending: isInterrupted)
        thread.join()
        let isRefused = thread.loop.performCancellable {} == nil
        log.say("ended", isRefused ? "the thread has ended; more work is refused" : "more work is accepted, by mistake")
    }

    // MARK: A thread for each job

    private func compare(_ report: inout KeepAliveReport) throws {
        guard !Interruption.isRequested else { return }
        log.say("comparing", "the same jobs, a new thread for each, waited for")
        let jobLog = JobLog()
        report.timePerJobThreadEach = try time { number in try KernelThread.run { jobLog.note(number) } }
        guard let timePerJob = report.timePerJobThreadEach else { return }
        log.say("compared", "\(jobLog.done.counted("thread")), \(timePerJob.inWholeNanoseconds) ns for each")
    }

    /// Runs every job, and returns the mean duration of one; nil if an interruption came first.
    private func time(_ job: (Int) throws -> Void) rethrows -> Duration? {
        let clock = SuspendingClock()
        let start = clock.now
        for number in 0..<jobs {
            guard !Interruption.isRequested else { return nil }
            try job(number)
        }
        return start.duration(to: clock.now) / jobs
    }
}

extension Loop.Counters {
    /// The work since an earlier moment.
    fileprivate func since(_ earlier: Loop.Counters) -> Loop.Counters {
        var difference = self
        difference.passes -= earlier.passes
        difference.waits -= earlier.waits
        difference.polls -= earlier.polls
        difference.wakeWrites -= earlier.wakeWrites
        difference.timerArms -= earlier.timerArms
        return difference
    }
}
