/// The hosting of a loop: a foreign loop runs it and sleeps for it. It is one long run, at the bottom of the loop's
/// stack of runs. Each pass that the host makes is a run above it, even a pass inside a handler.
///
/// Accessed only by the loop's thread.
final class Hosting: Host {
    /// The run at the bottom. It makes no passes itself.
    private let run: Run

    /// Whether the beforeWaiting observers have been called and the afterWaiting observers not yet: the host may sleep.
    private var rests = false

    /// Whether the host says when it sleeps. The loop then need not inform it: the host asks.
    private var saysWhenItSleeps = false

    /// Whether the host has slept since the loop last asked the kernel, or may have.
    private var mayHaveSlept = true

    /// Whether `end()` was called inside a pass or a run, and the hosting ends when that returns.
    private var isEndRequested = false

    /// The mode of that run. Stored, so that reading it retains nothing.
    let mode: ModeState

    /// Whether no pass and no run of the loop is active.
    private func isBetweenPasses(of loop: Loop) -> Bool { loop.innermostRun === run }

    /// Begins hosting. The caller then calls the entry observers.
    init(_ loop: Loop, in mode: ModeState) {
        self.mode = mode
        loop.beginHostedRun(in: mode)
        run = loop.innermostRun!
        run.ignoresWakeUps = true
        run.skipsMainQueueStep = false
        loop.waker.setHosted(true)
        // The host is to make a first pass.
        loop.waker.nudge()
    }

    // MARK: Passes

    /// Makes passes that do not wait: one, or as many as the budget allows and there is work for.
    func makePasses(of loop: Loop, until budgetEnd: Int64?) -> Loop.HostedResult {
        beginPass(of: loop, budgetEnd: budgetEnd)
        // Without a retain: the stack keeps the run.
        let result = Unmanaged.passUnretained(loop.innermostRun!)._withUnsafeGuaranteedRef {
            makePasses($0, of: loop, until: budgetEnd)
        }
        return endIfRequested(loop) ? .stopped : result
    }

    /// Makes passes as one run, and ends it.
    @inline(__always)
    private func makePasses(_ pass: Run, of loop: Loop, until budgetEnd: Int64?) -> Loop.HostedResult {
        loop.waker.hostHasCome()
        endRest(of: loop)
        var result: Loop.HostedResult
        repeat {
            // A pass that serves what an earlier one has fetched does not ask the kernel.
            loop.own.hasAskedLast = false
            _ = loop.pass(pass)
            // A handler may have run the host, which then has slept.
            endRest(of: loop)
            result = outcome(of: pass, of: loop)
            // An observer of the next pass may run the host before that has looked at all work.
            if result == .more, hasObserversOfBeginning { inform(loop, ofMore: true) }
        } while result == .more && budgetEnd.map { loop.clock.nanoseconds < $0 } ?? false
        switch result {
        case .idle, .finished: rest(after: pass, of: loop)
        case .more: inform(loop, ofMore: true)
        // If the host continues, the loop comes to rest in its next pass. Not before: virtual time would advance.
        case .stopped: inform(loop, ofMore: !isEndRequested || hasMore(for: pass, of: loop))
        }
        endPass(pass, of: loop)
        return result
    }

    private var hasObserversOfBeginning: Bool {
        let activities: Loop.Activity = [.beforeTimers, .beforeSources]
        return mode.has(.observers(of: activities))
    }

    @discardableResult
    private func beginPass(of loop: Loop, budgetEnd: Int64? = nil) -> Run {
        loop.beginHostedRun(in: mode, budgetEnd: budgetEnd)
        let pass = loop.innermostRun!
        pass.skipsMainQueueStep = run.skipsMainQueueStep
        return pass
    }

    private func endPass(_ pass: Run, of loop: Loop) {
        run.skipsMainQueueStep = pass.skipsMainQueueStep
        loop.endRun()
    }

    private func outcome(of pass: Run, of loop: Loop) -> Loop.HostedResult {
        let hasStopped = loop.stopFlag.compareExchange(
            // Acquire: what the thread that stopped the loop did before is visible.
            expected: .stopped, desired: .running, successOrdering: .acquiring, failureOrdering: .relaxed
        ).exchanged
        if hasStopped || loop.isStopped || isEndRequested { return .stopped }
        if hasMore(for: pass, of: loop) { return .more }
        return loop.lock.withLock { loop.hasAnythingToWaitFor(in: mode) } ? .idle : .finished
    }

