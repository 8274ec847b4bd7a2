/// One run of a loop: what `Loop.run(mode:…)` was called with. Runs nest.
struct Run {
    let mode: ModeState
    /// When the run times out; nil for never. Counted from after the entry observers.
    let deadline: Int64?
    /// With a timeout of zero or less the run never sleeps, and ends after one pass.
    let onlyPolls: Bool
    let returnsAfterSourceHandled: Bool
    /// Whether the last thing that the run served was the main queue. At first, so that a run begins with a look at
    /// everything.
    var hasJustDrainedMainQueue = true
    /// When a hosted pass has to leave what is ready for the next one; nil for never.
    var budgetEnd: Int64?
}

extension Loop {
    /// Runs the default mode again and again until the loop is stopped or nothing is left in that mode. CF:
    /// `CFRunLoopRun`.
    ///
    /// On `Loop.main` a run never finishes for lack of work, since it serves the main queue (but for programs without
    /// libdispatch): `stop()` it, or give a limit with `run(mode:for:)`. See `Loop.main`.
    ///
    /// - Precondition: Called on the loop's own thread; traps elsewhere.
    public func run() {
        while true {
            switch run(mode: .default, for: .nanoseconds(Int64.max)) {
            case .stopped, .finished: return
            case .timedOut, .handledSource: continue
            }
        }
    }

    /// Runs the loop in a mode: entry observers, then passes until there is a reason to return, then exit observers.
    ///
    /// Returns `finished` at once, without calling any observer, if there is nothing to wait for: the mode is unknown,
    /// it is `common` (in which nothing can run; said once on stderr), it has no source, no timer and no posted block,
    /// or the loop has ended. May be called by a handler: the run is nested in the one that called the handler. CF:
    /// `CFRunLoopRunInMode`.
    ///
    /// - Parameters:
    ///   - mode: The mode whose sources, timers and observers are looked at: the default one unless another is named.
    ///   - duration: The run returns `timedOut` after this time. Zero or less: after one pass, which does not sleep.
    ///     What is longer than about 146 years is for ever.
    ///   - returnAfterSourceHandled: Return `handledSource` after the first pass that performed a source.
    /// - Returns: Why the run ended.
    /// - Precondition: Called on the loop's own thread; traps elsewhere. The first run in a mode needs up to three
    ///   descriptors; without them it traps and says so. `prepare(_:)` gets them in advance and throws instead.
    @discardableResult
    public func run(
        mode: Mode = .default, for duration: Duration, returnAfterSourceHandled: Bool = false
    ) -> RunResult {
        let nanoseconds = duration.wholeNanoseconds
        return run(mode, returnAfterSourceHandled, onlyPolls: nanoseconds <= 0) { now in
            nanoseconds > Int64.max / 2 ? nil : now.addingSaturating(nanoseconds)
        }
    }

    /// As `run(mode:for:returnAfterSourceHandled:)`, with an absolute time on the loop's clock: a time that is not in
    /// the future makes one pass that does not sleep, and `distantFuture` is for ever. Foundation:
    /// `RunLoop.run(mode:before:)`.
    @discardableResult
    public func run(
        mode: Mode = .default, until time: Instant, returnAfterSourceHandled: Bool = false
    ) -> RunResult {
        run(mode, returnAfterSourceHandled, onlyPolls: time.nanoseconds <= clock.nanoseconds) { _ in
            time == .distantFuture ? nil : time.nanoseconds
        }
    }

    /// Gets the descriptors that running in `mode` takes, so that the first run there cannot fail. The mode
    /// exists from now on. Does nothing for `common`, and in an ended loop. On the loop's own thread; traps elsewhere.
    ///
    /// - Throws: `LoopError` from `eventfd`, `timerfd_create`, `epoll_create1` or `epoll_ctl`, usually because the
    ///   process has no descriptor left (EMFILE). Nothing is lost: it may be tried again.
    public func prepare(_ mode: Mode) throws(LoopError) {
        requireOwnThread("prepare(_:)")
        try lock.withLock { () throws(LoopError) in
            guard !hasEnded, mode != .common else { return }
            try findMainQueue()
            try open(state(for: mode))
        }
    }

    private func run(
        _ mode: Mode, _ returnAfterSourceHandled: Bool, onlyPolls: Bool, deadline: (_ now: Int64) -> Int64?
    ) -> RunResult {
        requireOwnThread("run")
        guard mode != .common else {
            _ = Loop.complaintAboutCommon
            return .finished
        }
        // Step 0: nothing to wait for.
        guard let state = lock.withLock({ stateToRun(mode) }) else { return .finished }

        let outer = enter(state)
        notify(.entry, in: state)  // 1
        var run = Run(
            mode: state, deadline: onlyPolls ? nil : deadline(clock.nanoseconds), onlyPolls: onlyPolls,
            returnsAfterSourceHandled: returnAfterSourceHandled)
        var result: RunResult? = isStopped ? .stopped : nil  // 2
        while result == nil { result = pass(&run) }  // 3
        notify(.exit, in: state)  // 4
        // Not a run that returns for another reason just as the closing comes: its beginner has not learned of it.
        let tellsOfClosing = result == .stopped && isEndedByClosing
        leave(for: outer)
        if tellsOfClosing { closing.isKnown = true }
        return result!
    }

    /// Acquire: what the thread that stopped us did before is seen.
    var isStopped: Bool { stopFlag.load(ordering: .acquiring) == .stopped || isEndedByClosing }

