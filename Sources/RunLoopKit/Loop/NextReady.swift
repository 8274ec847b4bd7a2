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
                    work(of: $0, entry.token, behind: report(of: entry, isFresh: isFresh), in: mode)
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
            work(of: $0, ready.token, behind: ready.report.afterObservers, in: mode)
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
    func work(of source: any Source1, _ token: UInt64, behind report: Report, in mode: ModeState) -> ReadySource? {
        guard let events = source.workBehind(report) else {
            if report.age == .fresh { mode.updateWatches(of: source) }
            return nil
        }
        let found = Report(events: events, age: report.age, answer: report.answer)
        return ReadySource(source: source, token: token, report: found)
    }
}
