extension Loop {
    /// What a pass serves.
    enum Ready {
        case nothing
        case wakeUp
        case timers
        case mainQueue
        case source1(ReadySource)

        var isTimers: Bool { if case .timers = self { true } else { false } }
    }

    /// A version-1 source of the mode that has something to handle.
    struct ReadySource {
        let source: any Source1
        let token: UInt64
        /// What it has to handle of what was reported.
        let report: Report
    }

    /// Step 3.7 (see Pass.swift): returns the one thing that this pass serves, and waits for it unless `polls`.
    ///
    /// The kernel is asked only when everything that it reported before has been served. Stale readiness, such as that
    /// of a port that another mode has served, is skipped and does not end the wait.
    func nextReady(in run: Run, polls: Bool) -> Ready {
        assertOnOwnThread()
        let mode = run.mode
        waiting.store(true, ordering: .relaxed)
        defer { waiting.store(false, ordering: .relaxed) }
        if let ready = takeReady(in: mode) {
            // A wake-up queues behind leftovers.
            if waker.endWait() { if case .wakeUp = ready {} else { own.listWakeUp(in: mode) } }
            return ready
        }
        while true {
            let answer = ask(in: run, polls: polls)
            if let ready = take(answer, in: mode) ?? takeReady(in: mode) { return ready }
            if polls { return .nothing }
            if isTimeUp(for: run) {
                // A timer that is due at the very end of the run still fires.
                return lock.withLock { isTimerDue(in: mode) } ? .timers : .nothing
            }
        }
    }

    /// The first entry that is not stale. Removes those before it.
    @inline(__always)
    private func takeReady(in mode: ModeState) -> Ready? { mode.ready.isEmpty ? nil : takeReadySlowly(in: mode) }

