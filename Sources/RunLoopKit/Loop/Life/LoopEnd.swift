extension Loop {
    /// Ends a loop made with ``Loop/init(clock:)``, as the end of a thread ends its loop. A second call does nothing.
    ///
    /// Items leave the loop, the cancel handlers of ``Loop/Source0``s run, blocks that never ran are dropped, and its
    /// descriptors are closed. The loop then refuses everything. It ends, too, when its last reference is released, but
    /// then calls neither cancel handlers nor end handlers: there is no loop to pass to them.
    ///
    /// - Precondition: Called on the loop's own thread, outside its runs, for a loop made with ``Loop/init(clock:)``;
    ///   traps otherwise.
    public func end() {
        requireOwnThread("end()")
        guard currentMode == nil, clock.isVirtual else {
            fatalError(
                "RunLoopKit: Loop.end() was called on a loop that runs or is hosted, or that belongs to a thread. A "
                    + "thread's loop ends with its thread; to end a run, call stop(); to end hosting, call "
                    + "hosting.end().")
        }
        end(tellingSources: true)
    }

    /// What a loop leaves behind when it ends.
    private struct Estate {
        /// The items, each with the modes whose leaving it is notified of.
        var items: [(item: Item, left: [ModeState])] = []
        var blocks: [PostedBlock] = []
        /// Those whose handlers the thread was calling when it exited.
        var firingTimers: [Timer] = []
        var endHandlers: [EndHandler] = []
        var endListeners: [EndListener] = []

        var hasWork: Bool { !items.isEmpty || !blocks.isEmpty }
    }

    /// Ends the loop. Called by its thread when the thread ends, by its deinit, or, for a main loop whose thread was
    /// given away, by the thread that finds this out. Only the first call has an effect.
    func end(tellingSources: Bool) {
        // A forked child must not end its parent's loop. The deinits close the child's copies of the descriptors.
        guard process.isCurrent else { return }
        guard var estate = lock.withLock({ takeEstate() }) else { return }
        own.host?.loopHasEnded(self)
        if case .virtual(let clock) = clock { clock.detach(ObjectIdentifier(self)) }
        if estate.hasWork { complainIfMainIsGone() }
        drop(exchange(&estate.blocks, with: []))
        for (item, modes) in estate.items {
            for mode in modes { item.notifyLeft(mode, of: tellingSources ? self : nil) }
            item.notifyEnd(of: self)
        }
        for timer in estate.firingTimers { timer.handlerNeverReturns() }
        callEndHandlers(estate, tellingSources)
        if tellingSources { for (item, _) in estate.items { item.reportLeftWork() } }
        // What it captured is released before anybody learns that the thread calls nothing any more.
        estate = Estate()
        lock.withLock {
            // A thread that found an item here may still reach the mode, and must not arm or watch anything in it.
            lastSleep = nil
            for mode in modeStates { mode.close() }
            timerFDs = TimerFDs()
        }
        waker.close()
        let last = lock.withLock {
            advance(to: .over)
            return takeEndHandlers(last: true)
        }
        for handler in last { handler.take()?() }
        // Last: until now handlers of this thread may have been inside the actors that the jobs belong to.
        giveUpJobs(isDeallocating: !tellingSources)
    }

    /// Takes everything out of the loop and marks it ended; nil if it had ended before.
    private func takeEstate() -> Estate? {
        lock.assertHeld()
        guard !hasEnded else { return nil }
        let modes = modesWithItems
        advance(to: .ended)
        endTime = now
        var estate = Estate()
        // A thread that exited inside a block has left the others of its batch, which were posted first.
        estate.blocks = takeBatches()
        if queuedBlocks.load(ordering: .relaxed) > 0 { estate.blocks += takeAllBlocks() }
        if let innermostRun { estate.firingTimers = innermostRun.stack.compactMap(\.firing) }
        estate.endHandlers = takeEndHandlers(last: false)
        estate.endListeners = endListeners.takeAll()
        var commonItems: [Item] = []
        if let commonMembership {
            commonItems = exchange(&commonMembership.commonItems, with: ItemTable()).all
            for item in commonItems { _ = item.leave(commonMembership) }
        }
        // An item is listed in the first mode that has it, and is notified of its modes in their order. Most loops have
        // one mode, so that no item is in two.
        let hasManyModes = modes.count > 1
        var indices: [ObjectIdentifier: Int] = [:]
        for mode in modes {
            for item in mode.removeAll() {
                let index = hasManyModes ? indices[ObjectIdentifier(item)] ?? estate.items.count : estate.items.count
                if index == estate.items.count {
                    if hasManyModes { indices[ObjectIdentifier(item)] = index }
                    estate.items.append((item, []))
                }
                if item.leave(mode) { estate.items[index].left.append(mode) }
            }
        }
        // Some may be in the common modes by name only.
        if !commonItems.isEmpty {
            let listed = Set(estate.items.lazy.map { ObjectIdentifier($0.item) })
            estate.items += commonItems.lazy.filter { !listed.contains(ObjectIdentifier($0)) }.map { ($0, []) }
        }
        return estate
    }

    /// Calls end handlers and listeners in the order of their registration, if `isTelling`; otherwise only drops them.
    private func callEndHandlers(_ estate: Estate, _ isTelling: Bool) {
        var listeners = estate.endListeners[...]
        func callListeners(before turn: UInt64) {
            while isTelling, let listener = listeners.first, listener.turn < turn {
                listeners.removeFirst()
                listener.loopEnds()
            }
        }
        for handler in estate.endHandlers {
            callListeners(before: handler.turn)
            let body = handler.take()
            if isTelling { body?() }
        }
        callListeners(before: .max)
    }

    /// Takes out the handlers that are called last, or the others, in the order of their registration.
    private func takeEndHandlers(last: Bool) -> [EndHandler] {
        lock.assertHeld()
        guard !endHandlers.isEmpty else { return [] }
        let taken = endHandlers.values.filter { $0.isLast == last }.sorted { $0.turn < $1.turn }
        for handler in taken { endHandlers[ObjectIdentifier(handler)] = nil }
        return taken
    }

    /// Makes the loop refuse items and blocks, and ends every run. `runAcceptedWork()` runs the blocks accepted before,
    /// or they are dropped.
    func close(discardingBlocks: Bool) {
        guard process.isCurrent else { return }
        let dropped = lock.withLock {
            advance(to: discardingBlocks ? .discarding : .closing)
            return discardingBlocks ? takeAllBlocks() : []
        }
        drop(dropped)
        waker.wake()
    }

    /// Runs the blocks and jobs that are left, in any mode, without waiting and without observers. This ends, since the
    /// loop is closed.
    func runAcceptedWork() {
        while let state = lock.withLock({ modeStates.first(where: hasBlock) }) {
            forgetWakeUps()
            var held = lock.hold()
            if own.host != nil { held = informHostOfBeginning(unlocking: held) }
            let entered = enterRun(in: state, unlocking: held)
            performBlocks(of: innermostRun!)
            leaveRun(entered)
        }
        runAcceptedJobs()
    }

    /// Drops blocks that will never run. The deinit of what they captured may call back, so the lock is not held.
    private func drop(_ blocks: [PostedBlock]) {
        // Their handles can no longer withdraw them.
        for block in blocks { _ = block.handle?.take() }
    }
}
