import Synchronization

// The stack of runs: how a run begins and ends, and what it means for the run below it.

extension Loop {
    /// Whether `stop()` was called for the innermost run.
    enum StopFlag: UInt8, AtomicRepresentable { case noRun, running, stopped }

    /// Begins a run of the loop on the calling thread, its own. It may be nested in others; `leaveRun(_:)` ends it. A
    /// host was informed before.
    ///
    /// Two functions instead of one with a closure for the run: the closure would not be inlined, which took 75
    /// instructions.
    @inline(__always)
    func enterRun(
        in mode: ModeState, returnsAfterSourceHandled: Bool = false, unlocking held: consuming Lock.Held
    ) -> EnteredRun {
        beginRun(in: mode, returnsAfterSourceHandled: returnsAfterSourceHandled, unlocking: held)
        return EnteredRun(changesCurrentLoop: ThreadLoops.beginRunning(self))
    }

    /// Ends the run that `enterRun` has begun. Called without the lock.
    @inline(__always)
    func leaveRun(_ run: EnteredRun) {
        endRun()
        if run.changesCurrentLoop { ThreadLoops.endRunning() }
        own.host?.runHasEnded(in: self)
    }

    /// What `leaveRun(_:)` has to know.
    struct EnteredRun {
        /// Whether the thread's current loop was another one.
        fileprivate let changesCurrentLoop: Bool
    }

    /// Tells the host, whose loop rests, that a run begins. Unlocks the loop meanwhile: what the caller has found there
    /// may have left, and the wake-up for that is forgotten.
    @inline(never)
    func informHostOfBeginning(unlocking held: consuming Lock.Held) -> Lock.Held {
        lock.unlock(held)
        own.host?.runWillBegin(in: self)
        forgetWakeUps()
        return lock.hold()
    }

    /// Begins the run that hosting is, or a pass that a host makes.
    func beginHostedRun(in mode: ModeState, budgetEnd: Int64? = nil) {
        forgetWakeUps()
        beginRun(in: mode, isHosted: true, budgetEnd: budgetEnd, unlocking: lock.hold())
    }

    /// Called before a run looks for anything to wait for: a wake-up that comes later may be for the last item, which
    /// its sender has removed.
    @inline(__always)
    func forgetWakeUps() { if innermostRun?.ignoresWakeUps ?? true { waker.endWait() } }

    /// Pushes a run on the stack. Each run has its own stop flag, except the passes that a host makes within its
    /// hosting: these share one, so that a stop between two passes reaches the host.
    @inline(__always)
    private func beginRun(
        in mode: ModeState, returnsAfterSourceHandled: Bool = false, isHosted: Bool = false, budgetEnd: Int64? = nil,
        unlocking held: consuming Lock.Held
    ) {
        lock.assertHeld()
        let isOutermost = innermostRun == nil
        let sharesStopFlag = isHosted && innermostRun?.isHosted ?? false
        var run = mode.endedRun.take()
        if run == nil { run = Run(in: mode) }
        run!.begin(
            returnsAfterSourceHandled: returnsAfterSourceHandled, isHosted: isHosted, budgetEnd: budgetEnd,
            outlivesClosing: callerKnowsOfClosing,
            // Acquire: the run below sees what the thread that stopped it did before.
            stopFlagBelow: sharesStopFlag ? nil : stopFlag.exchange(.running, ordering: .acquiring))
        run!.heededWakeUps = waker.takenWakeUps
        // Before another thread sees the run: a virtual clock that did not count it would pass its deadlines by.
        if isOutermost { informClockOfBeginning() }
        waker.noteAnswer()
        push(&run, in: mode)
        let hidesBlocks = own.hiddenBlocks > 0 && mode.isCommon
        lock.unlock(held)
        if isOutermost { own.forgetListedWakeUps() }
        if hidesBlocks { replaceHiddenBlocks() }
    }

