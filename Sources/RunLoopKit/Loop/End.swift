extension Loop {
    /// Ends a loop that was made with `Loop(clock:)`, as the end of its thread does with others: items leave it, cancel
    /// handlers run, blocks that never ran are dropped, its descriptors are closed, and from now on it refuses
    /// everything. A second call does nothing.
    ///
    /// When the last reference goes the loop ends too, but without calling cancel handlers and end handlers: there is no
    /// loop any more that they could be told of.
    ///
    /// - Precondition: Called on the loop's own thread, outside its runs, for a loop that was made with `Loop(clock:)`;
    ///   traps otherwise.
    public func end() {
        requireOwnThread("end()")
        guard currentMode == nil, clock.isVirtual else {
            fatalError(
                "RunLoopKit: Loop.end() was called on a loop that runs or is hosted, or that belongs to a thread. A thread's loop ends "
                    + "with its thread; to end a run, call stop(); to end being hosted, call endHosting().")
        }
        end(tellingSources: true)
    }

    /// Ends the loop: called by its thread when that ends, or when the last reference goes.
    func end(tellingSources: Bool) {
        if hosting != nil { stopBeingHosted() }
        if case .virtual(let clock) = clock { clock.detach(ObjectIdentifier(self)) }
        let (members, dropped, handlers) = lock.withLock {
            () -> ([(ModeState, [Item])], [BlockQueue.Block?], [EndHandler]) in
            guard !hasEnded else { return ([], [], []) }
            hasEnded = true
            refusesWork = true
            for item in commonItems { if let commonMembership { _ = item.leave(commonMembership) } }
            commonItems = []
            let members = modeStates.map { state in (state, state.removeAll().filter { $0.leave(state) }) }
            hasBlocks.store(false, ordering: .relaxed)
            defer { endHandlers = [:] }
            return (members, blocks.takeAll(), endHandlers.values.sorted { $0.turn < $1.turn })
        }
        if !dropped.isEmpty || members.contains(where: { !$0.1.isEmpty }) { complainIfMainIsGone() }
        drop(dropped)
        for (state, items) in members {
            for item in items {
                item.tellLeft(state.mode, of: tellingSources ? self : nil)
                item.loopHasEnded()
            }
            state.close()
        }
        for handler in handlers {
            let body = handler.take()
            if tellingSources { body?() }
        }
        timerFD = nil
        continuousTimerFD = nil
        waker.close()
        // Last of all: until now handlers of this thread may have been inside the actors that the jobs belong to.
        giveUpJobs(isGoing: !tellingSources)
    }

    /// Refuses items and blocks from now on, and makes every run end. Blocks accepted before still run, in
    /// `runAcceptedWork()`, or are dropped.
    func close(discardingBlocks: Bool) {
        let dropped = lock.withLock { () -> [BlockQueue.Block?] in
            refusesWork = true
            guard discardingBlocks else { return [] }
            discardsBlocks.store(true, ordering: .relaxed)
            hasBlocks.store(false, ordering: .relaxed)
            return blocks.takeAll()
        }
        drop(dropped)
        // Release: see isStopped.
        isClosing.store(true, ordering: .releasing)
        waker.wake()
    }

    /// Runs the blocks and jobs that are left, in whichever mode, without waiting and without observers. The loop is
    /// closed, so there is an end to it.
    func runAcceptedWork() {
        while let state = lock.withLock({ modeStates.first { blocks.hasBlock(for: $0.mode, common: commonModes) } }) {
            let outer = enter(state)
            performBlocks(for: state)
            leave(for: outer)
        }
        runAcceptedJobs()
    }

    /// Lets go of blocks that will never run. What they captured may call us: not with the lock held.
    private func drop(_ blocks: [BlockQueue.Block?]) {
        // Their handles cannot withdraw them any more.
        for block in blocks { _ = block?.handle?.take() }
    }
}
