// One pass of a run, as CFRunLoop makes it. This table is what "step 3.7" means anywhere in the library.
//
// | step | what happens |
// |---|---|
// | 0 | Without anything to wait for, the run returns `finished`, and no observer is called. |
// | 1 | The entry observers are called. |
// | 2 | A run that an entry observer stopped returns `stopped`. |
// | 3 | Passes, until one has a reason to return: |
// | 3.1 | Observers: beforeTimers, then beforeSources. |
// | 3.2 | The blocks that are posted for the mode. |
// | 3.3 | The version-0 sources that are signalled, by order, then by the time of their signals. |
// | 3.4 | If 3.3 performed one: blocks again. Such a pass polls; it does not sleep. |
// | 3.5 | On the main loop, a main queue that is ready is served next, at 3.9: the pass does not sleep. |
// | 3.6 | Unless the pass polls, observers: beforeWaiting. |
// | 3.7 | The loop waits until something is ready, or polls. |
// | 3.8 | Unless the pass polls, observers: afterWaiting. |
// | 3.9 | The one thing that is ready is served: due timers, the main queue, or one version-1 source. |
// | 3.10 | Blocks again. |
// | 3.11 | Reasons to return, in this order: a source was handled, if asked for; time is up; a stop; nothing is left. |
// | 4 | The exit observers are called. |

extension Loop {
    /// Steps 3.1 to 3.11. Returns the result of the run if the run ends with this pass.
    func pass(_ run: Run) -> RunResult? {
        let mode = run.mode
        guard beginPass(of: run) else { return result(of: run, hasHandledSource: false) }
        if mayNotify([.beforeTimers, .beforeSources], in: mode) {  // 3.1
            notify(.beforeTimers, in: mode)
            notify(.beforeSources, in: mode)
        }
        run.seenWakeUps = waker.takenWakeUps
        performBlocks(of: run)  // 3.2
        var hasHandledSource = performSource0s(of: run)  // 3.3
        if hasHandledSource { performBlocksIfInTime(of: run) }  // 3.4
        let ready = takesMainQueue(in: run) ? .mainQueue : wait(in: run, polls: hasHandledSource)  // 3.5
        run.ignoresWakeUps = true
        run.skipsMainQueueStep = false
        switch ready {  // 3.9
        case .nothing, .wakeUp: break
        case .timers: fireTimers(of: run)
        case .mainQueue:
            run.skipsMainQueueStep = true
            drainMainQueue()
            hasHandledSource = true
        case .source1(let ready):
            if performSource1(ready.source, ready.token, .fresh(ready.report.events), of: run) {
                hasHandledSource = true
            }
            if !mode.ready.isEmpty { performSource1sOfNextPasses(of: run) }
        }
        performBlocksIfInTime(of: run)  // 3.10
        run.heededWakeUps = waker.takenWakeUps
        return result(of: run, hasHandledSource: hasHandledSource)  // 3.11
    }

    /// Wake-ups that arrived since the last wait end no later wait, since the pass looks for all work.
    ///
    /// Returns false if nothing is left to wait for: a thread may have removed the last item after step 3.11 of the
    /// pass before, and its wake-up was for this.
    @inline(__always)
    private func beginPass(of run: Run) -> Bool {
        Tally.count(tally.passes)
        let wasWoken = run.ignoresWakeUps && waker.endWait()
        run.ignoresWakeUps = false
        if wasWoken { run.heededWakeUps = waker.takenWakeUps }
        return !wasWoken || run.mode.has(.sources) || lock.withLock { hasAnythingToWaitFor(in: run.mode) }
    }

    /// Steps 3.6 to 3.8.
    @inline(__always)
    private func wait(in run: Run, polls hasHandledSource: Bool) -> Ready {
        let polls = hasHandledSource || run.limit == .onePass
        if !polls { notify(.beforeWaiting, in: run.mode) }  // 3.6
        let ready = nextReady(in: run, polls: polls || mustLookAgain(insteadOfSleepIn: run))  // 3.7
        // The kernel's answer was consumed, so the host asks again. Timers that a poll has found are still due: `fire`
        // tells the host after it has moved each.
        if !(polls && ready.isTimers) { own.host?.mayHaveMore(in: self) }
        run.ignoresWakeUps = true
        guard !polls, notify(.afterWaiting, in: run.mode), case .source1(let source) = ready else {  // 3.8
            return ready
        }
        return lookAgain(at: source, in: run.mode)
    }

