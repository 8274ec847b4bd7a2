extension Loop {
    /// What a pass serves.
    enum Ready: Equatable {
        case nothing
        case wakeUp
        case timers
        case mainQueue
        /// A version-1 source, by its token, and what it is ready for.
        case port(UInt64, PollEvents)
    }

    /// Step 3.7: the one thing that this pass serves, waiting for it unless `polls`.
    ///
    /// The kernel is asked only when everything that it reported before has been served. Readiness behind which there
    /// is nothing, such as a port that another mode served, is passed over without the pass noticing.
    func nextReady(in run: Run, polls: Bool) -> Ready {
        let mode = run.mode
        waiting.store(true, ordering: .relaxed)
        defer { waiting.store(false, ordering: .relaxed) }
        var hasAsked = false
        while true {
            if let ready = takeReady(in: mode) {
                // Who woke the loop while something was left over lines up behind that.
                if !hasAsked, waker.endWait() {
                    wasWoken = true
                    if ready != .wakeUp { mode.ready.append(ReadyList.wakeUp) }
                }
                return ready
            }
            if hasAsked, polls { return .nothing }
            if hasAsked, isTimeUp(for: run) {
                // A timer that is due at the very end of the run still fires.
                return lock.withLock { isTimerDue(in: mode) } ? .timers : .nothing
            }
            fetch(in: run, polls: polls)
            hasAsked = true
        }
    }

    /// The first thing fetched that there is still something behind; forgets what comes before it.
    private func takeReady(in mode: ModeState) -> Ready? {
        while let entry = mode.ready.popFirst() {
            if let ready = look(at: entry, in: mode) { return ready }
        }
        return nil
    }

    func isTimeUp(for run: Run) -> Bool { run.onlyPolls || run.deadline.map { $0 <= clock.nanoseconds } ?? false }

    /// Whether there is anything to serve in what was fetched; forgets what comes before it.
    func hasReady(_ mode: ModeState) -> Bool {
        while let entry = mode.ready.first {
            if isStillReady(entry, in: mode) {
                mode.ready.keepFirst()
                return true
            }
            _ = mode.ready.popFirst()
        }
        return false
    }

    private func isStillReady(_ entry: ReadyList.Entry, in mode: ModeState) -> Bool {
        switch entry.token {
        case ReadyList.wakeUp: true
        case ReadyList.timers: lock.withLock { isTimerDue(in: mode, at: mode.ready.timesOfTimers) }
        case ReadyList.mainQueue: isMainQueueReady(in: mode.mode)
        default: lock.withLock { work(behind: entry, in: mode) != nil }
        }
    }

    private func look(at entry: ReadyList.Entry, in mode: ModeState) -> Ready? {
        switch entry.token {
        case ReadyList.wakeUp:
            return .wakeUp
        case ReadyList.timers:
            return lock.withLock { isTimerDue(in: mode, at: mode.ready.timesOfTimers) } ? .timers : nil
        case ReadyList.mainQueue:
            return takeMainQueue(in: mode.mode) ? .mainQueue : nil
        default:
            return lock.withLock { work(behind: entry, in: mode) }.map { .port(entry.token, $0) }
        }
    }

    /// What is left of a source's readiness after observers have been called, who may have read what it is about, run the
    /// loop nested, or changed what the source waits for.
    func lookAgain(at token: UInt64, _ events: PollEvents, in mode: ModeState) -> Ready {
        lock.withLock { work(behind: .old(token, events), in: mode) }.map { .port(token, $0) } ?? .nothing
    }

    /// What a version-1 source has to handle; nil when it has nothing, or has left. The lock is held.
    ///
    /// Nil also when somebody served it and it has become ready again: it will be listed once more, in its new turn.
    func work(behind entry: ReadyList.Entry, in mode: ModeState) -> PollEvents? {
        guard let port = mode.ports.entry(for: entry.token), entry.turn == nil || entry.turn == port.readyTurn else {
            return nil
        }
        return port.source.workBehind(entry.events, isFresh: entry.isFresh)
    }

    /// Whether a timer has to fire now. The lock is held.
    func isTimerDue(in mode: ModeState) -> Bool { isTimerDue(in: mode, at: times(for: mode)) }

    /// Whether a timer had to fire at these times. The lock is held.
    private func isTimerDue(in mode: ModeState, at times: ClockTimes) -> Bool {
        mode.timers.suspending.wakeUpTime().map { $0 <= times.suspending } ?? false
            || mode.timers.continuous.wakeUpTime().map { $0 <= times.continuous } ?? false
    }

    /// Now, on the clocks that the mode has timers on. The lock is held.
    private func times(for mode: ModeState) -> ClockTimes {
        ClockTimes(
            suspending: mode.timers.suspending.isEmpty ? .min : clock.nanoseconds(.suspending),
            continuous: mode.timers.continuous.isEmpty ? .min : clock.nanoseconds(.continuous))
    }

    /// Lists the timers if one has to fire now, and says whether. The lock is held.
    @discardableResult
    private func listDueTimers(in mode: ModeState) -> Bool {
        let times = times(for: mode)
        guard isTimerDue(in: mode, at: times) else { return false }
        mode.ready.appendTimers(dueAt: times)
        return true
    }

    /// Asks the kernel what is ready, and waits for something if nothing is and the run may sleep.
    func fetch(in run: Run, polls: Bool) {
        let mode = run.mode
        // nil: look, but do not wait.
        let deadline: Int64? = lock.withLock {
            guard polls else { return deadlineToSleepUntil(in: run) }
            listDueTimers(in: mode)
            return nil
        }
        let isMainQueueReady = mainQueueWaits(in: mode.mode)
        let count: Int
        let hasSlept = deadline != nil && !isMainQueueReady && waker.beginWait()
        if let deadline, hasSlept {
            count = sleep(until: deadline, in: mode)
        } else {
            Tally.count(tally.polls)
            count = mode.poller!.wait(blocking: false)
        }
        let wasNotified = waker.endWait()
        if wasNotified { wasWoken = true }
        lock.withLock {
            sleeping = nil
            // Our own eventfd may have an old edge left: what counts is the wake word. And who was awake gets the wake-up
            // behind what was ready, written or not: hosted or not, the order is the same.
            listReady(count, countsWakeUp: wasNotified && hasSlept, in: mode)
        }
        if isMainQueueReady { mode.ready.append(ReadyList.mainQueue) }
        // Notified while awake, or by a sender that has not written yet: behind what was ready.
        if wasNotified { mode.ready.append(ReadyList.wakeUp) }
    }

    /// Lists what the kernel has reported, and the message ports that have messages: in the order in which they became
    /// ready, which an epoll set does not always tell. The lock is held.
    private func listReady(_ count: Int, countsWakeUp: Bool, in mode: ModeState) {
        let poller = mode.poller!
        let before = mode.ready.count
        for index in 0..<count {
            let token = poller.token(at: index)
            switch token {
            case ReadyList.wakeUp:
                if countsWakeUp { mode.ready.append(ReadyList.wakeUp, turn: waker.wakeUpTurn) }
            case ReadyList.timers:
                timerFD?.didFire()
                listDueTimers(in: mode)
            case ReadyList.continuousTimers:
                continuousTimerFD?.didFire()
                listDueTimers(in: mode)
            case ReadyList.mainQueue:
                mode.ready.append(ReadyList.mainQueue)
            default:
                let turn = mode.ports.turn(of: token)
                // An edge of something that has been dealt with: what comes next makes another one.
                if turn != 0 { mode.ready.append(token, events: poller.events(at: index), turn: turn) }
            }
        }
        // The kernel may have more to report: of that, too, some may have become ready before a message port.
        let lastTurn = count < Poller.capacity ? .max : mode.ready.lastTurn ?? .max
        for token in mode.portsWithMessages() {
            guard let turn = mode.ports.turn(of: token), turn < lastTurn else { continue }
            mode.ready.append(token, turn: turn)
        }
        mode.ready.sort(from: before)
    }

    /// Until when the loop may sleep, `TimerHeap.never` for ever; nil when it may not: a timer has to fire, or the
    /// run's time is up.
    ///
    /// The timerfds are armed here and nowhere else, unless somebody adds an earlier timer while the loop sleeps, or a host
    /// does the sleeping. The lock is held.
    private func deadlineToSleepUntil(in run: Run) -> Int64? {
        let mode = run.mode
        var sleep = Sleep(in: mode)
        let isDue = sleep.hasTimers && listDueTimers(in: mode)
        if let end = run.deadline {
            if end <= clock.nanoseconds { return nil }
            sleep.deadline = min(sleep.deadline, end)
        }
        if isDue || !mode.portsWithMessages().isEmpty { return nil }
        arm(for: sleep)
        return sleep.deadline
    }

    /// Arms what is to end a sleep. The lock is held.
    func arm(for sleep: Sleep) {
        sleeping = sleep
        if sleep.deadline != TimerHeap.never { arm(timerFD, at: sleep.deadline) }
        if sleep.continuousDeadline != TimerHeap.never { arm(continuousTimerFD, at: sleep.continuousDeadline) }
    }

    private func sleep(until deadline: Int64, in mode: ModeState) -> Int {
        let poller = mode.poller!
        guard case .virtual(let clock) = clock else {
            Tally.count(tally.waits)
            return poller.wait(blocking: true)
        }
        if clock.sleep(self, until: deadline, on: poller.descriptor) {
            Tally.count(tally.waits)
            // What woke us stays in the epoll set until the clock knows that we are awake: or it would look idle for a
            // moment.
            System.waitUntilReadable(poller.descriptor)
        }
        clock.awake(self)
        return poller.wait(blocking: false)
    }

    /// Makes the kernel wake the loop at `deadline`. The lock is held.
    private func arm(_ timerFD: TimerFD?, at deadline: Int64) {
        if let timerFD, timerFD.arm(at: deadline) { Tally.count(tally.timerArms) }
    }

    /// To be called when a mode's timers changed: a loop that sleeps in this mode must not sleep too long. The lock is
    /// held.
    func timersChanged(in mode: ModeState) {
        guard let sleeping, sleeping.mode === mode else { return }
        // A virtual clock must not jump to a deadline that has gone either: the loop looks once more.
        guard !clock.isVirtual else { return waker.nudge() }
        // Arming a timerfd from here spares waking the loop's thread only to make it do that.
        if let wakeUp = mode.timers.suspending.wakeUpTime(), wakeUp < sleeping.deadline {
            self.sleeping!.deadline = wakeUp
            arm(timerFD, at: wakeUp)
        }
        if let wakeUp = mode.timers.continuous.wakeUpTime(), wakeUp < sleeping.continuousDeadline {
            self.sleeping!.continuousDeadline = wakeUp
            arm(continuousTimerFD, at: wakeUp)
        }
    }

    /// Makes the timerfd for the continuous clock, if it is missing, for all modes that have run. The lock is held.
    func openContinuousTimer() {
        guard continuousTimerFD == nil, !clock.isVirtual else { return }
        do {
            let timerFD = try TimerFD(.continuous)
            for mode in modeStates { try mode.watch(continuousTimer: timerFD.descriptor) }
            continuousTimerFD = timerFD
        } catch {
            fatalError("RunLoopKit: adding a timer on the continuous clock: \(error)")
        }
    }

    /// When the first timer of a mode is to fire, on the loop's clock; `TimerHeap.never` when none is. The lock is held.
    func earliestDeadline(in mode: ModeState) -> Int64 {
        let suspending = mode.timers.suspending.earliestDeadline ?? TimerHeap.never
        guard let continuous = mode.timers.continuous.earliestDeadline else { return suspending }
        return min(suspending, onOwnClock(continuous))
    }

    /// A time on the continuous clock as it looks on the loop's own, if the machine stays awake.
    func onOwnClock(_ time: Int64) -> Int64 {
        time.addingSaturating(clock.nanoseconds - clock.nanoseconds(.continuous))
    }
}

extension Loop {
    /// What the loop, or its host, is about to sleep on or sleeps on, and until when.
    struct Sleep {
        /// Whose poller.
        let mode: ModeState
        /// On the loop's own clock.
        var deadline: Int64
        /// On the continuous clock.
        var continuousDeadline: Int64

        /// Until the mode's first timer.
        init(in mode: ModeState) {
            self.mode = mode
            deadline = mode.timers.suspending.wakeUpTime() ?? TimerHeap.never
            continuousDeadline = mode.timers.continuous.wakeUpTime() ?? TimerHeap.never
        }

        var hasTimers: Bool { min(deadline, continuousDeadline) != TimerHeap.never }
    }
}
