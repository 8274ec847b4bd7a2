// What the kernel and the wake word say is ready, and the list of it.

extension Loop {
    /// What the kernel and the wake word have answered.
    struct Answer {
        /// Whether the thread waited in the kernel, or only polled.
        let hasSlept: Bool
        /// The number of descriptors that are ready: `ModeState.report(at:)`.
        let count: Int
        /// Whether a thread has woken the loop.
        let wasNotified: Bool
        /// Whether the main queue waits since an earlier edge could not be served.
        let mainQueueWaits: Bool
    }

    /// Asks what is ready, and lists it.
    func fetch(in run: Run, polls: Bool) {
        let answer = ask(in: run, polls: polls)
        lock.withLock { list(answer, in: run.mode) }
    }

    /// Asks the kernel what is ready. If nothing is, and the run may sleep, waits until something is.
    @inline(__always)
    func ask(in run: Run, polls: Bool) -> Answer {
        assertOnOwnThread()
        let mode = run.mode
        let mainQueueWaits = self.mainQueueWaits(in: mode)
        if spinNanoseconds.load(ordering: .relaxed) > 0, !polls, !mainQueueWaits {
            // The beginning of the pass has taken the note of a message that came before it.
            if mode.messages.isEmpty { spin(in: run) }
        }
        // Nil: poll without waiting. Known without the lock if there is a note, and no timer that may be due.
        let isPoll = polls || mainQueueWaits || waker.hasNote
        let nextSleep: Sleep? =
            isPoll && !mode.has(.timers)
            ? nil
            : lock.withLock {
                guard !listDueTimers(in: mode), !polls, !mainQueueWaits else { return nil }
                return beginSleep(in: run)
            }
        let count: Int
        if let nextSleep {
            if isMonitored.load(ordering: .relaxed) {
                notifyMonitors { $0.willWait(until: nextSleep.deadline, in: mode.mode) }
            }
            count = sleep(nextSleep, in: mode)
        } else {
            count = poll(in: run)
        }
        let wasNotified = waker.endWait()
        own.hasAskedLast = true
        let hasSlept = nextSleep != nil
        if hasSlept, isMonitored.load(ordering: .relaxed) {
            notifyMonitors { $0.didWait(readyCount: count, wasWoken: wasNotified) }
        }
        return Answer(
            hasSlept: hasSlept, count: count, wasNotified: wasNotified, mainQueueWaits: mainQueueWaits)
    }

    /// Asks the kernel what is ready, without waiting; unless the loop knows that already, which saves most of a pass.
    @inline(__always)
    private func poll(in run: Run) -> Int {
        let mode = run.mode
        // The main queue was asked at step 3.5, except after a drain.
        let asksMainQueue = mode.watchesMainQueue && run.skipsMainQueueStep
        guard mode.takeNeedToPoll() || asksMainQueue || own.host?.takeNeedToPoll(in: mode) ?? false else { return 0 }
        Tally.count(tally.polls)
        let count = mode.wait(milliseconds: 0)
        if count == Poller.capacity { mode.edgeNote.set() }  // There may be more.
        return count
    }

    /// What the pass serves, if the answer is one thing and nothing else is ready: the usual case, in which listing it
    /// would take 180 instructions more, for a message 950. Otherwise lists the answer and returns nil.
    @inline(__always)
    func take(_ answer: Answer, in mode: ModeState) -> Ready? {
        let isAlone = mode.ready.isEmpty && !answer.mainQueueWaits && answer.count <= 1
        // The eventfd may have a stale edge: the wake word decides.
        let hasReport = answer.count > 0 && mode.report(at: 0).token != ReadyList.wakeUp
        if isAlone, !hasReport, mode.messages.isEmpty { return answer.wasNotified ? .wakeUp : nil }
        return takeSlowly(answer, isAlone: isAlone, hasReport: hasReport, in: mode)
    }