    /// Step 3.11.
    @inline(__always)
    private func result(of run: Run, hasHandledSource: Bool) -> RunResult? {
        if hasHandledSource, run.returnsAfterSourceHandled { return .handledSource }
        if isTimeUp(for: run) { return .timedOut }
        if isStopped { return .stopped }
        if run.mode.has(.sources) { return nil }
        return lock.withLock { hasAnythingToWaitFor(in: run.mode) } ? nil : .finished
    }

    func isTimeUp(for run: Run) -> Bool {
        switch run.limit {
        case .onePass: true
        case .until(let deadline): deadline <= clock.nanoseconds
        case .forever: false
        }
    }

    /// Whether a hosted pass has used up its budget. Checked after each callout, so the pass calls at least one handler
    /// of each kind.
    @inline(__always)
    func isSpent(_ run: Run?) -> Bool { run?.budgetEnd.map { $0 <= clock.nanoseconds } ?? false }

    // MARK: Observers

    /// Calls the observers of an activity that are in the mode now, in order. Observers that they add are called at the
    /// next activity. Observers that they remove are still called; those that they invalidate are not. Returns whether
    /// there were any.
    @discardableResult
    @inline(__always)
    func notify(_ activity: Activity, in mode: ModeState) -> Bool {
        if isMonitored.load(ordering: .relaxed) { notifyMonitors(of: activity, in: mode) }
        guard mode.has(.observers(of: activity)) else { return false }
        callObservers(of: activity, in: mode)
        return true
    }

    /// Whether any of these activities has an observer or a monitor.
    @inline(__always)
    private func mayNotify(_ activities: Activity, in mode: ModeState) -> Bool {
        isMonitored.load(ordering: .relaxed) || mode.has(.observers(of: activities))
    }

    @inline(never)
    private func notifyMonitors(of activity: Activity, in mode: ModeState) {
        guard waker.monitors.want(activity) else { return }
        notifyMonitors { $0.reached(activity, in: mode.mode) }
    }

    @inline(never)
    private func callObservers(of activity: Activity, in mode: ModeState) {
        lock.lock()
        if let observer = mode.observers.only(at: activity) {
            lock.unlock()
            return call(observer, at: activity)
        }
        // The array is a snapshot that costs nothing unless a thread changes the original.
        let entries = mode.observers.entries(for: activity)
        lock.unlock()
        for index in entries.indices {
            if let observer = entries[index].observer { call(observer, at: activity) }
        }
    }

    @inline(__always)
    private func call(_ observer: Observer, at activity: Activity) {
        guard observer.wants(activity) else { return }
        callOut(Callout(.observer, observer, at: activity)) {
            observer.requireActor(on: self)
            loopIsCallingOutToAnObserver(observer, activity)
        }
    }

    // MARK: Blocks

    /// Runs the blocks that are posted for the run's mode. Blocks that they post wait for the next block step. Blocks
    /// for which a budget leaves no time stay in their queue.
    @inline(__always)
    func performBlocks(of run: Run) {
        if queuedBlocks.load(ordering: .relaxed) > 0 { performBlocksSlowly(of: run) }
    }

    @inline(never)
    private func performBlocksSlowly(of run: Run) {
        var step = lock.withLock { beginBlockStep(of: run) }
        while let block = takeBlock(of: &step, for: run) {
            perform(block)
            if isSpent(run) { break }
        }
        end(step)
        own.host?.blockStepHasEnded(in: self)
    }

    @inline(__always)
    private func perform(_ block: PostedBlock) {
        if block.handle?.take() ?? true, !discardsBlocks {
            callOut(Callout(.block, place: block.handle?.place ?? .unknown, cause: block.handle?.number ?? 0)) {
                loopIsCallingOutToABlock(block.body)
            }
        }
    }

    @inline(__always)
    private func performBlocksIfInTime(of run: Run) { if !isSpent(run) { performBlocks(of: run) } }

