/// A loop that somebody else's loop runs: its one long run, in which the host does the sleeping.
struct Hosting {
    var run: Run
    let outer: Loop.Outer
    /// How many `hostedPass` calls and runs are on the stack: a handler may run the host, or the loop, nested.
    var depth = 0
    /// Whether the beforeWaiting observers have been called, and the host sleeps.
    var rests = false
    /// Whether `endHosting()` was called inside a pass or a run.
    var endsAfterPass = false
    /// The innermost of them, if it is a run and no pass: then stops are meant for it, and not for the host.
    var innermostRun: InnermostRun?

    struct InnermostRun {
        /// Whether one of its handlers has run the host, whose pass has taken what woke the loop.
        var hasLostWakeUps = false
    }
}

extension Loop {
    /// What a host learns from a pass.
    public enum HostedResult: Sendable, Hashable {
        /// There is nothing to do until the descriptor becomes readable.
        case idle
        /// More is ready. The descriptor is readable, so a host need not do anything about it.
        case more
        /// Somebody called `stop()`. The host decides what that means; it may go on.
        case stopped
        /// As `idle`; besides, nothing is left in the mode that could ever happen by itself.
        case finished
    }

    // MARK: For hosts

    /// Lets a foreign loop run this one: GLib's, SDL's, libuv's, Android's, or a `poll` of your own.
    ///
    /// The host watches one descriptor for readability, level- or edge-triggered as it likes, and calls `hostedPass()`
    /// when it is readable. Nothing else is needed: timers, posts, ports, stops, and on the main loop the main dispatch
    /// queue all make it readable, and after a pass that leaves nothing to do it is not. An idle loop costs the host no
    /// wake-up.
    ///
    /// ```swift
    /// let descriptor = try Loop.main.beginHosting()
    /// g_unix_fd_add(descriptor, G_IO_IN, { _, _, _ in
    ///     Loop.main.hostedPass()
    ///     return 1  // watch on
    /// }, nil)
    /// ```
    ///
    /// Hosting is one long run in which the host does the sleeping. The entry observers are called now, the exit ones by
    /// `endHosting()`; the beforeWaiting ones when a pass leaves nothing to do, and the afterWaiting ones when the
    /// next one, a run, or the end begins. `currentMode` is the hosted mode, `isWaiting` is true between passes, and a `stop()` is
    /// not lost. A handler may run the loop nested, or the host; a stop is for the innermost of these. On a
    /// `VirtualClock` time stands still while a handler runs the host.
    ///
    /// - Parameter mode: The mode that passes run in. To change it, end hosting and begin again.
    /// - Returns: The descriptor: the mode's own, valid as long as the loop. Only watch it: never read or close it. It is
    ///   readable at once, so the first pass comes without being asked for.
    /// - Throws: `LoopError` from `eventfd`, `timerfd_create`, `epoll_create1` or `epoll_ctl`, usually because the
    ///   process has no descriptor left. Nothing has begun then.
    /// - Precondition: Called on the loop's own thread, outside its runs, for a mode other than `common` of a loop that
    ///   has not ended and is not hosted; traps otherwise.
    ///
    /// CF: `_CFRunLoopGetWakeUpPort` and `CFRunLoopRunInMode` with a timeout of zero, by which hosts have to help themselves.
    public func beginHosting(_ mode: Mode = .default) throws(LoopError) -> Int32 {
        requireOwnThread("beginHosting")
        guard mode != .common, currentMode == nil, !lock.withLock({ hasEnded }) else {
            fatalError(
                "RunLoopKit: Loop.beginHosting(\(mode)): a loop cannot be hosted in the mode 'common', inside one of its runs, twice, "
                    + "or after its end. Call it before the host begins to run, and endHosting() before beginning again."
            )
        }
        try prepare(mode)
        let state = lock.withLock { self.state(for: mode) }
        let thread = ThreadLoops.current
        let runningLoop = thread.runningLoop
        defer { thread.runningLoop = runningLoop }
        var outer = enter(state)
        // Or the loop would keep itself alive.
        outer.runningLoop = nil
        waker.setHosted(true)
        var run = Run(mode: state, deadline: nil, onlyPolls: true, returnsAfterSourceHandled: false)
        run.hasJustDrainedMainQueue = false
        hosting = Hosting(run: run, outer: outer)
        // First, since an observer may run the host.
        waker.nudge()
        notify(.entry, in: state)
        return state.poller!.descriptor
    }