    @inline(never)
    private func takeSlowly(_ answer: Answer, isAlone: Bool, hasReport: Bool, in mode: ModeState) -> Ready? {
        lock.withLock {
            guard isAlone else {
                list(answer, in: mode)
                return nil
            }
            guard hasReport else { return takeMessage(answer, in: mode) }
            let report = mode.report(at: 0)
            guard ReadyList.isSource(report.token), mode.messages.isEmpty, !answer.wasNotified else {
                list(answer, in: mode)
                return nil
            }
            guard let source = mode.source1s.source(for: report.token) else {
                mode.source1s.noteReportWithoutSource(of: report.token, in: waker.answer)
                return nil
            }
            let fresh = Report(events: report.events, age: .fresh, answer: waker.answer)
            return work(of: source, report.token, behind: fresh, in: mode).map { .source1($0) }
        }
    }

    /// The same, if the kernel has reported nothing.
    private func takeMessage(_ answer: Answer, in mode: ModeState) -> Ready? {
        lock.assertHeld()
        if mode.messages.isEmpty { return answer.wasNotified ? .wakeUp : nil }
        guard !answer.wasNotified, let port = mode.messages.takeOnly() else {
            list(answer, in: mode)
            return nil
        }
        guard let token = mode.source1s.token(of: port), let source = mode.source1s.source(for: token) else {
            return nil
        }
        return work(of: source, token, behind: .fresh([]), in: mode).map { .source1($0) }
    }

    /// Lists all that is ready, in the order in which it became ready.
    private func list(_ answer: Answer, in mode: ModeState) {
        lock.assertHeld()
        lastSleep = nil
        // The eventfd may have a stale edge: the wake word decides. A loop that was awake, hosted or not, gets its
        // wake-up behind what was ready, whether the sender has written or not.
        listReady(answer.count, countsWakeUp: answer.wasNotified && answer.hasSlept, in: mode)
        if answer.mainQueueWaits { mode.ready.append(ReadyList.mainQueue) }
        // Notified while awake, or by a sender that has not written yet: queues behind what was ready.
        if answer.wasNotified { own.listWakeUp(in: mode) }
    }

    /// Lists what the kernel has reported, and the message ports that have messages, in the order in which they became
    /// ready. An epoll set does not always report in this order.
    private func listReady(_ count: Int, countsWakeUp: Bool, in mode: ModeState) {
        lock.assertHeld()
        guard count > 0 || !mode.messages.isEmpty else { return }
        // Once for all: each look would retain them.
        let (ready, source1s) = (mode.ready, mode.source1s)
        let before = ready.count
        for index in 0..<count {
            let report = mode.report(at: index)
            switch report.token {
            case ReadyList.wakeUp:
                if countsWakeUp { own.listWakeUp(in: mode, turn: waker.wakeUpTurn) }
            case ReadyList.timers:
                timerFDs.suspending?.didFire()
                timerFDs.early.didFire()
                listDueTimers(in: mode)
            case ReadyList.continuousTimers:
                timerFDs.continuous?.didFire()
                listDueTimers(in: mode)
            case ReadyList.wallClockTimers:
                timerFDs.wallClock?.didFire()
                listDueTimers(in: mode)
                // If the clock was set, arming the timerfd again finds out; whatever is due, since a loop that only
                // polls arms it nowhere else.
                armOthers(in: mode)
            case ReadyList.mainQueue:
                ready.append(ReadyList.mainQueue)
            default:
                let turn = source1s.turn(ofReported: report.token, in: waker.answer)
                // Zero is a stale edge: new work raises another.
                if turn != 0 {
                    ready.append(report.token, events: report.events, turn: turn ?? 0, answer: waker.answer)
                }
            }
        }
        // The kernel may have more to report: some of that, too, may have become ready before a message port.
        let lastTurn = count < Poller.capacity ? .max : ready.lastTurn ?? .max
        guard !mode.messages.isEmpty else { return ready.sort(from: before) }
        var arrived = own.arrived.take()
        defer { own.arrived.giveBack(&arrived) }
        mode.messages.takeAll(into: &arrived)
        for index in arrived.indices {
            guard let port = arrived[index], let token = mode.source1s.token(of: port),
                let turn = mode.source1s.turn(of: token), turn != 0
            else {
                continue
            }
            if turn < lastTurn { ready.append(token, turn: turn) } else { port.announceMessages(in: mode) }
        }
        ready.sort(from: before)
    }
}