    private var isEndedByClosing: Bool { isClosing.load(ordering: .acquiring) && !closing.isOutlived }

    private static let complaintAboutCommon: Void = System.complain(
        "RunLoopKit: a loop cannot run in the mode 'common', which stands for a set of modes; run returned 'finished'. Run in one of "
            + "them, such as 'default'. (Said only once.)")

    /// A programming error that would corrupt the loop: there is no result to give.
    func requireOwnThread(_ call: String) {
        guard !isOnOwnThread else { return }
        if !process.isCurrent {
            fatalError(
                "RunLoopKit: Loop.\(call) was called in a forked child, on a loop of its parent's. Call exec or _exit there, or make "
                    + "what the child needs anew: Loop.current, a LoopThread.")
        }
        if self === Loop.main {
            fatalError(
                "RunLoopKit: Loop.main.\(call) was called on a thread that is not the process's initial one. An async main "
                    + "function leaves that thread at its first real suspension: run the main loop in a main function (or "
                    + "main.swift) without 'async', and start tasks from there.")
        }
        fatalError(
            "RunLoopKit: Loop.\(call) was called on a thread that the loop does not belong to. Run Loop.current there, or hand "
                + "work to this loop with perform(in:_:).")
    }

    // MARK: Beginning and end of a run

    private func stateToRun(_ mode: Mode) -> ModeState? {
        do {
            try findMainQueue()
            guard !hasEnded, let state = existingState(for: mode), hasWork(state) else { return nil }
            try open(state)
            return state
        } catch {
            fatalError("RunLoopKit: running a loop in mode \(mode): \(error). Loop.prepare(_:) throws this instead.")
        }
    }

    func findMainQueue() throws(LoopError) {
        guard mainQueue == nil, self === Loop.main else { return }
        // libdispatch makes an eventfd now, and crashes when it cannot: an error is better.
        _ = try EventFD()
        mainQueue = MainQueue()
    }

    /// Makes what descriptors are missing. The lock is held.
    private func open(_ state: ModeState) throws(LoopError) {
        try waker.open()
        if timerFD == nil, !clock.isVirtual { timerFD = try TimerFD(.suspending) }
        try state.open(
            wakeUp: waker.descriptor, timer: timerFD?.descriptor, continuousTimer: continuousTimerFD?.descriptor,
            mainQueue: mainQueue?.wakeUpDescriptor)
    }

    /// What a run saves of the one it is nested in, and restores.
    struct Outer {
        let state: ModeState?
        let stopFlag: RunState
        let ignoredWakeUps: Bool
        let hasLookedAtWork: Bool
        var runningLoop: Loop?
        let informsClock: Bool
        let wasWoken: Bool
        let closing: Closing
        /// Of a hosted loop: nil for a pass.
        let runWithinHosting: Hosting.InnermostRun?
    }

    func enter(_ state: ModeState) -> Outer {
        let runWithinHosting = beginRunWithinHosting()
        let outerState = lock.withLock {
            let outer = currentState
            currentState = state
            return outer
        }
        let thread = ThreadLoops.current
        let informsClock = outerState == nil && !keepsClockInformed
        if informsClock, case .virtual(let clock) = clock { clock.beginRun(of: self) }
        defer { thread.runningLoop = self }
        let outer = Outer(
            state: outerState, stopFlag: stopFlag.exchange(.running, ordering: .acquiring),
            ignoredWakeUps: ignoresWakeUps, hasLookedAtWork: hasLookedAtWork, runningLoop: thread.runningLoop,
            informsClock: informsClock, wasWoken: wasWoken, closing: closing, runWithinHosting: runWithinHosting)
        closing = Closing(isOutlived: closing.isKnown)
        stopIgnoringWakeUps()
        // A wake-up that was never served concerned an earlier run.
        if outerState == nil { for mode in lock.withLock({ modeStates }) { mode.ready.forgetWakeUp() } }
        wasWoken = false
        hasLookedAtWork = false
        return outer
    }

    /// Forgets the wake-ups of the time in which they were ignored.
    func stopIgnoringWakeUps() {
        guard ignoresWakeUps else { return }
        // An outer run may need to know: see leave(for:).
        if waker.forget() { wasWoken = true }
        ignoresWakeUps = false
        // A stop that came since the last look at it has had its wake-up forgotten with the others.
        if isStopped { waker.wake() }
    }

    func leave(for outer: Outer) {
        // Wake-ups that this run would have forgotten are not for the outer one either.
        if ignoresWakeUps, !outer.ignoredWakeUps, waker.forget() { wasWoken = true }
        closing = outer.closing
        stopFlag.store(outer.stopFlag, ordering: .releasing)
        let outerHasWork = lock.withLock {
            currentState = outer.state
            guard let state = outer.state, wasWoken else { return false }
            return blocks.hasBlock(for: state.mode, common: commonModes)
                || state.source0s.contains { $0.pendingSignal != 0 }
        }
        // Somebody woke the loop while the inner run had it, for work that only the outer run can do, or to stop that
        // too. The wake-up is spent; the outer run needs one.
        if (outerHasWork && outer.hasLookedAtWork) || isStopped { waker.wake() }
        wasWoken = wasWoken || outer.wasWoken
        ignoresWakeUps = outer.ignoredWakeUps
        hasLookedAtWork = outer.hasLookedAtWork
        ThreadLoops.current.runningLoop = outer.runningLoop
        if outer.informsClock, case .virtual(let clock) = clock { clock.endRun(of: self) }
        endRunWithinHosting(of: outer)
    }
}
