// The blocks that wait. Each mode has a queue of them, and so has the name `common`; they have numbers in the order of
// posting. A mode that a block was posted for exists.

extension Loop {
    // MARK: Changing the queues, with the lock held

    @inline(__always)
    func append(_ block: consuming PostedBlock, for mode: Mode, isAwaited: Bool) {
        lock.assertHeld()
        lastBlock += 1
        var isSought = isAwaited
        if let handle = block.handle, !handle.isNote {
            handle.posting = (lastBlock, .one(mode))
            isSought = true
        }
        if mode.isDefault {
            defaultState.blocks.append(block, number: lastBlock, isSought: isSought)
        } else {
            stateForBlocks(in: mode).blocks.append(block, number: lastBlock, isSought: isSought)
        }
        countBlocks(1)
    }

    func append(_ block: PostedBlock, for modes: Set<Mode>) {
        lock.assertHeld()
        assert(block.handle != nil, "RunLoopKit: a block for several modes leaves all queues by its handle.")
        lastBlock += 1
        block.handle?.posting = (lastBlock, .any(modes))
        // Sorted: the modes come into being in this order.
        for mode in modes.sorted(by: { $0.name < $1.name }) {
            stateForBlocks(in: mode).blocks.append(block, number: lastBlock, isSought: true)
        }
        countBlocks(1)
    }

    @inline(never)
    private func stateForBlocks(in mode: Mode) -> ModeState {
        mode.namesCommonModes ? stateOfCommon() : state(for: mode)
    }

    private func existingStateForBlocks(in mode: Mode) -> ModeState? {
        mode.namesCommonModes ? commonMembership : existingState(for: mode)
    }

    /// Removes a block from all queues that it is in; nil if it is in none.
    func takeOut(_ number: UInt64, for modes: ModeFilter) -> PostedBlock? {
        lock.assertHeld()
        let taken: PostedBlock?
        switch modes {
        case .one(let mode): taken = existingStateForBlocks(in: mode)?.blocks.remove(number)
        case .any(let modes): taken = removeFromQueues(number, of: modes)
        }
        if taken != nil { countBlocks(-1) }
        return taken
    }

    /// Without counting: the block may be taken from one of the queues already.
    @discardableResult
    func removeFromQueues(_ number: UInt64, of modes: Set<Mode>) -> PostedBlock? {
        var taken: PostedBlock?
        for mode in modes {
            if let block = existingStateForBlocks(in: mode)?.blocks.remove(number) { taken = block }
        }
        return taken
    }

    /// Removes all blocks, for a loop that ends. Returns them in order.
    func takeAllBlocks() -> [PostedBlock] {
        lock.assertHeld()
        var taken: [UInt64: PostedBlock] = [:]
        for state in modeStates + [commonMembership].compactMap({ $0 }) {
            for entry in state.blocks.removeAll() { taken[entry.number] = entry.block }
        }
        queuedBlocks.store(0, ordering: .relaxed)
        return taken.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Whether a block that may run in this mode is waiting. Asked by the loop's thread.
    func hasBlock(for mode: ModeState) -> Bool {
        lock.assertHeld()
        let hidden = own.hiddenBlocks
        return mode.blocks.hasBlock(after: hidden)
            || mode.isCommon && (commonMembership?.blocks.hasBlock(after: hidden) ?? false)
    }

    func countBlocks(_ change: Int) {
        queuedBlocks.store(queuedBlocks.load(ordering: .relaxed) + change, ordering: .relaxed)
    }

    // MARK: Counts

    /// The number of posted blocks that have yet to run. From any thread; exact on the loop's own. Relaxed: they are
    /// counts for diagnostics.
    package var waitingBlocks: Int {
        queuedBlocks.load(ordering: .relaxed) + (discardsBlocks ? 0 : takenBlocks.load(ordering: .relaxed))
    }

    /// The number of waiting blocks that the innermost run cannot perform: those of other modes, and the batches of the
    /// runs that it interrupts. On the loop's own thread, inside a run.
    var blocksThatInnermostRunCannotPerform: Int {
        lock.withLock {
            guard let run = innermostRun else { return 0 }
            let common = run.mode.isCommon ? commonMembership?.blocks.count ?? 0 : 0
            return max(0, waitingBlocks - run.batch.count - run.mode.blocks.count - common)
        }
    }
}
