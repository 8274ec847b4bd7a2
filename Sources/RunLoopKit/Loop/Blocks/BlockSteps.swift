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
        if let modes = block.modes { removeFromQueues(step.last, of: modes) }
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

    /// Whether the next block for a mode was posted for `common`.
    private func commonComesFirst(after number: UInt64, in mode: ModeState) -> Bool {
        guard mode.isCommon, let common = commonMembership, !common.blocks.isEmpty else { return false }
        return common.blocks.firstNumber(after: number) < mode.blocks.firstNumber(after: number)
    }

    /// Ends a block step. Called without the lock.
    func end(_ step: BlockStep) { own.hiddenBlocks = step.outer }
}