    /// Makes one pass that does not wait: what is ready is served as in a pass of a run, one version-1 source at
    /// most.
    ///
    /// To be called by the host when the descriptor is readable; calling it at other times does no harm. From C
    /// callbacks, which capture nothing, call it on `Loop.main` or `Loop.current`.
    ///
    /// - Precondition: Called on the loop's own thread, between `beginHosting` and `endHosting`; traps otherwise.
    @discardableResult
    public func hostedPass() -> HostedResult { hostedPasses(until: nil) }

    /// Makes passes that do not wait until there is nothing to do or the time is up: for hosts that draw frames.
    ///
    /// Nothing is lost when the time is up: what was not served is ready for the next call. Handlers are not interrupted: the
    /// time is looked at after each, and at least one of each kind that is ready is called.
    ///
    /// ```swift
    /// while drawsFrames {
    ///     pollEvents()
    ///     draw()
    ///     Loop.main.hostedPass(for: .milliseconds(4))
    /// }
    /// ```
    ///
    /// - Parameter budget: How long to go on, on the loop's clock. Zero or less: one pass, cut short after a handler of
    ///   each kind.
    /// - Returns: As `hostedPass()`; `more` when the time was up first.
    /// - Precondition: As for `hostedPass()`.
    @discardableResult
    public func hostedPass(for budget: Duration) -> HostedResult {
        hostedPasses(until: clock.nanoseconds.addingSaturating(max(0, budget.wholeNanoseconds)))
    }

    /// For how long the host may sleep at most: zero when something is ready, nil for ever.
    ///
    /// For hosts that sleep with a timeout instead of watching a descriptor. They do not hear of posts from other
    /// threads while they sleep: keep the timeout short then, or wake the host.
    ///
    /// - Precondition: As for `hostedPass()`.
    public var hostTimeout: Duration? {
        let mode = requireHosted("hostTimeout").run.mode
        if System.isReadable(mode.poller!.descriptor) { return .zero }
        let next = lock.withLock {
            let sleep = Sleep(in: mode)
            let continuous = sleep.continuousDeadline
            return min(sleep.deadline, continuous == TimerHeap.never ? continuous : onOwnClock(continuous))
        }
        return next == TimerHeap.never ? nil : max(.zero, now.duration(to: Instant(nanoseconds: next)))
    }

    /// Whether the loop is being hosted. On the loop's own thread; traps elsewhere.
    public var isHosted: Bool {
        requireOwnThread("isHosted")
        return hosting != nil
    }

    /// Ends being hosted: the exit observers are called, and from now on the loop is run as any other. Stop watching
    /// the descriptor first; the loop may run or be hosted again. Called inside a pass, it takes effect when that returns,
    /// which returns `stopped`; inside a run between two passes, when that returns.
    ///
    /// - Precondition: As for `hostedPass()`.
    public func endHosting() {
        let isInPass = requireHosted("endHosting").depth > 0
        guard !isInPass else {
            hosting?.endsAfterPass = true
            return
        }
        let mode = hosting!.run.mode
        // An observer that does the same has done it: it is inside.
        hosting!.depth += 1
        let thread = ThreadLoops.current
        let runningLoop = thread.runningLoop
        thread.runningLoop = self
        defer { thread.runningLoop = runningLoop }
        endRest(in: mode)
        notify(.exit, in: mode)
        stopBeingHosted()
    }

    // MARK: The passes