    /// Whether another pass would find work at once, including work whose sender did not wake the loop: a run looks for
    /// that before it sleeps.
    private func hasMore(for pass: Run, of loop: Loop) -> Bool {
        // The next pass begins with posted work, which may make more ready, and asks the kernel after that.
        if loop.hasReady(mode) || hasPostedWork(loop) { return true }
        // The pass has consumed all edges. It has called no handler since, which could consume some or make work.
        if loop.own.hasAskedLast { return false }
        // Consumes all edges of the descriptor: it now becomes readable only for what comes later.
        loop.fetch(in: pass, polls: true)
        // A wake-up since the pass calls for another pass, which begins by looking at all work, as in a run. Nothing of
        // the wake-up is then left to serve.
        let wasWoken = mode.ready.forgetWakeUp()
        // `hasReady` comes first, since it also marks what has been fetched as no longer fresh for the next pass.
        return loop.hasReady(mode) || wasWoken || hasPostedWork(loop)
    }

    private func hasPostedWork(_ loop: Loop) -> Bool {
        // Nearly always there is none in any mode. A thread that posts some at this moment wakes the host.
        guard loop.queuedBlocks.load(ordering: .relaxed) > 0 || !mode.signals.isEmpty else { return false }
        return loop.lock.withLock { loop.hasPostedWork(for: mode) }
    }

    // MARK: The rest between passes

    /// Lets the host sleep.
    private func rest(after pass: Run, of loop: Loop) {
        // First, since an observer may run the host.
        inform(loop)
        let mayHaveMadeWork = loop.notify(.beforeWaiting, in: mode)
        // A run that an observer has made may have taken the wake-up, and a run would look again before it sleeps.
        if mayHaveMadeWork, loop.isStopped || saysWhenItSleeps && (loop.hasReady(mode) || hasPostedWork(loop)) {
            loop.waker.nudge()
        }
        rests = true
        loop.waiting.store(true, ordering: .relaxed)
        guard !saysWhenItSleeps, pass.below === run else { return }
        // The time has already reached the deadline.
        if !sleepsInVirtualTime(loop) { loop.waker.nudge() }
    }

    /// Records on a virtual clock that the loop sleeps; inside a handler it is busy, even if its host sleeps. Returns
    /// false if the time has reached the loop's next deadline.
    private func sleepsInVirtualTime(_ loop: Loop) -> Bool {
        guard case .virtual(let clock) = loop.clock else { return true }
        let deadline = loop.lock.withLock { loop.nextSleep(in: mode).deadline }
        return clock.sleep(loop, until: deadline, on: mode.pollDescriptor, blocksThread: false)
    }

    private func endRest(of loop: Loop) {
        guard rests else { return }
        rests = false
        loop.waiting.store(false, ordering: .relaxed)
        if case .virtual(let clock) = loop.clock { clock.awake(loop) }
        loop.notify(.afterWaiting, in: mode)
    }

    // MARK: Hosts that say when they sleep

    /// The host is about to sleep. Returns false if it must make a pass instead.
    func hostWillSleep(_ loop: Loop) -> Bool {
        if saysWhenItSleeps { hostDidWake(loop) } else { beginSayingWhenItSleeps(loop) }
        let maySleep = maySleep(loop)
        if maySleep { mayHaveSlept = true }
        return maySleep
    }

    private func beginSayingWhenItSleeps(_ loop: Loop) {
        saysWhenItSleeps = true
        loop.waker.setHostSaysWhenItSleeps()
        // From now on the loop sleeps only while the host does.
        if case .virtual(let clock) = loop.clock { clock.awake(loop) }
    }

    private func maySleep(_ loop: Loop) -> Bool {
        guard !loop.waker.hasNote, !hasWorkInHandler(loop) else { return false }
        let sleeps = loop.lock.withLock {
            guard !mode.hasMessages, !loop.isTimerDue(in: mode), loop.waker.beginWait() else { return false }
            loop.arm(for: loop.nextSleep(in: mode), in: mode)
            return true
        }
        guard sleeps, rests, isBetweenPasses(of: loop), !sleepsInVirtualTime(loop) else { return sleeps }
        loop.waker.endHostSleep()
        return false
    }

