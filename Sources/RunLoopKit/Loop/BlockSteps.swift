/// Which blocks a block step may run: those posted before it that no enclosing block step may run.
///
/// A block may run the loop nested. The blocks that the interrupted step has yet to run, in whatever mode, then do not
/// exist for the nested run, as in CF, which takes the whole list out of the loop. Here they stay in their queues, and
/// the nested run ignores their numbers.
struct BlockStep {
    /// The number of the last block that the step has run or passed over.
    fileprivate(set) var last: UInt64
    /// The number of the last block that was posted before the step.
    let end: UInt64
    /// `Loop.hiddenBlocks` outside the step.
    fileprivate let outer: UInt64
}

extension Loop {
    // Called with the lock held.

    func append(_ modes: ModeFilter, _ handle: PendingBlock?, _ body: @escaping @Sendable () -> Void) {
        lock.assertHeld()
        lastBlock += 1
        handle?.posting = (lastBlock, modes)
        let block = PostedBlock(body: body, handle: handle)
        // A mode that a block was posted for exists.
        switch modes {
        case .one(let mode): stateForBlocks(in: mode).blocks.append(block, number: lastBlock)
        case .any(let modes):
            assert(handle != nil, "RunLoopKit: a block for several modes leaves all queues by its handle.")
            // Sorted: the modes come into being in this order.
            for mode in modes.sorted(by: { $0.name < $1.name }) {
                stateForBlocks(in: mode).blocks.append(block, number: lastBlock)
            }
        }
        countBlocks(1)
    }

    private func stateForBlocks(in mode: Mode) -> ModeState {
        existingStateForBlocks(in: mode) ?? (mode == .common ? stateOfCommon() : state(for: mode))
    }

    private func existingStateForBlocks(in mode: Mode) -> ModeState? {
        existingState(for: mode) ?? (mode == .common ? commonMembership : nil)
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
            for entry in state.blocks.all { taken[entry.number] = entry.block }
            state.blocks.removeAll()
        }
        blockCount.store(0, ordering: .relaxed)
        return taken.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Whether a block waits that may run in this mode.
    func hasBlock(for mode: ModeState) -> Bool {
        lock.assertHeld()
        return mode.blocks.hasBlock(after: hiddenBlocks)
            || mode.isCommon && (commonMembership?.blocks.hasBlock(after: hiddenBlocks) ?? false)
    }

    func beginBlockStep() -> BlockStep {
        lock.assertHeld()
        defer { hiddenBlocks = lastBlock }
        return BlockStep(last: hiddenBlocks, end: lastBlock, outer: hiddenBlocks)
    }

    /// Removes the next block for the mode; nil if the step has run all. Whether the mode is a common one is asked each
    /// time: the block before may have made it one.
    func takeBlock(of step: inout BlockStep, in mode: ModeState) -> PostedBlock? {
        lock.assertHeld()
        let own = mode.blocks.firstNumber(after: step.last)
        let common = mode.isCommon ? commonMembership?.blocks.firstNumber(after: step.last) ?? .max : .max
        let number = min(own, common)
        guard number <= step.end else { return nil }
        step.last = number
        let queue = number == own ? mode : commonMembership!
        let block = queue.blocks.remove(number)
        countBlocks(-1)
        // A block for several modes leaves the queues of the others too.
        if let modes = block?.modes { takeOut(number, for: modes) }
        return block
    }

    func end(_ step: BlockStep) {
        lock.assertHeld()
        hiddenBlocks = step.outer
    }

    private func countBlocks(_ change: Int) {
        blockCount.store(blockCount.load(ordering: .relaxed) + change, ordering: .relaxed)
    }
}
