extension Loop {
    /// Runs the default mode repeatedly until the loop is stopped or nothing is left in that mode. CF: `CFRunLoopRun`.
    /// Foundation: `RunLoop.run()`, which no stop ends.
    ///
    /// It blocks the thread. To run a *block* on the loop's thread from a task, call
    /// ``Loop/run(in:for:label:file:line:_:)``: `try await loop.run { … }`.
    ///
    /// - *Nothing in the mode:* it returns at once, which may be reported as ``Loop/Mistake/emptyRun(mode:others:)``. A
    ///   ``Loop/PortSource`` in the mode keeps a run going, as in every ``LoopThread``.
    /// - *On ``Loop/main``* a run never finishes for lack of work, since it serves the main queue (except in programs
    ///   without libdispatch). Call ``Loop/stop()``; or ``Loop/runUntilFinished(in:)``; or give a limit with
    ///   ``Loop/run(mode:for:returnAfterSourceHandled:)``.
    ///
    /// - Precondition: Called on the loop's own thread; traps elsewhere.
    public func run() {
        if !hasEverRun, isOnOwnThread, exchange(&own.hasLostStop, with: false) {
            Mistakes.shared.report(.stopBeforeRun(thread: threadName))
        }
        while true {
            switch run(mode: .default, for: .nanoseconds(Int64.max)) {
            case .stopped, .finished: return
            case .timedOut, .handledSource: continue
            }
        }
    }

    /// Runs the loop in a mode until nothing is left there, even on ``Loop/main``, where ``Loop/run()`` goes on for
    /// what the main queue may get. So a program ends as Node's programs do, and as `uv_run` returns.
    ///
    /// It runs the jobs of the main queue as every run of ``Loop/main`` does. It ends when the mode has neither a
    /// source nor a timer that ``Loop/Item/keepsRunsGoing``, and no block and no job is ready.
    ///
    /// - *Of tasks it knows nothing:* it ends while a task waits, unless what the task waits for is in the mode, such
    ///   as a timer. Even then it may end as soon as the timer has fired, since a task that goes on passes through
    ///   another thread. A program that waits for its tasks is the body of ``Loop/runMain(_:)``. Or the task keeps a
    ///   ``Loop/PortSource`` in the mode, which it invalidates, before it calls ``Loop/wakeUp()``.
    /// - *Another thread* that removes the last item does not end the sleep: call ``Loop/wakeUp()``.
    /// - *On a ``LoopThread``* only a stop ends it in common modes, which have the port that keeps the thread alive.
    /// - *Inside a handler* it does not end while the timer or source that calls the handler is in the mode, unless
    ///   that is one of the background.
    ///
    /// - Parameter mode: A common mode, such as the default one, to serve the main queue.
    /// - Returns: `finished`; or `stopped`, if a stop came first.
    /// - Precondition: Called on the loop's own thread; traps elsewhere.
    @discardableResult
    public func runUntilFinished(in mode: Mode = .default) -> RunResult {
        requireOwnThread("runUntilFinished(in:)")
        // On a main loop that has not run yet, only the run finds the main queue.
        let state = lock.withLock { existingState(for: mode) }
        let mayHaveMainQueue = isMain && (state != nil || mode.namesCommonModes)
        guard mayHaveMainQueue || state.map({ !isNothingLeft(in: $0) }) ?? false else { return .finished }
        return run(mode, false, .limit(.forever)) {
            innermostRun!.condition = .nothingIsLeft
            return isNothingLeft(in: innermostRun!.mode)
        }
    }

    /// Runs the loop in a mode: calls the entry observers, makes passes until there is a reason to return, and calls
    /// the exit observers. A handler may call this: its run is nested in the run that called the handler.
    ///
    /// If there is nothing to wait for, it returns `finished` at once, without calling any observer:
    ///
    /// - The mode has nothing of what ``Loop/RunResult/finished`` names. (Items of `common` are only in common modes:
    ///   ``Loop/addCommonMode(_:)``.) A run with time to wait may be reported as
    ///   ``Loop/Mistake/emptyRun(mode:others:)``.
    /// - The mode is `common`, in which no loop can run; reported once on stderr.
    /// - The loop has ended.
    ///
    /// CF: `CFRunLoopRunInMode`. Foundation: `RunLoop.run(until:)` with a duration; with `returnAfterSourceHandled:
    /// true`, `RunLoop.run(mode:before:)`.
    ///
    /// - Parameters:
    ///   - mode: The mode whose sources, timers and observers the run serves.
    ///   - duration: The run returns `timedOut` after this time. If zero or less, it makes one pass, which does not
    ///     sleep: <doc:HowARunLoopWorks#One-pass>. More than about 146 years is forever.
    ///   - returnAfterSourceHandled: Whether to return `handledSource` after the first pass that performs a source.
    /// - Returns: Why the run ended.
    /// - Precondition: Called on the loop's own thread; traps elsewhere, even if the loop has ended. The first run in a
    ///   mode needs up to three descriptors: an epoll set, and for the first mode an eventfd and a timerfd. The main
    ///   queue of ``Loop/main`` has two more. Without them the run traps; ``Loop/prepare(_:)`` makes them in advance,
    ///   and throws instead.
    @discardableResult
    public func run(
        mode: Mode = .default, for duration: Duration, returnAfterSourceHandled: Bool = false
    ) -> RunResult {
        if duration.attoseconds <= 0 { return run(mode, returnAfterSourceHandled, .limit(.onePass)) }
        let nanoseconds = duration.wholeNanoseconds
        return run(
            mode, returnAfterSourceHandled, nanoseconds > Int64.max / 2 ? .limit(.forever) : .duration(nanoseconds))
    }

