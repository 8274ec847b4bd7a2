extension Loop {
    /// The maximum number of jobs of Swift concurrency that a loop runs before it continues its pass: 16.
    public static let jobsPerDrain = 16

    /// Enqueues a job of an actor on this loop.
    func accept(_ job: UnownedJob) {
        // The loop need not outlive this call: the job may hold the last reference to the actor, and so to the loop,
        // and may end before this thread has left the locks and the waker.
        let kept = retained()
        defer { release(kept) }
        switch jobs.add(job, for: nil) {
        case .nothing: break
        // A loop that is closing refuses it: the job waits for the end.
        case .postADrain: postDrain()
        case .callTheLastResort: LastResort.shared.serve(jobs, of: self)
        }
    }

    @discardableResult
    func postDrain() -> Bool { perform(in: .common, jobs.drainBlock) }

    /// Runs the present jobs up to the limit, and posts another drain for the rest.
    func drainJobs() {
        guard !own.isInsideJob else {
            own.hasSkippedDrain = true
            return
        }
        // A loop that is closing refuses it: then runAcceptedJobs() or the last resort runs the rest.
        if runJobsOnOwnThread(upTo: Loop.jobsPerDrain) { postDrain() }
    }

    /// Runs the present jobs when the loop ends cleanly, also those whose drain was refused because the stop overtook
    /// it. Jobs that they enqueue do not run here, or there might be no end.
    func runAcceptedJobs() {
        if !discardsBlocks { _ = runJobsOnOwnThread(upTo: jobs.count) }
    }

    private func runJobsOnOwnThread(upTo limit: Int) -> Bool {
        own.isInsideJob = true
        defer { own.isInsideJob = false }
        callerKnowsOfClosing = false
        return jobs.run(upTo: limit, of: self) {
            callerKnowsOfClosing = false  // The next job has not learned of the closing.
            return discardsBlocks || isSpent(innermostRun)
        }
    }

    /// Calls a handler that is isolated to an actor on this loop. No job begins meanwhile.
    func withoutJobs(_ body: () -> Void) {
        guard !own.isInsideJob else { return body() }
        own.isInsideJob = true
        body()
        own.isInsideJob = false
        if own.hasSkippedDrain {
            own.hasSkippedDrain = false
            postDrain()
        }
    }

    /// Hands the jobs that are left to the last resort. Called when the loop has ended.
    func giveUpJobs(isDeallocating: Bool) {
        let count = jobs.orphan()
        guard count > 0 else { return }
        // A task's job does not need its loop.
        guard !isDeallocating || !jobs.hasActorsJobs else {
            fatalError(
                "RunLoopKit: a loop was deallocated with \(count) jobs of Swift concurrency waiting for it. Swift does "
                    + "not retain executors: an actor on a loop has to hold the loop, or its LoopThread.")
        }
        LastResort.shared.serve(jobs, of: isDeallocating ? nil : self)
    }

    // Not inlined: the optimizer relies on callers of a method to keep `self` alive, which Swift's runtime does not.
    @inline(never)
    private func retained() -> Unmanaged<Loop> { .passRetained(self) }
}

extension JobQueue {
    /// Runs jobs, and returns whether there may be more. Called on the thread that runs the loop's jobs.
    ///
    /// - Parameters:
    ///   - loop: Nil if it was deallocated and left jobs of tasks only.
    ///   - isOver: Evaluated after each job, so at least one runs.
    func run(upTo limit: Int, of loop: Loop?, unless isOver: () -> Bool = { false }) -> Bool {
        for _ in 0..<limit {
            guard let job = take() else { return false }
            if let loop, loop.isMonitored.load(ordering: .relaxed) {
                let callout = Callout(.job, cause: job.number)
                loop.reportBeginning(of: callout)
                loopIsRunningAJob(job, of: loop)
                loop.reportEnd(of: callout)
            } else {
                loopIsRunningAJob(job, of: loop)
            }
            if isOver() { break }
        }
        return true
    }
}

@inline(never)
private func release(_ loop: Unmanaged<Loop>) { loop.release() }
