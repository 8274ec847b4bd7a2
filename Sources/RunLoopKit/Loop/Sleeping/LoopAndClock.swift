// What a loop and its clock know of each other.

extension Waker: Wakeable {}

extension Loop: ClockedLoop {
    var isInRun: Bool { currentMode != nil }

    var wakeable: any Wakeable { waker }

    var nextWakeUpTime: Int64? {
        lock.withLock {
            guard let state = existingState(for: .default) else { return nil }
            let deadline = nextSleep(in: state).deadline
            return deadline == TimerHeap.never ? nil : deadline
        }
    }

    var hasWorkNow: Bool { hasWorkNow(in: .default) }

    var passCount: Int { tally.passes.load(ordering: .relaxed) }

    // A `LoopThread`'s is about to run, or has ended.
    var isServed: Bool { isOnOwnThread || isOfLoopThread || isInRun }

    func reportIfUnserved(after start: Int64, until end: Int64) {
        guard !isServed, let due = nextWakeUpTime, due > start, due <= end else { return }
        Mistakes.shared.report(.advanceWithoutRun(thread: threadName))
    }

    func followWallClock() { lock.withLock { wallClockWasSet() } }

    func serve(until target: Int64) {
        run(mode: .default, until: Instant(nanoseconds: target))
        // An observer may stop every run before its first pass.
        while hasWorkNow(in: .default), makeOnePass(in: .default) {}
    }

    /// Whether a pass in `mode` would find something to do at once. An empty mode gets no pass, and what its items have
    /// left in the list of ready ones stays there.
    private func hasWorkNow(in mode: Mode) -> Bool {
        lock.withLock {
            guard let state = existingState(for: mode), !hasEnded, hasAnythingToWaitFor(in: state) else {
                return false
            }
            return hasPostedWork(for: state)
                || isTimerDue(in: state)
                || !state.ready.isEmpty || state.hasMessages
                || state.isOpen && isReadable(state)
        }
    }

    /// Whether the epoll set has anything to report. The next pass then asks for it, even if it is a stale edge.
    private func isReadable(_ mode: ModeState) -> Bool {
        let isReadable = System.isReadable(mode.pollDescriptor)
        if isReadable { mode.edgeNote.set() }
        return isReadable
    }
}

extension Loop {
    /// Now, on the clock of a time base.
    public func now(_ base: TimeBase) -> Instant { Instant(nanoseconds: clock.nanoseconds(base)) }
}

extension VirtualClock {
    /// Moves the time forward. On a *manual* clock it moves from deadline to deadline, and each is served before the
    /// next, until `duration` has passed and the loops on the clock are idle. Zero or less only waits until they are
    /// idle.
    ///
    /// - *On a thread that runs no loop of this clock,* the call waits until the loops' threads have served their
    ///   deadlines.
    /// - *On a thread that owns loops of this clock, outside a run,* it runs them in the default mode.
    /// - *Inside a handler, on the thread of a hosted loop, on that of a ``LoopThread`` even at its end, and on an
    ///   automatic clock* it serves nothing: the time passes as if the caller had taken that long. A test makes a
    ///   handler slow this way. Loops of other threads serve what has become due at a moment that is not determined.
    /// - *While a hold exists* it waits: a caller that has one itself waits forever.
    ///
    /// A loop that its thread does not run serves nothing then. That is reported, unless the call itself serves
    /// nothing: ``Loop/Mistake/advanceWithoutRun(thread:)``.
    public func advance(by duration: Duration) {
        advance(by: max(0, duration.wholeNanoseconds), on: ThreadLoops.currentID)
    }

    /// Another loop of its thread has to sleep before the time may jump.
    func beginRun(of loop: Loop) {
        beginRun(on: loop.owner)
        ThreadLoops.current.willRun(loop, in: self)
    }

    func endRun(of loop: Loop) {
        if loop.isOnOwnThread { ThreadLoops.current.hasRun(loop) }
        endRun(on: loop.owner)
    }
}
