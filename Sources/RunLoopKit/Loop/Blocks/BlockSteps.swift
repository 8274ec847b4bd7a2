/// Which blocks a block step may run: those posted before it that no enclosing block step may run.
///
/// A block may run the loop nested. For the nested run, the blocks that the interrupted step has yet to run, in any
/// mode, do not exist. CF does the same: it takes the whole list out of the loop. Here they are in the batch of the
/// interrupted run, or stay in their queues, and the nested run ignores their numbers.
struct BlockStep {
    /// The number of the last block that the step has run or passed over.
    fileprivate(set) var last: UInt64
    /// The number of the last block that was posted before the step.
    let end: UInt64
    /// `OwnThreadState.hiddenBlocks` outside the step.
    fileprivate let outer: UInt64

    /// Whether no block is left that the step may run.
    var isOver: Bool { last >= end }
}

extension Loop {
    // Called with the lock held.

    // A mode that a block was posted for exists.

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
        case .any(let modes): taken = takeOut(number, for: modes)
        }
        if taken != nil { countBlocks(-1) }
        return taken
    }

    @discardableResult
    private func takeOut(_ number: UInt64, for modes: Set<Mode>) -> PostedBlock? {
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

    /// Begins a block step of a run. Called by the loop's thread; `end(_:)` follows.
    @inline(__always)
    func beginBlockStep(of run: Run) -> BlockStep {
        lock.assertHeld()
        let hidden = own.hiddenBlocks
        own.hiddenBlocks = lastBlock
        var step = BlockStep(last: hidden, end: lastBlock, outer: hidden)
        takeBatch(of: &step, for: run)
        return step
    }

    /// Takes all blocks of a step out of their queue, as the run's batch, if they are all in one queue. Never within a
    /// budget, which may leave blocks to a later pass.
    private func takeBatch(of step: inout BlockStep, for run: Run) {
        guard run.budgetEnd == nil else { return }
        let mode = run.mode
        let count: Int
        if let common = commonMembership, !common.blocks.isEmpty {
            // Those for the mode and those for `common` run in turn. A block may make the mode a common one.
            guard mode.isCommon, mode.blocks.isEmpty else { return }
            count = common.blocks.moveAll(after: step.last, to: &run.batch)
        } else {
            count = mode.blocks.moveAll(after: step.last, to: &run.batch)
        }
        guard count > 0 else { return }
        step.last = step.end
        countBlocks(-count)
        countTaken(count)
    }

    /// Removes the next block of a run's step; nil if the step has run all. Called by the loop's thread, without the
    /// lock.
    @inline(__always)
    func takeBlock(of step: inout BlockStep, for run: Run) -> PostedBlock? {
        if let block = takeBlock(ofBatchOf: run) { return block }
        return step.isOver ? nil : takeQueuedBlock(of: &step, in: run.mode)
    }

    @inline(__always)
    private func takeBlock(ofBatchOf run: Run) -> PostedBlock? {
        guard let block = run.batch.removeFirst() else { return nil }
        countTaken(-1)
        return block
    }

    /// The same, in a step without a batch. Asks each time whether the mode is a common one: the block before may have
    /// made it one.
    @inline(never)
    private func takeQueuedBlock(of step: inout BlockStep, in mode: ModeState) -> PostedBlock? {
        lock.lock()
        defer { lock.unlock() }
        let taken =
            commonComesFirst(after: step.last, in: mode)
            ? commonMembership!.blocks.removeFirst(after: &step.last, upTo: step.end)
            : mode.blocks.removeFirst(after: &step.last, upTo: step.end)
        guard let block = taken else { return nil }
        countBlocks(-1)
        // A block for several modes leaves the queues of the others too.
        if let modes = block.modes { takeOut(step.last, for: modes) }
        return block
    }

    /// Removes the blocks that a thread left in its batches when it exited inside a block, in the order of posting.
    func takeBatches() -> [PostedBlock] {
        lock.assertHeld()
        guard let innermostRun, takenBlocks.load(ordering: .relaxed) > 0 else { return [] }
        var taken: [PostedBlock] = []
        for run in innermostRun.stack.reversed() {
            while let block = takeBlock(ofBatchOf: run) { taken.append(block) }
        }
        return taken
    }

    private func countTaken(_ change: Int) {
        takenBlocks.store(takenBlocks.load(ordering: .relaxed) + change, ordering: .relaxed)
    }

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

    /// Whether the next block for a mode was posted for `common`.
    private func commonComesFirst(after number: UInt64, in mode: ModeState) -> Bool {
        guard mode.isCommon, let common = commonMembership, !common.blocks.isEmpty else { return false }
        return common.blocks.firstNumber(after: number) < mode.blocks.firstNumber(after: number)
    }

    /// Ends a block step. Called without the lock.
    func end(_ step: BlockStep) { own.hiddenBlocks = step.outer }

    private func countBlocks(_ change: Int) {
        queuedBlocks.store(queuedBlocks.load(ordering: .relaxed) + change, ordering: .relaxed)
    }
}