    @inline(never)
    private func takeReadySlowly(in mode: ModeState) -> Ready? {
        while let entry = mode.ready.first {
            let isFresh = mode.ready.isFirstFresh
            mode.ready.removeFirst()
            if let ready = look(at: entry, isFresh: isFresh, in: mode, takes: true) { return ready }
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

    /// Whether an entry that is not stale is listed. Removes those before it.
    func hasReady(_ mode: ModeState) -> Bool {
        assertOnOwnThread()
        while let entry = mode.ready.first {
            if look(at: entry, isFresh: mode.ready.isFirstFresh, in: mode, takes: false) != nil {
                mode.ready.keepFirst()
                return true
            }
            mode.ready.removeFirst()
        }
        return false
    }

    /// What an entry means; nil if the readiness is stale.
    ///
    /// - Parameters:
    ///   - isFresh: Whether no handler has been called since it was reported.
    ///   - takes: Whether the caller serves it. If so, the readiness of the main queue is consumed.
    private func look(at entry: ReadyList.Entry, isFresh: Bool, in mode: ModeState, takes: Bool) -> Ready? {
        switch entry.token {
        case ReadyList.wakeUp:
            return .wakeUp
        case ReadyList.timers:
            // Timers that have just been found due are not asked again.
            let areDue = isFresh || lock.withLock { isTimerDue(in: mode, at: mode.ready.timesOfTimers) }
            return areDue ? .timers : nil
        case ReadyList.mainQueue:
            return hasMainQueueEdge(in: mode, takes: takes) ? .mainQueue : nil
        default:
            return lock.withLock {
                source(behind: entry, in: mode).flatMap {
                    work(of: $0, entry.token, behind: report(of: entry, isFresh: isFresh))
                }
            }.map { .source1($0) }
        }
    }

    /// What is left of a source's readiness after observers have been called. They may have read the descriptor, run
    /// the loop nested, or changed what the source waits for.
    @inline(never)
    func lookAgain(at ready: ReadySource, in mode: ModeState) -> Ready {
        lock.withLock { workLeft(of: ready, in: mode) }.map { .source1($0) } ?? .nothing
    }

    /// What is left after observers have been called.
    func workLeft(of ready: ReadySource, in mode: ModeState) -> ReadySource? {
        lock.assertHeld()
        return mode.source1s.source(for: ready.token).flatMap {
            work(of: $0, ready.token, behind: ready.report.afterObservers)
        }
    }

    /// The source of an entry; nil when it has left.
    ///
    /// Nil, too, when it has been served and has become ready again: it is then listed again, by its new sequence
    /// number.
    @inline(__always)
    func source(behind entry: ReadyList.Entry, in mode: ModeState) -> (any Source1)? {
        lock.assertHeld()
        if entry.turn != 0, entry.turn != mode.source1s.turn(of: entry.token) { return nil }
        return mode.source1s.source(for: entry.token)
    }

    /// What the kernel reported of the source of an entry.
    @inline(__always)
    func report(of entry: ReadyList.Entry, isFresh: Bool) -> Report {
        let age: Report.Age = isFresh ? .fresh : entry.answer == waker.answer ? .recent : .old
        return Report(events: entry.events, age: age, answer: entry.answer)
    }

    /// What a source has to handle; nil when it has nothing.
    private func work(of source: any Source1, _ token: UInt64, behind report: Report) -> ReadySource? {
        source.workBehind(report).map {
            let found = Report(events: $0, age: report.age, answer: report.answer)
            return ReadySource(source: source, token: token, report: found)
        }
    }

    // MARK: Asking the kernel

    /// What the kernel and the wake word have answered.
    private struct Answer {
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
    private func ask(in run: Run, polls: Bool) -> Answer {
        assertOnOwnThread()
        let mode = run.mode
        let mainQueueWaits = self.mainQueueWaits(in: mode)
        if spinNanoseconds.load(ordering: .relaxed) > 0, !polls, !mainQueueWaits {
            // The beginning of the pass has taken the note of a message that came before it.
            if mode.messages.isEmpty { spin(in: run) }
        }
        // Nil: poll without waiting. Known without the lock if there is a note, and no timer that may be due.
        let isPoll = polls || mainQueueWaits || waker.hasNote
        let deadline: Int64? =
            isPoll && !mode.has(.timers)
            ? nil
            : lock.withLock {
                guard !listDueTimers(in: mode), !polls, !mainQueueWaits else { return nil }
                return beginSleep(in: run)
            }
        let count: Int
        if let deadline {
            if isMonitored.load(ordering: .relaxed) {
                report { $0.willWait(until: deadline, in: mode.mode) }
            }
            count = sleep(until: deadline, in: mode)
        } else {
            count = poll(in: run)
        }
        let wasNotified = waker.endWait()
        own.hasAskedLast = true
        let hasSlept = deadline != nil
        if hasSlept, isMonitored.load(ordering: .relaxed) {
            report { $0.didWait(readyCount: count, wasWoken: wasNotified) }
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
    private func take(_ answer: Answer, in mode: ModeState) -> Ready? {
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
            return work(of: source, report.token, behind: fresh).map { .source1($0) }
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
        return work(of: source, token, behind: .fresh([])).map { .source1($0) }
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
                // If the clock was set, arming the timerfd again finds out.
                if !listDueTimers(in: mode) { armOthers(in: mode) }
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

    /// Marks the loop asleep, and returns the time until which it may sleep; `TimerHeap.never` for forever. Nil if it
    /// may not sleep: a message or a wake-up has arrived. If that time has passed, the kernel ends the sleep at once.
    /// Reading the clock here would slow down every pass for the sake of few.
    ///
    /// The timerfds are armed only here, except when a thread adds an earlier timer while the loop sleeps, or a host
    /// does the sleeping.
    private func beginSleep(in run: Run) -> Int64? {
        lock.assertHeld()
        guard !run.mode.hasMessages, waker.beginWait() else { return nil }
        var sleep = nextSleep(in: run)
        if run.mode.timers.others != nil { wakeUpEarly(from: &sleep, in: run.mode) }
        arm(for: sleep, in: run.mode)
        own.sleepsByTimeout = timerFDs.suspending == nil && sleep.deadline != TimerHeap.never
        return sleep.deadline
    }

    private func sleep(until deadline: Int64, in mode: ModeState) -> Int {
        guard case .virtual(let clock) = clock else {
            Tally.count(tally.waits)
            let count = mode.wait(milliseconds: own.sleepsByTimeout ? timeout(until: deadline) : -1)
            if own.preciseSleep != nil { spinUntilDue(after: count, in: mode) }
            return count
        }
        if clock.sleep(self, until: deadline, on: mode.pollDescriptor) {
            Tally.count(tally.waits)
            // What ended the wait stays in the epoll set until `awake(_:)`: else the loop would look idle for a moment.
            System.waitUntilReadable(mode.pollDescriptor)
        }
        clock.awake(self)
        // A host must be told of the timers that are due: no timerfd does.
        lock.withLock { lastSleep = nil }
        return mode.wait(milliseconds: 0)
    }
}
