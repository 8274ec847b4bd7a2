extension Loop {
    /// The maximum number of jobs of Swift concurrency that a loop runs before it continues its pass.
    public static let jobsPerDrain = 16

    /// Takes a job of an actor on this loop.
    func accept(_ job: UnownedJob) {
        // Nobody promises that the loop outlives this call: the job may be the last thing that keeps the actor, and
        // with it the loop, alive, and it may be over before this thread has left the locks and the waker.
        let kept = retained()
        defer { release(kept) }
        switch jobs.add(job, for: nil) {
        case .nothing: break
        // Refused by a loop that has been told to end: the job waits until it has.
        case .postADrain: postDrain()
        case .callTheLastResort: LastResort.shared.serve(jobs, of: self)
        }
    }

    @discardableResult
    func postDrain() -> Bool { perform(in: .common, jobs.drainBlock(of: self)) }

    /// Runs what is there now, up to the limit; and sees to the rest.
    func drainJobs() {
        guard !jobProgress.isBusy else {
            jobProgress.hasSkippedDrain = true
            return
        }
        // Refused when the loop has been told to end: then the rest is for runAcceptedJobs(), or for the last resort.
        if runJobsOnOwnThread(upTo: Loop.jobsPerDrain) { postDrain() }
    }

    /// Runs the jobs that are there when the loop ends cleanly, also those whose drain was refused because its sender was
    /// overtaken by the stop. What comes of them does not run here, or there might be no end.
    func runAcceptedJobs() {
        if !discardsBlocks { _ = runJobsOnOwnThread(upTo: jobs.count) }
    }

    private func runJobsOnOwnThread(upTo limit: Int) -> Bool {
        jobProgress.isBusy = true
        defer { jobProgress.isBusy = false }
        callerKnowsOfClosing = false
        return jobs.run(upTo: limit, of: self) {
            callerKnowsOfClosing = false  // The next job knows nothing of it.
            return discardsBlocks || isSpent(innermostRun)
        }
    }

    /// Calls a handler that is isolated to an actor on this loop: no job begins meanwhile.
    func withoutJobs(_ body: () -> Void) {
        guard !jobProgress.isBusy else { return body() }
        jobProgress.isBusy = true
        body()
        jobProgress.isBusy = false
        if jobProgress.hasSkippedDrain {
            jobProgress.hasSkippedDrain = false
            postDrain()
        }
    }

    /// The loop has ended: what is left is for the last resort.
    func giveUpJobs(isDeallocating: Bool) {
        let count = jobs.orphan()
        guard count > 0 else { return }
        // A task's job can do without its loop.
        guard !isDeallocating || !jobs.hasActorsJobs else {
            fatalError(
                "RunLoopKit: a loop was deallocated with \(count) jobs of Swift concurrency waiting for it. Swift does not retain "
                    + "executors: an actor on a loop has to hold the loop, or its LoopThread.")
        }
        LastResort.shared.serve(jobs, of: isDeallocating ? nil : self)
    }

    // Not inlined: the optimiser knows that callers of a method keep `self` alive, and Swift's runtime does not.
    @inline(never)
    private func retained() -> Unmanaged<Loop> { .passRetained(self) }
}

extension JobQueue {
    /// Runs jobs, and says whether there may be more. To be called where jobs of the loop belong.
    ///
    /// - Parameters:
    ///   - loop: Nil when it has gone, and left jobs of tasks only.
    ///   - isOver: Looked at after each job, so there is always one.
    func run(upTo limit: Int, of loop: Loop?, unless isOver: () -> Bool = { false }) -> Bool {
        for _ in 0..<limit {
            guard let job = take() else { return false }
            loopIsRunningAJob(job, of: loop)
            if isOver() { break }
        }
        return true
    }
}

@inline(never)
private func release(_ loop: Unmanaged<Loop>) { loop.release() }
