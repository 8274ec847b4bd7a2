extension Loop {
    /// What a pass serves.
    enum Ready: Equatable {
        case nothing
        case wakeUp
        case timers
        case mainQueue
        /// A version-1 source, by its token, and what it is ready for.
        case source1(UInt64, PollEvents)
    }

    /// Step 3.7: the one thing that this pass serves, waiting for it unless `polls`.
    ///
    /// The kernel is asked only when everything that it reported before has been served. Readiness behind which there
    /// is nothing, such as a port that another mode served, is passed over without the pass noticing.
    func nextReady(in run: Run, polls: Bool) -> Ready {
        assertOnOwnThread()
        let mode = run.mode
        waiting.store(true, ordering: .relaxed)
        defer { waiting.store(false, ordering: .relaxed) }
        var hasAsked = false
        while true {
            if let ready = takeReady(in: mode) {
                // A wake-up queues behind leftovers.
                if !hasAsked, waker.endWait() {
                    run.hasConsumedWakeUp = true
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
            if let ready = look(at: entry, in: mode, takes: true) { return ready }
        }
        return nil
    }

    func isTimeUp(for run: Run) -> Bool {
        switch run.limit {
        case .onePass: true
        case .until(let deadline): deadline <= clock.nanoseconds
        case .forever: false
        }
    }

    /// Whether there is anything to serve in what was fetched; forgets what comes before it.
    func hasReady(_ mode: ModeState) -> Bool {
        assertOnOwnThread()
        while let entry = mode.ready.first {
            if look(at: entry, in: mode, takes: false) != nil {
                mode.ready.keepFirst()
                return true
            }
            _ = mode.ready.popFirst()
        }
        return false
    }

    /// What there is to serve behind an entry; nil if the readiness is stale.
    ///
    /// - Parameter takes: Whether the caller is going to serve it: then the readiness of the main queue is consumed.
    private func look(at entry: ReadyList.Entry, in mode: ModeState, takes: Bool) -> Ready? {
        switch entry.token {
        case ReadyList.wakeUp:
            return .wakeUp
        case ReadyList.timers:
            return lock.withLock { isTimerDue(in: mode, at: mode.ready.timesOfTimers) } ? .timers : nil
        case ReadyList.mainQueue:
            return hasMainQueueEdge(in: mode.mode, takes: takes) ? .mainQueue : nil
        default:
            return lock.withLock { work(behind: entry, in: mode) }.map { .source1(entry.token, $0) }
        }
    }

    /// What is left of a source's readiness after observers have been called, which may have read the descriptor, run
    /// the loop nested, or changed what the source waits for.
    func lookAgain(at token: UInt64, _ events: PollEvents, in mode: ModeState) -> Ready {
        lock.withLock { work(behind: .old(token, events), in: mode) }.map { .source1(token, $0) } ?? .nothing
    }

    /// What a version-1 source has to handle; nil when it has nothing, or has left. The lock is held.
    ///
    /// Nil also when somebody served it and it has become ready again: it will be listed once more, in its new turn.
    func work(behind entry: ReadyList.Entry, in mode: ModeState) -> PollEvents? {
        lock.assertHeld()
        guard let port = mode.source1s.entry(for: entry.token),
            entry.turn == nil || entry.turn == port.readyTurn
        else {
            return nil
        }
        return port.source.workBehind(entry.events, isFresh: entry.isFresh)
    }

    /// Asks the kernel what is ready, and waits for something if nothing is and the run may sleep.
    func fetch(in run: Run, polls: Bool) {
        assertOnOwnThread()
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
        if wasNotified { run.hasConsumedWakeUp = true }
        lock.withLock {
            sleep = nil
            // Our own eventfd may have an old edge left: what counts is the wake word. And who was awake gets the
            // wake-up behind what was ready, written or not: hosted or not, the order is the same.
            listReady(count, countsWakeUp: wasNotified && hasSlept, in: mode)
        }
        if isMainQueueReady { mode.ready.append(ReadyList.mainQueue) }
        // Notified while awake, or by a sender that has not written yet: behind what was ready.
        if wasNotified { mode.ready.append(ReadyList.wakeUp) }
    }

    /// Lists what the kernel has reported, and the message ports that have messages: in the order in which they became
    /// ready, which an epoll set does not always tell. The lock is held.
    private func listReady(_ count: Int, countsWakeUp: Bool, in mode: ModeState) {
        lock.assertHeld()
        let poller = mode.poller!
        let before = mode.ready.count
        for index in 0..<count {
            let token = poller.token(at: index)
            switch token {
            case ReadyList.wakeUp:
                if countsWakeUp { mode.ready.append(ReadyList.wakeUp, turn: waker.wakeUpTurn) }
            case ReadyList.timers:
                timerFDs.suspending?.didFire()
                listDueTimers(in: mode)
            case ReadyList.continuousTimers:
                timerFDs.continuous?.didFire()
                listDueTimers(in: mode)
            case ReadyList.mainQueue:
                mode.ready.append(ReadyList.mainQueue)
            default:
                let turn = mode.source1s.turn(of: token)
                // An edge of something that has been dealt with: what comes next makes another one.
                if turn != 0 { mode.ready.append(token, events: poller.events(at: index), turn: turn) }
            }
        }
        // The kernel may have more to report: of that, too, some may have become ready before a message port.
        let lastTurn = count < Poller.capacity ? .max : mode.ready.lastTurn ?? .max
        for token in mode.portsWithMessages() {
            guard let turn = mode.source1s.turn(of: token), turn < lastTurn else { continue }
            mode.ready.append(token, turn: turn)
        }
        mode.ready.sort(from: before)
    }

    /// Until when the loop may sleep, `TimerHeap.never` for ever; nil when it may not: a timer has to fire, or the
    /// run's time is up.
    ///
    /// The timerfds are armed here and nowhere else, unless somebody adds an earlier timer while the loop sleeps, or a
    /// host does the sleeping. The lock is held.
    private func deadlineToSleepUntil(in run: Run) -> Int64? {
        lock.assertHeld()
        let mode = run.mode
        var sleep = Sleep(in: mode)
        let isDue = sleep.hasTimers && listDueTimers(in: mode)
        if case .until(let end) = run.limit {
            if end <= clock.nanoseconds { return nil }
            sleep.deadline = min(sleep.deadline, end)
        }
        if isDue || !mode.portsWithMessages().isEmpty { return nil }
        arm(for: sleep)
        return sleep.deadline
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
}