    // MARK: Version-0 sources

    /// Performs the sources that are signalled now, by order, then by time of signal; only the first one if the run
    /// returns after a source.
    @inline(__always)
    private func performSource0s(of run: Run) -> Bool {
        !run.mode.signals.isEmpty && performSource0sSlowly(of: run)
    }

    @inline(never)
    private func performSource0sSlowly(of run: Run) -> Bool {
        let mode = run.mode
        if run.budgetEnd != nil, !mode.cutSource0s.isEmpty, performSource0sOfCutStep(of: run) { return true }
        // Nearly always there is one. Without the list it takes 1,090 instructions instead of 1,530.
        if let source = mode.signals.takeOnly() { return perform(source) }
        var signalled = own.signalled.take()
        defer { own.signalled.giveBack(&signalled) }
        mode.signals.takeAll(into: &signalled)
        if signalled.count > 1 {
            let keyed = signalled.compactMap { $0 }.filter(\.isSignalled).map { ($0.order, $0.pendingSignal, $0) }
            signalled = keyed.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
            // Until their turn comes, a run nested in a handler may perform the others first.
            for source in signalled.dropFirst() { source!.announceSignal(in: mode) }
        }
        return perform(&signalled, from: 0, of: run)
    }

    /// They are still announced as signalled, those that are.
    private func performSource0sOfCutStep(of run: Run) -> Bool {
        var (signalled, next) = run.mode.cutSource0s.take()
        return perform(&signalled, from: next, of: run)
    }

    /// Returns whether any was still signalled.
    private func perform(_ signalled: inout [Source0?], from start: Int, of run: Run) -> Bool {
        var hasHandled = false
        for index in start..<signalled.count {
            guard let source = signalled[index] else { continue }
            if start > 0, !source.isIn(run.mode) { continue }  // it has left between two passes
            guard perform(source) else { continue }
            hasHandled = true
            if run.returnsAfterSourceHandled { break }
            if isSpent(run) {
                run.mode.cutSource0s.keep(&signalled, from: index + 1)
                break
            }
        }
        return hasHandled
    }

    /// Returns false if the source is no longer signalled.
    private func perform(_ source: Source0) -> Bool {
        let signal = source.takeSignal()
        guard signal != 0 else { return false }
        callOut(Callout(.source0, source, cause: signal)) {
            source.requireActor(on: self)
            loopIsCallingOutToASource0(source)
        }
        return true
    }

    // MARK: Version-1 sources

    /// Performs a source that was found ready in the mode. Every call is a callout of its own, even the calls for the
    /// messages of a port. Returns whether there was any.
    @inline(__always)
    private func performSource1(_ source: any Source1, _ token: UInt64, _ report: Report, of run: Run) -> Bool {
        let dueCount = performOnce(source, report, of: run)
        if dueCount > 1 {
            performFurther(dueCount - 1, of: ReadySource(source: source, token: token, report: report), in: run)
        }
        return dueCount > 0
    }

    /// Returns the number of calls that were due.
    @inline(__always)
    private func performOnce(_ source: any Source1, _ report: Report, of run: Run) -> Int {
        guard source.isValid else {
            stopWatching(source, in: run.mode)
            return 0
        }
        return callOut(Callout(.source1, source, cause: source.takeCause())) {
            source.requireActor(on: self)
            return loopIsCallingOutToASource1(source, report, run.mode)
        }
    }

    /// The thread that has invalidated a source is about to take it out, and then notifies it: not the loop, since the
    /// source has left when `invalidate()` returns.
    @inline(never)
    private func stopWatching(_ source: any Source1, in mode: ModeState) {
        lock.withLock { mode.stopWatching(source) }
    }

    /// Makes the calls that were due when the first one began, as far as they still are, and a budget leaves time.
    @inline(never)
    private func performFurther(_ count: Int, of ready: ReadySource, in run: Run) {
        for _ in 0..<count {
            if isStopped || isSpent(run) { break }
            // A handler may have left nothing to call. Without monitors the call itself finds out.
            if isMonitored.load(ordering: .relaxed), !isStillReady(ready, in: run.mode) { break }
            if performOnce(ready.source, .fresh(ready.report.events), of: run) == 0 { break }
        }
    }