    /// A run in a common mode begins inside a block. It does not see blocks that were posted before, among them those
    /// that take jobs, or a pool's pieces, from their queues.
    @inline(never)
    private func replaceHiddenBlocks() {
        let (observer, drain) = lock.withLock { (nestedRunObserver, lastDrain) }
        observer?()
        if !own.isInsideJob, drain <= own.hiddenBlocks, jobs.forgetDrain() { postDrain() }
    }

    /// Pops the innermost run off the stack.
    func endRun() {
        let run = pop()
        assert(run.firing == nil, "RunLoopKit: a run ended inside a timer's handler.")
        if run.ignoresWakeUps, !(innermostRun?.ignoresWakeUps ?? true) { waker.endWait() }
        restoreStopFlag(after: run)
        if innermostRun == nil { informClockOfEnd() }
        run.mode.keep(run)
    }

    /// Ends a run, after those above it, which a thread that exited inside them has left.
    func endRuns(through run: Run) {
        while innermostRun !== run { _ = pop() }
        endRun()
    }

    // Relaxed, both: `isRunning` decides which thread carries a message to a task, and publishes nothing. Both exchange
    // references, which takes no retain, and no release of what was nil.

    @inline(__always)
    private func push(_ run: inout Run?, in mode: ModeState) {
        innermostRun?.mode.isRunning.store(false, ordering: .relaxed)
        swap(&run!.below, &innermostRun)
        swap(&innermostRun, &run)
        catchUp(mode)
        mode.isRunning.store(true, ordering: .relaxed)
    }

    @inline(__always)
    private func pop() -> Run {
        lock.lock()
        let run = innermostRun.take()!
        swap(&innermostRun, &run.below)
        lock.unlock()
        run.mode.isRunning.store(false, ordering: .relaxed)
        innermostRun?.mode.isRunning.store(true, ordering: .relaxed)
        return run
    }

    /// Whether the run must not sleep now: it was stopped, or runs above it have taken the wake-up for work that it has
    /// not seen, for the leaving of its mode's last item, or for its condition. The pass then polls, as if a wake-up
    /// had ended its wait.
    ///
    /// The run does not wake itself: such a wake-up would queue behind what is ready, and use up a later pass.
    @inline(__always)
    func mustLookAgain(insteadOfSleepIn run: Run) -> Bool {
        isStopped
            || (run.heededWakeUps != waker.takenWakeUps || run.condition == .nothingIsLeft)
                && mustLookAgainSlowly(of: run)
    }

    @inline(never)
    private func mustLookAgainSlowly(of run: Run) -> Bool {
        switch run.condition {
        case .ofCaller: true
        case .none:
            lock.withLock {
                run.seenWakeUps != waker.takenWakeUps && hasPostedWork(for: run.mode)
                    || !hasAnythingToWaitFor(in: run.mode)
            }
        case .nothingIsLeft: lock.withLock { hasPostedWork(for: run.mode) } || isNothingLeft(in: run.mode)
        }
    }

    @inline(__always)
    private func restoreStopFlag(after run: Run) {
        guard let flag = run.stopFlagBelow else { return }
        // A stop that a hosted pass did not notice is for the run whose handler runs the host.
        if run.isHosted, flag == .running { return }
        // Release: pairs with the acquiring load in `isStopped`. The run below sees what the stopping thread did.
        stopFlag.store(flag, ordering: .releasing)
    }

    // MARK: Stopping

    /// Whether the innermost run is to end. Acquire: what the thread that stopped it did before is visible.
    @inline(__always)
    var isStopped: Bool { stopFlag.load(ordering: .acquiring) == .stopped || isEndedByClosing }

    // MARK: The virtual clock

    private func informClockOfBeginning() {
        if !isOfLoopThread, case .virtual(let clock) = clock { clock.beginRun(of: self) }
    }

    private func informClockOfEnd() {
        if !isOfLoopThread, case .virtual(let clock) = clock { clock.endRun(of: self) }
    }
}