    /// Whether the pass or run inside which the host is about to sleep has left something that another pass would
    /// serve. Between two passes, what comes leaves a note in the wake word.
    private func hasWorkInHandler(_ loop: Loop) -> Bool {
        !isBetweenPasses(of: loop) && (loop.hasReady(mode) || hasPostedWork(loop))
    }

    /// The host is awake, whether it was asleep or not.
    func hostDidWake(_ loop: Loop) {
        guard saysWhenItSleeps else { return }
        loop.waker.endHostSleep()
        if case .virtual(let clock) = loop.clock { clock.awake(loop) }
    }

    /// Whether the host has something to do at once.
    func mustMakePass(_ loop: Loop) -> Bool {
        loop.waker.hasNote || hasWorkInHandler(loop) || System.isReadable(mode.pollDescriptor)
    }

    // MARK: Host

    /// The epoll set of a host that has not slept since contains nothing that the loop does not know of.
    func takeNeedToPoll(in mode: ModeState) -> Bool {
        guard saysWhenItSleeps, mode === self.mode else { return mode === self.mode }
        defer { mayHaveSlept = false }
        return mayHaveSlept
    }

    func runWillBegin(in loop: Loop) {
        guard rests else { return }
        let pass = beginPass(of: loop)
        endRest(of: loop)
        endPass(pass, of: loop)
    }

    /// The host's descriptor does not show what the run has fetched or armed, nor what was posted as it ended. After a
    /// run between two passes the host must make another pass, in which the loop comes to rest.
    func runHasEnded(in loop: Loop) {
        inform(loop, ofMore: isBetweenPasses(of: loop) || !saysWhenItSleeps && hasPostedWork(loop))
        _ = endIfRequested(loop)
    }

    func mayHaveMore(in loop: Loop) {
        guard !saysWhenItSleeps else { return }
        // Nearly always nothing was listed, the timerfds are armed as before, and no work was posted after the pass had
        // looked, or left by its budget.
        let isArmed = loop.lock.withLock { loop.lastSleep?.mode == ObjectIdentifier(mode) }
        let hasPostedWork = hasPostedWork(loop)
        if !isArmed || !mode.ready.isEmpty || hasPostedWork { inform(loop, ofMore: hasPostedWork) }
    }

    /// A pass that the host made during the step has consumed the wake-ups of blocks that were hidden from it.
    func blockStepHasEnded(in loop: Loop) {
        if !saysWhenItSleeps, hasPostedWork(loop) { loop.waker.nudge() }
    }

    func loopHasEnded(_ loop: Loop) { stop(loop) }

    /// Makes the descriptor readable if anything is ready, and arms the timerfds for the next timer. Called whenever
    /// the host may sleep: at the end of a pass, and as soon as the loop has fetched events or armed a timerfd, since
    /// the next handler may run the host.
    private func inform(_ loop: Loop, ofMore hasMore: Bool = false) {
        if hasMore || !saysWhenItSleeps && armAndFindWork(loop) { loop.waker.nudge() }
    }

    private func armAndFindWork(_ loop: Loop) -> Bool {
        let isDue = loop.lock.withLock {
            loop.arm(for: loop.nextSleep(in: mode), in: mode)
            return loop.isTimerDue(in: mode)
        }
        return isDue || loop.hasReady(mode)
    }

    // MARK: The end

    /// Ends the hosting now, or as soon as no pass and no run is active.
    func end(_ loop: Loop) {
        guard isBetweenPasses(of: loop) else {
            isEndRequested = true
            return
        }
        // The exit observers are called as in a pass: if one of them ends the hosting too, that has no effect.
        let pass = beginPass(of: loop)
        endRest(of: loop)
        loop.notify(.exit, in: mode)
        endPass(pass, of: loop)
        stop(loop)
    }

    private func endIfRequested(_ loop: Loop) -> Bool {
        guard isEndRequested, isBetweenPasses(of: loop) else { return false }
        loop.hosting.end()
        return true
    }

    private func stop(_ loop: Loop) {
        loop.own.host = nil
        mode.forgetCutSteps()
        loop.waiting.store(false, ordering: .relaxed)
        loop.lock.withLock { loop.lastSleep = nil }
        loop.waker.setHosted(false)
        if case .virtual(let clock) = loop.clock { clock.awake(loop) }
        loop.endRuns(through: run)
    }
}
