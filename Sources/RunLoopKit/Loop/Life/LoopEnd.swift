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

    /// What a loop leaves behind when it ends. Each part is taken out before it is dealt with: if a handler of the end
    /// exits the thread, the thread's end goes on with the rest.
    final class Estate {
        /// Whether the loop calls the handlers of its end. Its deinit calls none.
        fileprivate let isTelling: Bool
        fileprivate var isBegun = false
        fileprivate var blocks: [PostedBlock] = []
        /// The items, each with the modes whose leaving it is notified of.
        fileprivate var items: [(item: Item, left: ArraySlice<ModeState>)] = []
        /// How many items know of the end, and how many have reported what it leaves undone.
        fileprivate var (toldCount, reportedCount) = (0, 0)
        /// Those whose handlers the thread was calling when it exited.
        fileprivate var firingTimers: ArraySlice<Timer> = []
        fileprivate var endHandlers: ArraySlice<EndHandler> = []
        fileprivate var endListeners: ArraySlice<EndListener> = []
        /// What is released when the descriptors are closed, and the handlers that are called last.
        fileprivate var boundValues: ArraySlice<BoundValue> = []
        fileprivate var farewells: ArraySlice<EndHandler> = []
        fileprivate var isClosed = false
        /// Whether work that is left undone is a mistake: not if the program has asked to drop it.
        fileprivate var reportsLeftWork: Bool

        fileprivate init(isTelling: Bool, reportsLeftWork: Bool) {
            (self.isTelling, self.reportsLeftWork) = (isTelling, reportsLeftWork)
        }

        fileprivate var hasWork: Bool { !items.isEmpty || !blocks.isEmpty }

        fileprivate func release() { (items, firingTimers, endHandlers, endListeners) = ([], [], [], []) }
    }

    /// Ends the loop. Called by its thread when the thread ends, by its deinit, or, for a main loop whose thread was
    /// given away, by the thread that finds this out. Only the first call has an effect.
    func end(tellingSources: Bool) {
        // A forked child must not end its parent's loop. The deinits close the child's copies of the descriptors.
        guard process.isCurrent, let estate = lock.withLock({ takeEstate(telling: tellingSources) }) else { return }
        // The deinit of a loop calls no handler, and nothing may retain the loop.
        guard tellingSources else { return settle(estate) }
        ThreadLoops.current.settling(estate, of: self) { settle(estate) }
    }

    /// Does what is left to do. If a handler exits the thread, the thread's end calls this again.
    func settle(_ estate: Estate) {
        if !exchange(&estate.isBegun, with: true) {
            own.host?.loopHasEnded(self)
            if case .virtual(let clock) = clock { clock.detach(ObjectIdentifier(self)) }
            if estate.hasWork { complainIfMainIsGone() }
        }
        drop(exchange(&estate.blocks, with: []))
        tellItems(of: estate)
        while let timer = estate.firingTimers.popFirst() { timer.handlerNeverReturns() }
        callEndHandlers(of: estate)
        while estate.reportsLeftWork, estate.reportedCount < estate.items.count {
            estate.reportedCount += 1
            estate.items[estate.reportedCount - 1].item.reportLeftWork()
        }
        // What it captured is released before anybody learns that the thread calls nothing any more.
        estate.release()
        if !exchange(&estate.isClosed, with: true) { closeDescriptors(of: estate) }
        while let value = estate.boundValues.popFirst() { value.clear() }
        // Not earlier: until now handlers of this thread may have been inside the actors that the jobs belong to. Not
        // later: it may report a mistake to the program.
        giveUpJobs(isDeallocating: !estate.isTelling)
        lock.withLock {
            advance(to: .silent)
            estate.farewells += takeEndHandlers(at: .farewell)
        }
        while let handler = estate.farewells.popFirst() { handler.take()?() }
    }

    private func closeDescriptors(of estate: Estate) {
        lock.withLock {
            // A thread that found an item here may still reach the mode, and must not arm or watch anything in it.
            lastSleep = nil
            for mode in modeStates { mode.close() }
            timerFDs = TimerFDs()
        }
        waker.close()
        lock.withLock {
            advance(to: .over)
            // A loop that is being deallocated has no thread. Boxes that go meanwhile do not find it any more.
            if estate.isTelling { estate.boundValues = boundValues.takeAll()[...] }
        }
    }

    /// Notifies the items of the modes that they have left, and then of the end.
    private func tellItems(of estate: Estate) {
        while estate.toldCount < estate.items.count {
            let item = estate.items[estate.toldCount].item
            while let mode = estate.items[estate.toldCount].left.popFirst() {
                item.notifyLeft(mode, of: estate.isTelling ? self : nil)
            }
            estate.toldCount += 1
            item.notifyEnd(of: self)
        }
    }

    /// Takes everything out of the loop and marks it ended; nil if it had ended before.
    private func takeEstate(telling isTelling: Bool) -> Estate? {
        lock.assertHeld()
        guard !hasEnded else { return nil }
        let modes = modesWithItems
        let isDiscarding = discardsBlocks
        let estate = Estate(isTelling: isTelling, reportsLeftWork: isTelling && !isDiscarding)
        advance(to: .ended)
        endTime = now
        // A thread that exited inside a block has left the others of its batch, which were posted first.
        estate.blocks = takeBatches()
        if queuedBlocks.load(ordering: .relaxed) > 0 { estate.blocks += takeAllBlocks() }
        if let innermostRun { estate.firingTimers = innermostRun.stack.compactMap(\.firing)[...] }
        estate.endHandlers = takeEndHandlers(at: .end)[...]
        estate.endListeners = endListeners.takeAll()[...]
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

    /// Calls end handlers and listeners in the order of their registration; or only drops them.
    private func callEndHandlers(of estate: Estate) {
        while true {
            let handler = estate.endHandlers.first
            if let listener = estate.endListeners.first, listener.turn < handler?.turn ?? .max {
                _ = estate.endListeners.popFirst()
                if estate.isTelling { listener.loopEnds() }
            } else if let handler {
                _ = estate.endHandlers.popFirst()
                let body = handler.take()
                if estate.isTelling { body?() }
            } else {
                return
            }
        }
    }

    /// Takes out the handlers of a moment, in the order of their registration.
    private func takeEndHandlers(at moment: EndHandler.Moment) -> [EndHandler] {
        lock.assertHeld()
        guard !endHandlers.isEmpty else { return [] }
        let taken = endHandlers.values.filter { $0.moment == moment }.sorted { $0.turn < $1.turn }
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
