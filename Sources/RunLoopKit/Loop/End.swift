extension Loop {
    /// Ends a loop that was made with `Loop(clock:)`, as the end of its thread does with others: items leave it, cancel
    /// handlers run, blocks that never ran are dropped, its descriptors are closed, and from now on it refuses
    /// everything. A second call does nothing.
    ///
    /// When the last reference goes the loop ends too, but without calling cancel handlers and end handlers: there is
    /// no loop any more that they could be told of.
    ///
    /// - Precondition: Called on the loop's own thread, outside its runs, for a loop that was made with `Loop(clock:)`;
    ///   traps otherwise.
    public func end() {
        requireOwnThread("end()")
        guard currentMode == nil, clock.isVirtual else {
            fatalError(
                "RunLoopKit: Loop.end() was called on a loop that runs or is hosted, or that belongs to a thread. A "
                    + "thread's loop ends with its thread; to end a run, call stop(); to end being hosted, call "
                    + "endHosting().")
        }
        end(tellingSources: true)
    }

    /// What a loop leaves behind when it ends.
    private struct Estate {
        /// The items, each with the modes that it is to hear about.
        var items: [(item: Item, left: [ModeState])] = []
        var blocks: [BlockQueue.Block?] = []
        var endHandlers: [EndHandler] = []

        var hasWork: Bool { !items.isEmpty || !blocks.isEmpty }
    }

    /// Ends the loop: called by its thread when that ends, when the last reference goes, or, for a main loop whose
    /// thread was given away, by the thread that finds this out. Only the first call does anything.
    func end(tellingSources: Bool) {
        // Its parent's loop is not a forked child's to end; the child's copies of its descriptors go with the objects.
        guard process.isCurrent else { return }
        guard let estate = lock.withLock({ takeEstate() }) else { return }
        own.host?.loopHasEnded()
        if case .virtual(let clock) = clock { clock.detach(ObjectIdentifier(self)) }
        if estate.hasWork { complainIfMainIsGone() }
        drop(estate.blocks)
        for (item, modes) in estate.items {
            for mode in modes { item.hear(thatItLeft: mode, of: tellingSources ? self : nil) }
            item.hear(ofTheEndOf: self)
        }
        for handler in estate.endHandlers {
            let body = handler.take()
            if tellingSources { body?() }
        }
        lock.withLock {
            // A thread that met an item here may come back to the mode, and arm or watch what is in it no more.
            sleep = nil
            for mode in modeStates { mode.close() }
            timerFDs = TimerFDs()
        }
        waker.close()
        // Last of all: until now handlers of this thread may have been inside the actors that the jobs belong to.
        giveUpJobs(isGoing: !tellingSources)
    }

    /// Takes everything out of the loop, which has ended from now on; nil when it had before. The lock is held.
    private func takeEstate() -> Estate? {
        lock.assertHeld()
        guard !hasEnded else { return nil }
        advance(to: .ended)
        // A thread that exits inside a block leaves its runs on the stack, with what their block steps have taken out.
        let runs = innermostRun.map { Array($0.stack.reversed()) } ?? []
        var estate = Estate(
            blocks: runs.flatMap(\.takenBlocks) + blocks.takeAll(),
            endHandlers: endHandlers.values.sorted { $0.turn < $1.turn })
        for run in runs { run.takenBlocks = [] }
        hasBlocks.store(false, ordering: .relaxed)
        endHandlers = [:]
        for item in commonItems { _ = item.leave(commonMembership!) }
        commonItems = []
        // An item is listed where it is met first, and hears about its modes in their order.
        var indices: [ObjectIdentifier: Int] = [:]
        for mode in modeStates {
            for item in mode.removeAll() {
                let index = indices[ObjectIdentifier(item)] ?? estate.items.count
                if index == estate.items.count {
                    indices[ObjectIdentifier(item)] = index
                    estate.items.append((item, []))
                }
                if item.leave(mode) { estate.items[index].left.append(mode) }
            }
        }
        return estate
    }

    /// Refuses items and blocks from now on, and makes every run end. Blocks accepted before still run, in
    /// `runAcceptedWork()`, or are dropped.
    func close(discardingBlocks: Bool) {
        guard process.isCurrent else { return }
        let dropped = lock.withLock { () -> [BlockQueue.Block?] in
            advance(to: discardingBlocks ? .discarding : .closing)
            guard discardingBlocks else { return [] }
            hasBlocks.store(false, ordering: .relaxed)
            return blocks.takeAll()
        }
        drop(dropped)
        waker.wake()
    }

    /// Runs the blocks and jobs that are left, in whichever mode, without waiting and without observers. The loop is
    /// closed, so there is an end to it.
    func runAcceptedWork() {
        while let state = lock.withLock({ modeStates.first { blocks.hasBlock(for: $0.mode, common: commonModes) } }) {
            withRun(in: state) { performBlocks(of: $0) }
        }
        runAcceptedJobs()
    }

    /// Lets go of blocks that will never run. What they captured may call us: not with the lock held.
    private func drop(_ blocks: [BlockQueue.Block?]) {
        // Their handles cannot withdraw them any more.
        for block in blocks { _ = block?.handle?.take() }
    }
}