    @discardableResult
    private func requireHosted(_ call: String) -> Hosting {
        requireOwnThread(call)
        guard let hosting else {
            fatalError("RunLoopKit: Loop.\(call) was called on a loop that is not hosted. Call beginHosting(_:) first.")
        }
        return hosting
    }

    private func hostedPasses(until budgetEnd: Int64?) -> HostedResult {
        let mode = requireHosted("hostedPass").run.mode
        let thread = ThreadLoops.current
        let runningLoop = thread.runningLoop
        thread.runningLoop = self
        defer { thread.runningLoop = runningLoop }

        hosting!.depth += 1
        // A handler may run the host: each has its own.
        let outerBudgetEnd = hosting!.run.budgetEnd
        hosting!.run.budgetEnd = budgetEnd
        defer { hosting?.run.budgetEnd = outerBudgetEnd }
        let interrupted = interruptRun()
        waker.hostHasCome()
        endRest(in: mode)
        var result: HostedResult
        repeat {
            var run = hosting!.run
            _ = pass(&run)
            // A handler may have run the host, which then has slept.
            endRest(in: mode)
            hosting!.run.hasJustDrainedMainQueue = run.hasJustDrainedMainQueue
            result = outcome(in: mode)
        } while result == .more && budgetEnd.map { clock.nanoseconds < $0 } ?? false
        switch result {
        case .idle, .finished: rest(in: mode)
        case .more: informHost(ofMore: true)
        // A host that goes on makes one more pass, in which the loop comes to rest. Not before: virtual time would move.
        case .stopped: informHost(ofMore: !hosting!.endsAfterPass || hasMore(in: mode))
        }
        hosting!.depth -= 1
        if let interrupted { resume(interrupted) }

        guard hosting!.endsAfterPass, hosting!.depth == 0 else { return result }
        endHosting()
        return .stopped
    }

    /// What a pass inside a handler of a run puts aside, and gives back.
    private struct InterruptedRun {
        var run: Hosting.InnermostRun
        let stopFlag: RunState
        let ignoredWakeUps: Bool
        let hasLookedAtWork: Bool
    }

    private func interruptRun() -> InterruptedRun? {
        guard let run = hosting!.innermostRun else { return nil }
        hosting!.innermostRun = nil
        return InterruptedRun(
            // Acquire: the run is going to see what the thread that stopped it did before.
            run: run, stopFlag: stopFlag.exchange(.running, ordering: .acquiring), ignoredWakeUps: ignoresWakeUps,
            hasLookedAtWork: hasLookedAtWork)
    }

    private func resume(_ interrupted: InterruptedRun) {
        hosting!.innermostRun = interrupted.run
        hosting!.innermostRun!.hasLostWakeUps = true
        // A stop that came after the passes had looked is the run's too. Relaxed: for this thread itself.
        if interrupted.stopFlag == .stopped { stopFlag.store(.stopped, ordering: .relaxed) }
        ignoresWakeUps = interrupted.ignoredWakeUps
        hasLookedAtWork = interrupted.hasLookedAtWork
    }

    /// To be called before a run sleeps: it must not, if it was stopped or has got work and a pass of the host has taken
    /// the wake-up.
    func makeUpForHostedPasses(in mode: ModeState) {
        guard hosting?.innermostRun?.hasLostWakeUps == true else { return }
        hosting!.innermostRun!.hasLostWakeUps = false
        if isStopped || lock.withLock({ hasPosted(mode) }) { waker.wake() }
    }

    private func outcome(in mode: ModeState) -> HostedResult {
        let hasStopped = stopFlag.compareExchange(
            // Acquire: what the thread that stopped us did before is seen.
            expected: .stopped, desired: .running, successOrdering: .acquiring, failureOrdering: .relaxed
        ).exchanged
        if hasStopped || isStopped || hosting!.endsAfterPass { return .stopped }
        if hasMore(in: mode) { return .more }
        return lock.withLock { hasWork(mode) } ? .idle : .finished
    }