    /// Runs the loop in a mode as ``Loop/run(mode:for:returnAfterSourceHandled:)`` does, until an absolute time on the
    /// loop's clock. If the time is not in the future, it makes one pass that does not sleep; `distantFuture` is
    /// forever. Foundation: `RunLoop.run(until:)`; with `returnAfterSourceHandled: true`, `RunLoop.run(mode:before:)`.
    @discardableResult
    public func run(
        mode: Mode = .default, until time: Instant, returnAfterSourceHandled: Bool = false
    ) -> RunResult {
        let isPast = time.nanoseconds <= clock.nanoseconds
        let limit: Run.Limit = isPast ? .onePass : time == .distantFuture ? .forever : .until(time.nanoseconds)
        return run(mode, returnAfterSourceHandled, .limit(limit))
    }

    /// Makes the descriptors that a run in `mode` needs, so that the first run there cannot fail. On the loop's own
    /// thread; traps elsewhere.
    ///
    /// It creates the mode. For `common`, and in an ended loop, it does nothing. It does not make the timerfds of the
    /// continuous and the wall clock. A loop's first timer on such a clock makes its own when it is added, and traps if
    /// the process has no descriptor left.
    ///
    /// - Throws: ``LoopError`` from `eventfd`, `timerfd_create`, `epoll_create1` or `epoll_ctl`, usually because the
    ///   process has no descriptor left (EMFILE). The call may be repeated.
    public func prepare(_ mode: Mode) throws(LoopError) {
        requireOwnThread("prepare(_:)")
        try lock.withLock { () throws(LoopError) in
            guard !hasEnded, !mode.namesCommonModes else { return }
            try findMainQueue()
            try open(state(for: mode))
        }
    }

    /// As `prepare(.default)`, for a loop whose thread has not started. The first sleep that ends in time makes the
    /// timerfd: see `openOwnTimer()`.
    func prepareForNewThread() throws(LoopError) {
        try lock.withLock { () throws(LoopError) in
            try waker.open()
            try open(state(for: .default), mainQueue: nil)
        }
    }

    /// Runs the loop until `isOver` returns true, which it asks before each pass. Returns earlier for the usual
    /// reasons.
    func run(_ mode: Mode, unless isOver: () -> Bool) -> RunResult {
        run(mode, false, .limit(.forever)) {
            innermostRun!.condition = .ofCaller
            return isOver()
        }
    }

    /// Runs the loop for one pass, which does not sleep. Returns false if the run ended before its pass: passes of runs
    /// that are nested in it do not count.
    func makeOnePass(in mode: Mode) -> Bool {
        var isMade = false
        _ = run(mode, false, .limit(.onePass)) {
            isMade = true
            return false
        }
        return isMade
    }

    /// How long a run may take, in its caller's words.
    private enum RunTime {
        case limit(Run.Limit)
        /// In nanoseconds, from when the entry observers have been called.
        case duration(Int64)

        /// Called when they have been.
        @inline(__always)
        func limit(on clock: LoopTime) -> Run.Limit {
            switch self {
            case .limit(let limit): limit
            case .duration(let nanoseconds): .until(clock.nanoseconds.addingSaturating(nanoseconds))
            }
        }
    }

    private func run(
        _ mode: Mode, _ returnsAfterSourceHandled: Bool, _ time: RunTime, unless isOver: () -> Bool = { false }
    ) -> RunResult {
        requireOwnThread("run")
        // A host that finds no note sleeps: its loop keeps them until the run begins.
        if own.host == nil { forgetWakeUps() }
        let held = lock.hold()
        // Apart, so that the default mode, which is constant, is not retained: 630 instructions for a run of one pass
        // instead of 675.
        if mode.isDefault {
            return run(in: defaultState, returnsAfterSourceHandled, time, unless: isOver, unlocking: held)
        }
        if let state = existingOtherState(for: mode) {
            return run(in: state, returnsAfterSourceHandled, time, unless: isOver, unlocking: held)
        }
        lock.unlock(held)
        reportEmptyRun(in: mode, time)  // 0
        return .finished
    }

