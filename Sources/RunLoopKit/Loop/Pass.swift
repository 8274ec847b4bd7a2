extension Loop {
    /// One pass: the steps of CFRunLoop, a line for each. Returns the run's result when the run is to end.
    func pass(_ run: inout Run) -> RunResult? {
        let mode = run.mode
        Tally.count(tally.passes)
        stopIgnoringWakeUps()
        hasLookedAtWork = false

        notify(.beforeTimers, in: mode)  // 3.1
        notify(.beforeSources, in: mode)
        hasLookedAtWork = true
        performBlocks(for: mode, until: run.budgetEnd)  // 3.2
        var hasHandledSource = performSource0s(of: run)  // 3.3
        if hasHandledSource, !isSpent(run.budgetEnd) { performBlocks(for: mode, until: run.budgetEnd) }  // 3.4
        let polls = hasHandledSource || run.onlyPolls

        var ready = Ready.mainQueue
        if !takeMainQueue(in: run) {  // 3.5
            if !polls { notify(.beforeWaiting, in: mode) }  // 3.6
            makeUpForHostedPasses(in: mode)
            ready = nextReady(in: run, polls: polls)  // 3.7
            informHost()
            ignoresWakeUps = true
            let isObserved = polls ? false : notify(.afterWaiting, in: mode)  // 3.8
            if isObserved, case .port(let token, let events) = ready { ready = lookAgain(at: token, events, in: mode) }
        }
        ignoresWakeUps = true
        run.hasJustDrainedMainQueue = false

        switch ready {  // 3.9
        case .nothing, .wakeUp: break
        case .mainQueue:
            drainMainQueue()
            hasHandledSource = true
            run.hasJustDrainedMainQueue = true
        case .timers: fireTimers(of: mode, until: run.budgetEnd)
        case .port(let token, let events):
            hasHandledSource = performPort(token, events, of: mode) || hasHandledSource
        }
        if !isSpent(run.budgetEnd) { performBlocks(for: mode, until: run.budgetEnd) }  // 3.10

        if hasHandledSource, run.returnsAfterSourceHandled { return .handledSource }  // 3.11
        if isTimeUp(for: run) { return .timedOut }
        if isStopped { return .stopped }
        if !lock.withLock({ hasWork(mode) }) { return .finished }
        return nil
    }

    /// Whether a hosted pass has had its time. Looked at after each callout, so each kind gets at least one.
    func isSpent(_ budgetEnd: Int64?) -> Bool { budgetEnd.map { $0 <= clock.nanoseconds } ?? false }

    /// Calls a handler. Traps if a forked child returns from it: it would call the next handlers too, and take what its
    /// parent waits for, such as the wake-up of the main queue.
    func callOut<Result>(_ handler: () -> Result) -> Result {
        defer { process.requireCurrent() }
        // What the handler before has learned, in this pass or an earlier one, this one does not know.
        closing.isKnown = false
        return handler()
    }

    // MARK: Observers

    /// Calls the observers of an activity: those that are there now, in order. What they add comes at the next
    /// activity; what they remove is still called, what they invalidate is not. Says whether there were any.
    @discardableResult
    func notify(_ activity: Activity, in mode: ModeState) -> Bool {
        guard mode.observed.load(ordering: .relaxed) & activity.rawValue != 0 else { return false }
        // The array is a snapshot that costs nothing unless somebody changes the original.
        for observer in lock.withLock({ mode.observers }) where observer.wants(activity) {
            callOut { loopIsCallingOutToAnObserver(observer, activity) }
        }
        return true
    }

    // MARK: Blocks

    /// Runs the blocks posted for this mode that are there now. What they post waits; blocks for other modes stay, and
    /// those for which there is no time.
    func performBlocks(for mode: ModeState, until budgetEnd: Int64? = nil) {
        guard hasBlocks.load(ordering: .relaxed) else { return }
        let taken = lock.withLock { () -> [BlockQueue.Block?] in
            hasBlocks.store(false, ordering: .relaxed)
            return blocks.takeAll()
        }
        let (level, indices) = (takenBlocks.count, taken.indices)
        takenBlocks.append(taken)
        _ = consume taken
        for index in indices {
            // The common modes of this very moment: the block before may have added one.
            guard let block = takenBlocks[level][index],
                block.modes.admits(mode.mode, common: lock.withLock { commonModes })
            else {
                continue
            }
            // What the block captured goes before the next one runs.
            takenBlocks[level][index] = nil
            let isWanted = block.handle?.take() ?? true
            guard isWanted, !discardsBlocks.load(ordering: .relaxed) else { continue }
            callOut { loopIsCallingOutToABlock(block.body) }
            if isSpent(budgetEnd) { break }
        }
        var rest = takenBlocks.removeLast()
        let withdrawn = lock.withLock { () -> [BlockQueue.Block] in
            defer { if !blocks.isEmpty { hasBlocks.store(true, ordering: .relaxed) } }
            return blocks.giveBack(&rest)
        }
        _ = consume withdrawn  // What they captured may call us: not with the lock held.
    }

    // MARK: Version-0 sources

    /// Performs the sources that are signalled now, by order, then by time of signal; only the first one if the run
    /// returns after it.
    private func performSource0s(of run: Run) -> Bool {
        let mode = run.mode
        // Acquire, and before the marks are looked at: a mark made after this look sets the hint again.
        guard mode.mayHaveSignal.load(ordering: .relaxed), mode.mayHaveSignal.exchange(false, ordering: .acquiring)
        else {
            return false
        }
        var signalled = lock.withLock { mode.source0s.filter { $0.pendingSignal != 0 } }
        if signalled.count > 1 {
            let keyed = signalled.map { ($0.order, $0.pendingSignal, $0) }
            signalled = keyed.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
        }
        // The others keep their marks until their turn comes: a run nested in a handler may perform them first.
        if signalled.count > 1 { mode.mayHaveSignal.store(true, ordering: .relaxed) }
        var hasHandled = false
        for source in signalled where source.takeSignal() {
            callOut { loopIsCallingOutToASource0(source) }
            hasHandled = true
            if run.returnsAfterSourceHandled || isSpent(run.budgetEnd) { break }
        }
        return hasHandled
    }

    // MARK: Version-1 sources

    /// Performs a source that was found ready, if it is still in the mode.
    private func performPort(_ token: UInt64, _ events: PollEvents, of mode: ModeState) -> Bool {
        guard let source = lock.withLock({ mode.ports.source(for: token) }), source.isValid else { return false }
        return callOut { loopIsCallingOutToASource1(source, events, mode) }
    }

    // MARK: Timers

    /// Fires every timer that is due now, collected first, each checked again before its handler.
    private func fireTimers(of mode: ModeState, until budgetEnd: Int64?) {
        var due: [Timer] = []
        lock.withLock {
            mode.timers.suspending.collectDue(at: clock.nanoseconds, into: &due)
            guard !mode.timers.continuous.isEmpty else { return }
            mode.timers.continuous.collectDue(at: clock.nanoseconds(.continuous), into: &due)
        }
        for timer in due {
            let now = clock.nanoseconds(timer.timeBase)
            let firing = lock.withLock { () -> Timer.Firing? in
                guard let firing = timer.beginFiring(on: self, at: now) else { return nil }
                firingTimers.append(timer)
                return firing
            }
            guard let firing else { continue }
            callOut { loopIsCallingOutToATimer(firing) }
            lock.withLock { _ = firingTimers.removeLast() }
            timer.endFiring(firing, now: clock.nanoseconds(timer.timeBase))
            if isSpent(budgetEnd) { break }
        }
    }
}
