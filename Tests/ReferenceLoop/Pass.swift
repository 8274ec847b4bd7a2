// Steps have the numbers of `Sources/RunLoopKit/Loop/Pass.swift`. This loop has no main queue, and so no step 3.5.

extension ReferenceLoop {
    /// Steps 3.1 to 3.11. Returns the result of the run if the run ends with this pass.
    func pass(_ run: Run) -> RunResult? {
        let mode = run.mode
        run.hasYetToWait = true
        notify(.beforeTimers, in: mode)  // 3.1
        notify(.beforeSources, in: mode)
        run.hasMissedWakeUp = false
        performBlocks(in: mode)  // 3.2
        var hasHandledSource = performSource0s(of: run)  // 3.3
        if hasHandledSource { performBlocks(in: mode) }  // 3.4
        let polls = run.polls || hasHandledSource
        if !polls { notify(.beforeWaiting, in: mode) }  // 3.6
        run.taken = wait(in: run, polls: polls)  // 3.7
        run.hasYetToWait = false
        if !polls { notify(.afterWaiting, in: mode) }  // 3.8
        switch run.taken.take() {  // 3.9
        case nil, .wakeUp: break
        case .timers: fireTimers(in: mode)
        case .port(let port, let turn): if perform(port, readySince: turn, in: mode) { hasHandledSource = true }
        }
        performBlocks(in: mode)  // 3.10
        run.hasMissedLeaving = false
        if hasHandledSource, run.returnsAfterSourceHandled { return .handledSource }  // 3.11
        if isTimeUp(for: run) { return .timedOut }
        if run.isStopped { return .stopped }
        return hasAnythingToWaitFor(in: mode) ? nil : .finished
    }

    /// Calls the observers that are in the mode now. One that another removes is still called; one that it invalidates
    /// is not.
    func notify(_ activity: Activity, in mode: String) {
        for observer in observers(in: mode) where observer.activities.contains(activity) {
            guard observer.isValid, !observer.isBeingCalled else { continue }
            observer.isBeingCalled = true
            observer.perform(activity)
            observer.isBeingCalled = false
            if !observer.repeats { observer.invalidate() }
        }
    }

    /// Runs the blocks that are posted now. Meanwhile they are not in the loop: a run nested in one does not see the
    /// others.
    private func performBlocks(in mode: String) {
        let posted = blocks
        blocks = []
        var left = blocks
        for block in posted {
            if mayRun(block.modes, in: mode) { block.body() } else { left.append(block) }
        }
        blocks = left + blocks
    }

    /// Performs the sources that are signalled now; only the first one if the run returns after a source.
    private func performSource0s(of run: Run) -> Bool {
        var hasHandled = false
        // A handler may have invalidated the next ones, or a nested run may have performed them.
        for source in signalledSource0s(in: run.mode) where source.signalTurn != nil && source.isValid {
            source.signalTurn = nil
            source.perform()
            hasHandled = true
            if run.returnsAfterSourceHandled { break }
        }
        return hasHandled
    }

    /// What a pass may serve.
    enum Ready: Equatable {
        case timers, wakeUp
        case port(Port, since: Int)
    }

    /// Returns the first of what is ready, nil for nothing. The loop looks only after it has served all that it found
    /// before. A wake-up queues behind that.
    private func wait(in run: Run, polls: Bool) -> Ready? {
        let mode = run.mode
        let mayNotSleep =
            polls || run.isStopped || run.hasMissedWakeUp && hasPostedWork(in: mode)
            || run.hasMissedLeaving && !hasAnythingToWaitFor(in: mode)
        repeat {
            var list = (ready[mode] ?? []).filter { !isStale($0, in: mode) }
            if list.isEmpty { list = look(in: mode) }
            if takeWakeUp(), !list.contains(.wakeUp) { list.append(.wakeUp) }
            ready[mode] = Array(list.dropFirst())
            if let first = list.first { return first }
        } while !mayNotSleep && sleep(in: run)
        return nil
    }

    /// Timers that are due, then the ports that are ready, except those that runs below are about to serve.
    private func look(in mode: String) -> [Ready] {
        let ports = readyPorts(in: mode).map { Ready.port($0, since: $0.readyTurn(in: mode)!) }
        let others = ports.filter { port in !runs.contains { $0.mode == mode && $0.taken == port } }
        return timers(in: mode).contains(where: \.isDue) ? [.timers] + others : others
    }

    /// Whether a port has left the mode, or was served in another one. If it is ready again, it lines up again.
    private func isStale(_ found: Ready, in mode: String) -> Bool {
        if case .port(let port, let turn) = found { port.readyTurn(in: mode) != turn } else { false }
    }

    /// Calls a port with the number of its sends. Returns false if afterWaiting observers have left none, or have taken
    /// the port out of the mode.
    private func perform(_ port: Port, readySince turn: Int, in mode: String) -> Bool {
        guard port.readyTurn(in: mode) != nil, port.joined[mode]! <= turn else { return false }
        let count = port.sendCount
        port.sendCount = 0
        port.perform(count)
        return true
    }

    /// Fires the timers that are due now. Earlier handlers may have changed the time of later ones, or removed them.
    private func fireTimers(in mode: String) {
        for timer in timers(in: mode).filter(\.isDue) where timer.isDue && timer.isInMode { timer.fire() }
    }
}
