import Synchronization

// The stack of runs: how a run begins and ends, and what it means for the run below it.

extension Loop {
    /// What the innermost run was told by `stop()`.
    enum StopFlag: UInt8, AtomicRepresentable { case noRun, running, stopped }

    /// Calls `body` as a run of the loop, which may be nested in others.
    func withRun<Result>(in mode: ModeState, returnsAfterSourceHandled: Bool = false, _ body: (Run) -> Result) -> Result
    {
        own.host?.runWillBegin()
        defer { own.host?.runHasEnded() }
        return ThreadLoops.current.running(self) {
            let run = begin(in: mode, returnsAfterSourceHandled: returnsAfterSourceHandled)
            defer { end(run) }
            return body(run)
        }
    }

    /// Pushes a run on the stack. Its stop flag is its own, except for the passes that a host makes within its hosting:
    /// these share one, or the host would not learn of a stop between two passes.
    func begin(
        in mode: ModeState, returnsAfterSourceHandled: Bool = false, isHosted: Bool = false, budgetEnd: Int64? = nil
    ) -> Run {
        let below = innermostRun
        if below == nil { informClockOfBeginning() }
        let sharesStopFlag = isHosted && below?.isHosted ?? false
        let run = Run(
            in: mode, returnsAfterSourceHandled: returnsAfterSourceHandled, isHosted: isHosted, budgetEnd: budgetEnd,
            above: below, outlivesClosing: callerKnowsOfClosing,
            // Acquire: the run below will see what the thread that stopped it did before.
            stopFlagBelow: sharesStopFlag ? nil : stopFlag.exchange(.running, ordering: .acquiring))
        lock.withLock { innermostRun = run }
        if below?.phase ?? .hasWaited == .hasWaited { forgetWakeUps(for: nil) }
        // A wake-up that was listed and not served concerned an earlier run.
        if below == nil { for mode in lock.withLock({ modeStates }) { mode.ready.forgetWakeUp() } }
        return run
    }

    /// Pops a run off the stack. The run below may have missed a wake-up that the ended run has consumed.
    func end(_ run: Run) {
        let below = run.below
        if run.phase == .hasWaited, let below, below.phase != .hasWaited { forgetWakeUps(for: run) }
        lock.withLock { innermostRun = below }
        restoreStopFlag(after: run)
        guard let below else { return informClockOfEnd() }
        guard run.hasConsumedWakeUp else { return }
        below.hasConsumedWakeUp = true
        if below.phase == .hasLooked { below.hasMissedWakeUp = true }
    }

    /// Makes up for the wake-ups that runs above have consumed, or that were ignored: a run that is about to sleep must
    /// not if it was stopped, or has work that it has not looked for since.
    ///
    /// Only here, and not as soon as the run above has ended: a handler of this run may make passes as a host, which
    /// wait until there is nothing more to do for them.
    func lookAgain(beforeSleepIn run: Run) {
        let hasMissedWork = run.hasMissedWakeUp && lock.withLock { hasPostedWork(for: run.mode) }
        run.hasMissedWakeUp = false
        if hasMissedWork || isStopped { waker.wake() }
    }

    private func restoreStopFlag(after run: Run) {
        guard let flag = run.stopFlagBelow else { return }
        // A stop that a hosted pass has come too late to notice is for the run in whose handler the host was run.
        if run.isHosted, flag == .running { return }
        // Release: for the acquiring look of the run below at what the stopping thread did.
        stopFlag.store(flag, ordering: .releasing)
    }

    /// Forgets the wake-ups that came while they were ignored. The wake-up of a stop is made up for:
    /// `lookAgain(beforeSleepIn:)`.
    func forgetWakeUps(for run: Run?) {
        if waker.forget() { run?.hasConsumedWakeUp = true }
    }

    // MARK: Stopping

    /// Whether the innermost run is to end. Acquire: what the thread that stopped it did before is visible.
    var isStopped: Bool { stopFlag.load(ordering: .acquiring) == .stopped || isEndedByClosing }

    /// Whether the closing of the loop ends the innermost run.
    ///
    /// A handler that runs the loop learns of the closing by a run that returns `stopped`: the run that is active, or
    /// the next one that it begins. If it begins another run all the same, such as to wait for an answer, that run
    /// outlives the closing: a handler that looks at its answer, and not at the result, would otherwise be busy with
    /// runs that return at once, and never get the answer. The thread ends when the handler returns.
    var isEndedByClosing: Bool { isClosing && !(innermostRun?.outlivesClosing ?? false) }

    /// Whether the code that is calling the loop has learned that the loop is closing.
    var callerKnowsOfClosing: Bool {
        get { innermostRun?.handlerKnowsOfClosing ?? own.callerKnowsOfClosing }
        set {
            if let innermostRun {
                innermostRun.handlerKnowsOfClosing = newValue
            } else {
                own.callerKnowsOfClosing = newValue
            }
        }
    }

    // MARK: The virtual clock

    private func informClockOfBeginning() {
        if !informsClockBetweenRuns, case .virtual(let clock) = clock { clock.beginRun(of: self) }
    }

    private func informClockOfEnd() {
        if !informsClockBetweenRuns, case .virtual(let clock) = clock { clock.endRun(of: self) }
    }
}
