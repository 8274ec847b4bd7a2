import Synchronization

/// A block that was posted to a loop.
struct PostedBlock {
    /// Its place among all blocks of the loop: they run in the order of their numbers.
    let number: UInt64
    let modes: ModeFilter
    let handle: Loop.PendingBlock?
    let body: @Sendable () -> Void
}

/// The modes that a posted block may run in.
enum ModeFilter: Sendable {
    case one(Loop.Mode)
    case any(Set<Loop.Mode>)

    func forEach(_ body: (Loop.Mode) -> Void) {
        switch self {
        case .one(let mode): body(mode)
        // Sorted: the modes come into being in this order.
        case .any(let modes): for mode in modes.sorted(by: { $0.name < $1.name }) { body(mode) }
        }
    }
}

/// The blocks that wait for one mode, or for `common`, in the order of their numbers. Guarded by the loop's lock.
///
/// A block that was posted for several modes is in the queue of each, and leaves all of them when one takes it.
/// Finding a block by its number is a binary search: a block that leaves from the middle leaves a gap, so the numbers
/// stay sorted.
struct BlockQueue {
    private struct Entry {
        let number: UInt64
        /// Nil for a gap.
        var block: PostedBlock?
    }

    /// The first and the last of those from `head` on are not gaps.
    private var entries: [Entry] = []
    private var head = 0
    private var gaps = 0

    var isEmpty: Bool { head == entries.count }

    /// All blocks.
    var all: [PostedBlock] { entries[head...].compactMap(\.block) }

    /// Whether a block waits whose number is larger than `number`.
    func hasBlock(after number: UInt64) -> Bool { !isEmpty && entries[entries.count - 1].number > number }

    /// The number of the first block whose number is larger than `number`.
    func firstNumber(after number: UInt64) -> UInt64? {
        guard hasBlock(after: number) else { return nil }
        var index = index(after: number)
        while entries[index].block == nil { index += 1 }
        return entries[index].number
    }

    mutating func append(_ block: PostedBlock) { entries.append(Entry(number: block.number, block: block)) }

    /// Removes the block with this number; nil if it is not here.
    @discardableResult
    mutating func remove(_ number: UInt64) -> PostedBlock? {
        guard !isEmpty else { return nil }
        let index = index(after: number - 1)
        guard index < entries.count, entries[index].number == number, let block = entries[index].block.take() else {
            return nil
        }
        gaps += 1
        closeGaps()
        return block
    }

    mutating func removeAll() { self = BlockQueue() }

    /// The index of the first entry, a gap or not, whose number is larger than `number`. That is nearly always the
    /// first one.
    private func index(after number: UInt64) -> Int {
        if entries[head].number > number { return head }
        var (low, high) = (head + 1, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number > number { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private mutating func closeGaps() {
        while !isEmpty, entries[head].block == nil {
            head += 1
            gaps -= 1
        }
        while !isEmpty, entries[entries.count - 1].block == nil {
            entries.removeLast()
            gaps -= 1
        }
        if isEmpty {
            // The storage of a usual queue is kept, so that posting does not allocate each time.
            entries.removeAll(keepingCapacity: entries.capacity <= 1_024)
            head = 0
        } else if head + gaps > 64, head + gaps > entries.count / 2 {
            entries = entries[head...].filter { $0.block != nil }
            (head, gaps) = (0, 0)
        }
    }
}

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
        let block = PostedBlock(number: lastBlock, modes: modes, handle: handle, body: body)
        handle?.posting = (lastBlock, modes)
        // A mode that a block was posted for exists.
        modes.forEach { mode in (mode == .common ? stateOfCommon() : state(for: mode)).blocks.append(block) }
        countBlocks(1)
    }

    /// Removes a block from all queues that it is in; nil if it is in none.
    func takeOut(_ number: UInt64, for modes: ModeFilter) -> PostedBlock? {
        lock.assertHeld()
        var taken: PostedBlock?
        modes.forEach { mode in
            let state = mode == .common ? commonMembership : existingState(for: mode)
            if let block = state?.blocks.remove(number) { taken = block }
        }
        if taken != nil { countBlocks(-1) }
        return taken
    }

    /// Removes all blocks, for a loop that ends. Returns them in order.
    func takeAllBlocks() -> [PostedBlock] {
        lock.assertHeld()
        var taken: [UInt64: PostedBlock] = [:]
        for state in modeStates + [commonMembership].compactMap({ $0 }) {
            for block in state.blocks.all { taken[block.number] = block }
            state.blocks.removeAll()
        }
        blockCount.store(0, ordering: .relaxed)
        return taken.values.sorted { $0.number < $1.number }
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
        let common = mode.isCommon ? commonMembership?.blocks.firstNumber(after: step.last) : nil
        guard let number = common.map({ min($0, own ?? .max) }) ?? own, number <= step.end else { return nil }
        step.last = number
        let queue = number == own ? mode : commonMembership!
        let block = queue.blocks.remove(number)
        countBlocks(-1)
        // A block for several modes leaves the queues of the others too.
        if let block, case .any(let modes) = block.modes {
            for mode in modes { (mode == .common ? commonMembership : existingState(for: mode))?.blocks.remove(number) }
        }
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

extension Loop {
    /// A posted block that can be withdrawn. Made by ``Loop/performCancellable(in:wake:label:file:line:_:)``.
    ///
    /// Releasing this object changes nothing: the block still runs.
    public final class PendingBlock: @unchecked Sendable {
        private enum State: UInt8, AtomicRepresentable { case waiting, taken, withdrawn }

        private let state = Atomic<State>(.waiting)
        private weak let loop: Loop?

        /// The block's number and modes. Guarded by the loop's lock.
        @exclusivity(unchecked) var posting: (number: UInt64, modes: ModeFilter)?

        /// Where the block was posted.
        let place: Place
        /// The number of the handover; 0 if no monitor is notified of it.
        let number: UInt64

        init(loop: Loop, _ place: Place) {
            self.loop = loop
            self.place = place
            number = loop.isMonitored.load(ordering: .relaxed) ? Turn.next() : 0
        }

        /// Withdraws the block. Returns true if it has not begun to run and never will; false if it has begun, was
        /// withdrawn before, or was dropped with its loop. From any thread.
        @discardableResult
        public func withdraw() -> Bool {
            guard change(to: .withdrawn) else { return false }
            loop?.discard(self)
            return true
        }

        var isWithdrawn: Bool { state.load(ordering: .relaxed) == .withdrawn }

        /// Claims the block for running; false if it was withdrawn.
        func take() -> Bool { change(to: .taken) }

        /// Relaxed: the exchange decides between two threads and publishes nothing.
        private func change(to new: State) -> Bool {
            state.compareExchange(expected: .waiting, desired: new, ordering: .relaxed).exchanged
        }
    }
}