    @inline(__always)
    private func run(
        in mode: ModeState, _ returnsAfterSourceHandled: Bool, _ time: RunTime, unless isOver: () -> Bool,
        unlocking held: consuming Lock.Held
    ) -> RunResult {
        guard prepareToRun(in: mode) else {  // 0
            lock.unlock(held)
            reportEmptyRun(in: mode.mode, time)
            return .finished
        }
        if own.host != nil {
            guard let informed = informHostAndPrepare(in: mode, unlocking: held) else { return .finished }
            held = informed
        }
        let entered = enterRun(in: mode, returnsAfterSourceHandled: returnsAfterSourceHandled, unlocking: held)
        // Without a retain: the stack keeps the run.
        let (result, isEndedByClosing) = Unmanaged.passUnretained(innermostRun!)._withUnsafeGuaranteedRef {
            makePasses(of: $0, time, unless: isOver)
        }
        leaveRun(entered)
        // The caller of a run that returns for another reason has not learned of the closing.
        if result == .stopped, isEndedByClosing { callerKnowsOfClosing = true }
        return result
    }

    /// Informs the host. Returns nil if the mode then has nothing to wait for: an observer, or another thread, may have
    /// removed the last item.
    @inline(never)
    private func informHostAndPrepare(in mode: ModeState, unlocking held: consuming Lock.Held) -> Lock.Held? {
        let informed = informHostOfBeginning(unlocking: held)
        guard prepareToRun(in: mode) else {
            lock.unlock(informed)
            own.host?.runHasEnded(in: self)
            return nil
        }
        return informed
    }

    /// Steps 1 to 4.
    @inline(__always)
    private func makePasses(
        of run: Run, _ time: RunTime, unless isOver: () -> Bool
    ) -> (result: RunResult, isEndedByClosing: Bool) {
        let mode = run.mode
        notify(.entry, in: mode)  // 1
        run.limit = time.limit(on: clock)
        var result: RunResult? = isStopped ? .stopped : nil  // 2
        while result == nil { result = isOver() ? run.condition.result : pass(run) }  // 3
        notify(.exit, in: mode)  // 4
        return (result!, isEndedByClosing)
    }

    /// Reports a run in `common`, and a run with time to wait that had nothing to wait for, unless something was in its
    /// mode before.
    @inline(never)
    private func reportEmptyRun(in mode: Mode, _ time: RunTime) {
        if mode.namesCommonModes { return Mistakes.shared.report(.runInCommonModes) }
        if case .limit(.onePass) = time { return }
        let others = lock.withLock { () -> [Mode]? in
            guard !hasEnded else { return nil }
            if let state = existingState(for: mode) {
                // The default mode always exists. In virtual time, tests run loops that may have nothing to do.
                guard mode.isDefault, !state.isOpen, !clock.isVirtual else { return nil }
            }
            return modesWithItems.filter(hasAnythingToWaitFor(in:)).map(\.mode)
        }
        if let others { Mistakes.shared.report(.emptyRun(mode: mode, others: others)) }
    }

    /// Traps unless the caller is on the loop's thread: a programming error that would corrupt the loop.
    @inline(__always)
    func requireOwnThread(_ call: StaticString) { if !isOnOwnThread { reportOtherThread(call) } }

    @inline(never)
    private func reportOtherThread(_ call: StaticString) -> Never {
        if !process.isCurrent {
            fatalError(
                "RunLoopKit: Loop.\(call) was called in a forked child, on a loop of its parent's. Call exec or _exit "
                    + "there, or use what is the child's own: Loop.main, Loop.current, a LoopThread that it makes.")
        }
        if isMain {
            fatalError(
                "RunLoopKit: Loop.main.\(call) was called on a thread that is not the process's initial one. An async "
                    + "main function leaves that thread at its first real suspension: give the program to "
                    + "Loop.runMain { … }, or run the main loop and start tasks from there, in a main function (or "
                    + "main.swift) without 'async'.")
        }
        fatalError(
            "RunLoopKit: Loop.\(call) was called on a thread that the loop does not belong to. Run Loop.current there, "
                + "or hand work to this loop with perform(in:_:).")
    }

    // MARK: Descriptors

    /// Opens the descriptors of a mode, if it has anything to wait for. Returns whether it has.
    @inline(__always)
    private func prepareToRun(in mode: ModeState) -> Bool {
        lock.assertHeld()
        do {
            try findMainQueue()
            guard !hasEnded, hasAnythingToWaitFor(in: mode) else { return false }
            if !mode.isOpen { try open(mode) }
            return true
        } catch {
            fatalError(
                "RunLoopKit: running a loop in mode \(mode.mode): \(error). Loop.prepare(_:) throws this instead.")
        }
    }

    @inline(__always)
    func findMainQueue() throws(LoopError) {
        if isMain, own.mainQueue == nil { try findMainQueueSlowly() }
    }

    @inline(never)
    private func findMainQueueSlowly() throws(LoopError) {
        own.mainQueue = try MainQueue()
    }

    /// Makes the descriptors that are missing.
    private func open(_ state: ModeState) throws(LoopError) {
        lock.assertHeld()
        try waker.open()
        if timerFDs.suspending == nil, !clock.isVirtual {
            timerFDs.suspending = try makeTimer(.suspending, ReadyList.timers)
        }
        try open(state, mainQueue: isMain ? own.mainQueue?.wakeUpDescriptor : nil)
    }

    private func open(_ state: ModeState, mainQueue: Descriptor?) throws(LoopError) {
        try state.open(wakeUp: waker.descriptor, timers: watchedTimers, mainQueue: mainQueue)
    }
}
