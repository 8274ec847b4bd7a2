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
        return run(mode, returnAfterSourceHandled) { now in
            if nanoseconds <= 0 { return .onePass }
            return nanoseconds > Int64.max / 2 ? .forever : .until(now.addingSaturating(nanoseconds))
        }
    }

    /// As `run(mode:for:returnAfterSourceHandled:)`, with an absolute time on the loop's clock: a time that is not in
    /// the future makes one pass that does not sleep, and `distantFuture` is for ever. Foundation:
    /// `RunLoop.run(mode:before:)`.
    @discardableResult
    public func run(
        mode: Mode = .default, until time: Instant, returnAfterSourceHandled: Bool = false
    ) -> RunResult {
        let isPast = time.nanoseconds <= clock.nanoseconds
        return run(mode, returnAfterSourceHandled) { _ in
            isPast ? .onePass : time == .distantFuture ? .forever : .until(time.nanoseconds)
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
        _ mode: Mode, _ returnsAfterSourceHandled: Bool, until limit: (_ now: Int64) -> Run.Limit
    ) -> RunResult {
        requireOwnThread("run")
        guard mode != .common else {
            _ = Loop.complaintAboutCommon
            return .finished
        }
        guard let mode = lock.withLock({ modeToRun(mode) }) else { return .finished }  // 0
        let (result, isEndedByClosing) = withRun(in: mode, returnsAfterSourceHandled: returnsAfterSourceHandled) {
            run in
            notify(.entry, in: mode)  // 1
            run.limit = limit(clock.nanoseconds)
            var result: RunResult? = isStopped ? .stopped : nil  // 2
            while result == nil { result = pass(run) }  // 3
            notify(.exit, in: mode)  // 4
            return (result!, self.isEndedByClosing)
        }
        // Not a run that returns for another reason: its caller has not learned of the closing.
        if result == .stopped, isEndedByClosing { callerKnowsOfClosing = true }
        return result
    }

    private static let complaintAboutCommon: Void = System.complain(
        "RunLoopKit: a loop cannot run in the mode 'common', which stands for a set of modes; run returned 'finished'. "
            + "Run in one of them, such as 'default'. (Said only once.)")

    /// A programming error that would corrupt the loop: there is no result to give.
    func requireOwnThread(_ call: String) {
        guard !isOnOwnThread else { return }
        if !process.isCurrent {
            fatalError(
                "RunLoopKit: Loop.\(call) was called in a forked child, on a loop of its parent's. Call exec or _exit "
                    + "there, or make what the child needs anew: Loop.current, a LoopThread.")
        }
        if self === Loop.main {
            fatalError(
                "RunLoopKit: Loop.main.\(call) was called on a thread that is not the process's initial one. An async "
                    + "main function leaves that thread at its first real suspension: run the main loop in a main "
                    + "function (or main.swift) without 'async', and start tasks from there.")
        }
        fatalError(
            "RunLoopKit: Loop.\(call) was called on a thread that the loop does not belong to. Run Loop.current there, "
                + "or hand work to this loop with perform(in:_:).")
    }

    // MARK: Descriptors

    /// The state of a mode that has something to wait for, ready to run; nil without.
    private func modeToRun(_ mode: Mode) -> ModeState? {
        lock.assertHeld()
        do {
            try findMainQueue()
            guard !hasEnded, let state = existingState(for: mode), hasAnythingToWaitFor(in: state) else { return nil }
            try open(state)
            return state
        } catch {
            fatalError("RunLoopKit: running a loop in mode \(mode): \(error). Loop.prepare(_:) throws this instead.")
        }
    }

    func findMainQueue() throws(LoopError) {
        guard own.mainQueue == nil, isMain, self === Loop.main else { return }
        // libdispatch makes an eventfd now, and crashes when it cannot: an error is better.
        _ = try EventFD()
        own.mainQueue = MainQueue()
    }

    /// Makes what descriptors are missing. The lock is held.
    private func open(_ state: ModeState) throws(LoopError) {
        lock.assertHeld()
        try waker.open()
        if timerFDs.suspending == nil, !clock.isVirtual { timerFDs.suspending = try TimerFD(.suspending) }
        try state.open(
            wakeUp: waker.descriptor, timer: timerFDs.suspending?.descriptor,
            continuousTimer: timerFDs.continuous?.descriptor,
            mainQueue: own.mainQueue?.wakeUpDescriptor)
    }
}
