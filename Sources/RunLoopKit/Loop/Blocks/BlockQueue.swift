/// A block that was posted to a loop.
struct PostedBlock {
    let body: @Sendable () -> Void
    /// Nil for nearly every block: one that was posted for a single mode, cannot be withdrawn and is not traced.
    let handle: Loop.PendingBlock?

    /// The modes whose queues it is in; nil if it is in a single queue.
    var modes: Set<Loop.Mode>? {
        if let posting = handle?.posting, case .any(let modes) = posting.modes { modes } else { nil }
    }
}

/// The modes that a posted block may run in.
enum ModeFilter: Sendable {
    case one(Loop.Mode)
    case any(Set<Loop.Mode>)
}

/// The blocks that wait for one mode, or for `common`, in the order of their numbers. Guarded by the loop's lock.
///
/// A block that was posted for several modes is in the queue of each, and leaves all of them when one takes it. Finding
/// a block by its number is a binary search. A block that leaves from the middle leaves a gap, so the numbers stay
/// sorted.
///
/// A block step moves the blocks of a queue to another one, its batch, if it can. The loop and its senders then meet at
/// the lock once for each step instead of once for each block, which saves a third of the time of a post.
struct BlockQueue: ~Copyable {
    struct Entry {
        /// The block's place among all blocks of the loop: they run in the order of their numbers.
        let number: UInt64
        /// Nil for a gap.
        fileprivate(set) var block: PostedBlock?
    }

    /// The first and the last one are not gaps.
    private var entries = ChunkedQueue<Entry>()
    private var gaps = 0

    /// The number of the last block that came with a handle, or that a caller waits for. Such a block must be found in
    /// the queue until it runs: it may be withdrawn or dropped while another runs.
    private var lastSought: UInt64 = 0

    var isEmpty: Bool { entries.isEmpty }

    /// How many blocks wait.
    var count: Int { entries.count - gaps }

    /// Whether a block waits whose number is larger than `number`.
    func hasBlock(after number: UInt64) -> Bool { !isEmpty && entries.last.number > number }

    /// The number of the first block whose number is larger than `number`; the largest integer if there is none.
    func firstNumber(after number: UInt64) -> UInt64 {
        hasBlock(after: number) ? entries[indexOfBlock(after: number)].number : .max
    }

    /// - Parameter isSought: Whether the block has a handle, or a caller waits for it to run or to be dropped.
    @inline(__always)
    mutating func append(_ block: consuming PostedBlock, number: UInt64, isSought: Bool) {
        if isSought { lastSought = number }
        entries.append(Entry(number: number, block: block))
    }

    /// Removes the first block; nil if there is none.
    @inline(__always)
    mutating func removeFirst() -> PostedBlock? { isEmpty ? nil : takeBlock(at: 0) }

    /// Removes the block with this number; nil if it is not here.
    mutating func remove(_ number: UInt64) -> PostedBlock? {
        guard hasBlock(after: number - 1) else { return nil }
        let index = index(after: number - 1)
        return entries[index].number == number ? takeBlock(at: index) : nil
    }

    /// Removes the first block whose number is larger than `number`, if it is not larger than `end`. Sets `number` to
    /// its number.
    @inline(__always)
    mutating func removeFirst(after number: inout UInt64, upTo end: UInt64) -> PostedBlock? {
        guard !isEmpty else { return nil }
        // Nearly always it is the first one.
        let first = entries.first.number
        guard first > number else { return removeFirstSlowly(after: &number, upTo: end) }
        guard first <= end else { return nil }
        number = first
        return takeBlock(at: 0)
    }

    @inline(never)
    private mutating func removeFirstSlowly(after number: inout UInt64, upTo end: UInt64) -> PostedBlock? {
        guard hasBlock(after: number) else { return nil }
        let index = indexOfBlock(after: number)
        guard entries[index].number <= end else { return nil }
        number = entries[index].number
        return takeBlock(at: index)
    }

    /// Moves all blocks to an empty queue, if their numbers are larger than `number`, and none must be found here until
    /// it runs. Returns how many it has moved.
    @inline(__always)
    mutating func moveAll(after number: UInt64, to batch: inout BlockQueue) -> Int {
        assert(batch.isEmpty, "RunLoopKit: a batch of blocks was filled again before its blocks had run.")
        guard !isEmpty, gaps == 0, entries.first.number > max(number, lastSought) else { return 0 }
        swap(&entries, &batch.entries)
        return batch.entries.count
    }

    /// Removes all blocks. Returns them with their numbers.
    mutating func removeAll() -> [Entry] {
        var removed: [Entry] = []
        while !isEmpty {
            let number = entries.first.number
            removed.append(Entry(number: number, block: takeBlock(at: 0)))
        }
        return removed
    }

    /// The index of the first block whose number is larger than `number`. There is one.
    private func indexOfBlock(after number: UInt64) -> Int {
        if entries.first.number > number { return 0 }
        var index = index(after: number)
        while entries[index].block == nil { index += 1 }
        return index
    }

    /// The index of the first entry, a gap or not, whose number is larger than `number`.
    @inline(never)
    private func index(after number: UInt64) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number > number { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Removes a block; nil for a gap.
    @inline(__always)
    private mutating func takeBlock(at index: Int) -> PostedBlock? {
        guard index == 0, gaps == 0 else { return takeBlockLeavingGap(at: index) }
        return entries.removeFirst().block
    }

    @inline(never)
    private mutating func takeBlockLeavingGap(at index: Int) -> PostedBlock? {
        guard let block = entries[index].block.take() else { return nil }
        gaps += 1
        while gaps > 0, entries.first.block == nil { removeGap { $0.removeFirst() } }
        while gaps > 0, entries.last.block == nil { removeGap { $0.removeLast() } }
        if gaps > 64, gaps > entries.count / 2 { removeGaps() }
        return block
    }

    private mutating func removeGap(_ remove: (inout ChunkedQueue<Entry>) -> Entry) {
        _ = remove(&entries)
        gaps -= 1
    }

    private mutating func removeGaps() {
        var blocks = ChunkedQueue<Entry>()
        while !entries.isEmpty {
            let entry = entries.removeFirst()
            if entry.block != nil { blocks.append(entry) }
        }
        entries = blocks
        gaps = 0
    }
}