    /// Performs the sources that the next passes would serve, as long as nothing shows these passes. In passes of their
    /// own a ready pipe takes 1,040 instructions instead of 690.
    @inline(never)
    private func performSource1sOfNextPasses(of run: Run) {
        guard !run.returnsAfterSourceHandled, run.limit == .forever else { return }
        let mode = run.mode
        while !showsPasses(of: run), let entry = mode.ready.first, ReadyList.isSource(entry.token) {
            mode.ready.removeFirst()
            guard let source = lock.withLock({ source(behind: entry, in: mode) }) else { continue }
            // Whether the report still holds, the source finds out.
            _ = performSource1(source, entry.token, report(of: entry, isFresh: false), of: run)
        }
    }

    /// Whether anything shows that a pass ends and the next begins: an observer or a monitor; a block or a signalled
    /// source, which a pass serves before its wait; jobs of the main queue, which it runs then; a stop; a host.
    ///
    /// Nothing else does while sources are listed: a pass takes the first, and asks neither the kernel nor the clock
    /// for timers. A wake-up that arrives meanwhile queues behind them in any case.
    private func showsPasses(of run: Run) -> Bool {
        let mode = run.mode
        return mayNotify(.all, in: mode) || queuedBlocks.load(ordering: .relaxed) > 0 || !mode.signals.isEmpty
            || isStopped || own.host != nil || own.mainQueue != nil && isMainQueueReady(in: mode)
    }

    private func isStillReady(_ ready: ReadySource, in mode: ModeState) -> Bool {
        lock.withLock { workLeft(of: ready, in: mode) } != nil
    }

    // MARK: Timers

    /// Fires every timer that is due now. Collects them first, and checks each again before calling its handler.
    private func fireTimers(of run: Run) {
        if run.budgetEnd != nil, !run.mode.cutTimers.isEmpty { return fireTimersOfCutStep(of: run) }
        let held = lock.hold()
        let times = times(for: run.mode)
        // Nearly always there is one. Without the list, and another look at the clock, it takes 2,000 instructions
        // instead of 2,390.
        if run.mode.timers.others == nil, let only = run.mode.timers.suspending.onlyDue(at: times.suspending) {
            return fire(only, at: times.suspending, in: run, unlocking: held)
        }
        var due = own.dueTimers.take()
        defer { own.dueTimers.giveBack(&due) }
        run.mode.timers.collectDue(at: times, into: &due)
        lock.unlock(held)
        fire(&due, from: 0, of: run)
    }

    private func fireTimersOfCutStep(of run: Run) {
        var (due, next) = run.mode.cutTimers.take()
        fire(&due, from: next, of: run)
    }

    private func fire(_ due: inout [Timer], from start: Int, of run: Run) {
        for index in start..<due.count {
            let timer = due[index]
            if start > 0, !timer.isIn(run.mode) { continue }  // it has left between two passes
            fire(timer, at: clock.nanoseconds(timer.timeBase), in: run, unlocking: lock.hold())
            if isSpent(run) { return run.mode.cutTimers.keep(&due, from: index + 1) }
        }
    }

    /// Calls the handler of a timer if it is due at `now`.
    @inline(__always)
    private func fire(_ timer: Timer, at now: Int64, in run: Run, unlocking held: consuming Lock.Held) {
        guard let firing = timer.beginFiring(on: self, in: run.mode, at: now) else {
            lock.unlock(held)
            if !timer.isValid { takeOutInvalid(timer, from: run.mode) }
            return
        }
        run.firing = timer
        lock.unlock(held)
        own.host?.mayHaveMore(in: self)
        let now = firing.isEarly ? spinUntilDue(firing) : now
        let lateness = now.subtractingSaturating(firing.scheduledTime.nanoseconds)
        callOut(Callout(.timer, timer, lateness: lateness)) {
            timer.requireActor(on: self)
            loopIsCallingOutToATimer(firing)
        }
        lock.lock()
        run.firing = nil
        lock.unlock()
        timer.endFiring(firing, on: self)
    }
}