    /// Whether another pass would find something to do at once, also what nobody woke the loop for: a run would not
    /// sleep before it has looked.
    private func hasMore(in mode: ModeState) -> Bool {
        // What is posted comes first in the next pass, and may have more become ready: the kernel is asked after it.
        if hasReady(mode) || lock.withLock({ hasPosted(mode) }) { return true }
        // All edges are taken from the descriptor: from now on it becomes readable only for what comes later.
        fetch(in: hosting!.run, polls: true)
        // Who woke the loop since the pass wants another one, which begins by looking at everything, as in a run: then
        // nothing is left to serve of the wake-up.
        let wasWoken = mode.ready.forgetWakeUp()
        // In any case, or the next pass would take for news what has been fetched.
        return hasReady(mode) || wasWoken || lock.withLock { hasPosted(mode) }
    }

    /// Whether blocks or version-0 sources wait. The lock is held.
    private func hasPosted(_ mode: ModeState) -> Bool {
        blocks.hasBlock(for: mode.mode, common: commonModes) || mode.source0s.contains { $0.isSignalled }
    }

    // MARK: The rest between passes

    /// Hands the sleeping over to the host.
    private func rest(in mode: ModeState) {
        // First, since an observer may run the host.
        informHost()
        notify(.beforeWaiting, in: mode)
        hosting!.rests = true
        waiting.store(true, ordering: .relaxed)
        guard case .virtual(let clock) = clock else { return }
        let deadline = lock.withLock { Sleep(in: mode).deadline }
        // False: the time has gone there already. Inside a handler the loop is busy, whatever its host does.
        let isInHandler = hosting!.depth > 1
        if !isInHandler,
            !clock.sleep(self, until: deadline, on: mode.poller!.descriptor, blocksThread: false)
        {
            waker.nudge()
        }
    }

    private func endRest(in mode: ModeState) {
        guard hosting!.rests else { return }
        hosting!.rests = false
        waiting.store(false, ordering: .relaxed)
        if case .virtual(let clock) = clock { clock.awake(self) }
        notify(.afterWaiting, in: mode)
    }

    /// A run within the hosting begins, in a handler or between two passes: the host does not sleep.
    ///
    /// - Returns: The run that it is nested in, if not in a pass.
    func beginRunWithinHosting() -> Hosting.InnermostRun? {
        guard let mode = hosting?.run.mode else { return nil }
        hosting!.depth += 1
        endRest(in: mode)
        defer { hosting!.innermostRun = Hosting.InnermostRun() }
        return hosting!.innermostRun
    }

    /// What the host waits on knows nothing of what the run has fetched, or armed. After a run between two passes there
    /// has to be another pass, in which the loop comes to rest.
    func endRunWithinHosting(of outer: Outer) {
        guard hosting != nil else { return }
        hosting!.depth -= 1
        hosting!.innermostRun = outer.runWithinHosting
        let isBetweenPasses = hosting!.depth == 0
        informHost(ofMore: isBetweenPasses)
        if isBetweenPasses, hosting!.endsAfterPass { endHosting() }
    }

    /// Sees to it that the host hears of what is ready, and of the next timer. To be called whenever the host may come
    /// to sleep: at the end of a pass, and as soon as the loop has fetched something or armed the timerfd, since the
    /// handlers that come then might run the host.
    func informHost(ofMore hasMore: Bool = false) {
        guard let mode = hosting?.run.mode else { return }
        let isDue = lock.withLock {
            arm(for: Sleep(in: mode))
            return isTimerDue(in: mode)
        }
        if hasMore || isDue || hasReady(mode) { waker.nudge() }
    }

    func stopBeingHosted() {
        let thread = ThreadLoops.current
        let runningLoop = thread.runningLoop
        defer { thread.runningLoop = runningLoop }
        let outer = hosting!.outer
        hosting = nil
        waiting.store(false, ordering: .relaxed)
        lock.withLock { sleeping = nil }
        waker.setHosted(false)
        if case .virtual(let clock) = clock { clock.awake(self) }
        leave(for: outer)
    }
}
