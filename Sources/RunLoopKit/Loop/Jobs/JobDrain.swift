extension Loop {
    /// The maximum number of jobs of Swift concurrency that a loop runs before it continues its pass: 16.
    public static let jobsPerDrain = 16

    /// Enqueues a job of an actor on this loop.
    func accept(_ job: UnownedJob) {
        // The loop need not outlive this call: the job may hold the last reference to the actor, and so to the loop,
        // and may end before this thread has left the queue's lock. So the queue is retained, and the loop only if it
        // is needed after that.
        let kept = jobs.retained()
        defer { release(kept) }
        let consequence = kept._withUnsafeGuaranteedRef { $0.add(job, for: nil) { retain() } }
        guard consequence != .nothing else { return }
        defer { release(.passUnretained(self)) }
        // A loop that is closing refuses a drain: the job waits for the end.
        if consequence == .postADrain { postDrain() } else { LastResort.shared.serve(jobs, of: self) }
    }

    /// Posts the block that runs jobs.
    func postDrain() {
        let block = PostedBlock(body: jobs.drainBlock, handle: noteOfHandover(Place(nil, #fileID, #line)))
        guard beginAccepting(block.handle) else { return }
        append(block, for: .common, isAwaited: false)
        lastDrain = lastBlock
        endAccepting(true)
    }

    /// Runs the present jobs up to the limit, and posts another drain for the rest.
    func drainJobs() {
        guard !own.isInsideJob else {
            own.hasSkippedDrain = true
            lock.withLock { lastDrain = 0 }
            return
        }
        guard runJobsOnOwnThread(upTo: Loop.jobsPerDrain) else { return }
        // A later drain may be posted already, for a run inside a block: then it runs the rest. A loop that is closing
        // refuses another: then runAcceptedJobs() or the last resort does.
        if lock.withLock({ lastDrain <= own.hiddenBlocks }) { postDrain() }
    }

    /// Runs the present jobs when the loop ends cleanly, even those whose drain was refused because the stop overtook
    /// it. Jobs that they enqueue do not run here, or there might be no end.
    func runAcceptedJobs() {
        guard !discardsBlocks else { return }
        let last = jobs.turnOfLast
        own.isInsideJob = true
        defer { own.isInsideJob = false }
        callerKnowsOfClosing = false
        while let job = jobs.take(arrivedBy: last), runOnOwnThread(job) {}
    }

    private func runJobsOnOwnThread(upTo limit: Int) -> Bool {
        own.isInsideJob = true
        defer { own.isInsideJob = false }
        callerKnowsOfClosing = false
        return jobs.take(upTo: limit) { runOnOwnThread($0) && !isSpent(innermostRun) }
    }

    /// Returns whether another job may follow. Traps, as `callOut` does, if a forked child returns from a job.
    @inline(__always)
    private func runOnOwnThread(_ job: JobQueue.Job) -> Bool {
        runJob(job)
        process.requireCurrent()
        callerKnowsOfClosing = false  // The next job has not learned of the closing.
        return !discardsBlocks
    }

    @inline(__always)
    func runJob(_ job: JobQueue.Job) {
        guard isMonitored.load(ordering: .relaxed) else { return loopIsRunningAJob(job, of: self) }
        let callout = Callout(.job, cause: job.number)
        notifyOfBeginning(of: callout)
        loopIsRunningAJob(job, of: self)
        notifyOfEnd(of: callout)
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

    // Not inlined, for the same reason as `JobQueue.retained()`: the optimizer relies on callers of a method to keep
    // `self` alive, which Swift's runtime does not.
    @inline(never)
    private func retain() { _ = Unmanaged.passRetained(self) }
}

extension JobQueue {
    /// Takes jobs, and calls `body` with each, until that returns false. Returns whether there may be more. Called on
    /// the thread that runs the loop's jobs.
    @inline(__always)
    func take(upTo limit: Int, _ body: (Job) -> Bool) -> Bool {
        for _ in 0..<limit {
            guard let job = take() else { return false }
            if !body(job) { break }
        }
        return true
    }
}

extension JobQueue {
    @inline(never)
    fileprivate func retained() -> Unmanaged<JobQueue> { .passRetained(self) }
}

@inline(never)
private func release<Object>(_ object: Unmanaged<Object>) { object.release() }
