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
/// A block that was posted for several modes is in the queue of each, and leaves all of them when one takes it.
/// Finding a block by its number is a binary search: a block that leaves from the middle leaves a gap, so the numbers
/// stay sorted.
struct BlockQueue {
    struct Entry {
        /// The block's place among all blocks of the loop: they run in the order of their numbers.
        let number: UInt64
        /// Nil for a gap.
        fileprivate(set) var block: PostedBlock?

        /// Removes the block; a gap is left.
        mutating func takeBlock() -> PostedBlock? { exchange(&block, with: nil) }
    }

    /// Storage for more blocks is given back when they have left.
    static let usualCapacity = 1_024

    /// The first and the last of those from `head` on are not gaps.
    private var entries: [Entry] = []
    private var head = 0
    private var gaps = 0

    /// The number of the last block that came with a handle, or that a caller waits for. Such a block must be found in
    /// the queue until it runs: it may be withdrawn or dropped while another runs.
    private var lastSought: UInt64 = 0

    var isEmpty: Bool { head == entries.count }

    /// All blocks.
    var all: [Entry] { entries[head...].filter { $0.block != nil } }

    /// Whether a block waits whose number is larger than `number`.
    func hasBlock(after number: UInt64) -> Bool { !isEmpty && entries[entries.count - 1].number > number }

    /// The number of the first block whose number is larger than `number`; the largest integer if there is none.
    func firstNumber(after number: UInt64) -> UInt64 {
        guard hasBlock(after: number) else { return .max }
        var index = index(after: number)
        while entries[index].block == nil { index += 1 }
        return entries[index].number
    }

    /// - Parameter isSought: Whether the block has a handle, or a caller waits for it to run or to be dropped.
    @inline(__always)
    mutating func append(_ block: consuming PostedBlock, number: UInt64, isSought: Bool) {
        if isSought { lastSought = number }
        entries.append(Entry(number: number, block: block))
    }

    /// Removes the block with this number; nil if it is not here.
    @discardableResult
    mutating func remove(_ number: UInt64) -> PostedBlock? {
        guard !isEmpty else { return nil }
        let index = index(after: number - 1)
        guard index < entries.count, entries[index].number == number, entries[index].block != nil else { return nil }
        return takeBlock(at: index)
    }

    /// Removes the first block whose number is larger than `number`, if it is not larger than `end`. Sets `number` to
    /// its number.
    @inline(__always)
    mutating func removeFirst(after number: inout UInt64, upTo end: UInt64) -> PostedBlock? {
        guard head < entries.count else { return nil }
        // Nearly always it is the first one, and often the only one.
        let first = entries[head].number
        guard first > number else { return removeLater(after: &number, upTo: end) }
        guard first <= end else { return nil }
        number = first
        // A large queue gives its storage back.
        let isUsual = entries.count == 1 && entries.capacity <= BlockQueue.usualCapacity
        return isUsual ? entries.removeLast().block : takeBlock(at: head)
    }

    @inline(never)
    private mutating func removeLater(after number: inout UInt64, upTo end: UInt64) -> PostedBlock? {
        guard hasBlock(after: number) else { return nil }
        var index = index(after: number)
        while entries[index].block == nil { index += 1 }
        guard entries[index].number <= end else { return nil }
        number = entries[index].number
        return takeBlock(at: index)
    }

    private mutating func takeBlock(at index: Int) -> PostedBlock? {
        let block: PostedBlock?
        if index == entries.count - 1 {
            block = entries.removeLast().block
        } else {
            block = entries[index].takeBlock()
            if index == head { head += 1 } else { gaps += 1 }
        }
        if gaps > 0 { closeGaps() }
        if isEmpty || head + gaps > 64 { giveBack() }
        return block
    }

    /// Moves all blocks to a batch, if there are several, all with numbers larger than `number`, and none that must be
    /// found here until it runs. Returns how many it has moved.
    mutating func moveAll(after number: UInt64, to batch: inout BlockBatch) -> Int {
        guard head == 0, gaps == 0, entries.count > 1, entries[0].number > max(number, lastSought) else { return 0 }
        let count = entries.count
        batch.fill(exchangingStorageWith: &entries)
        return count
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

    /// Removes gaps at both ends.
    private mutating func closeGaps() {
        while !isEmpty, entries[head].block == nil {
            head += 1
            gaps -= 1
        }
        while !isEmpty, entries[entries.count - 1].block == nil {
            entries.removeLast()
            gaps -= 1
        }
    }

    /// Gives back the storage of blocks that have left.
    private mutating func giveBack() {
        if isEmpty {
            // The storage of a usual queue is kept, so that posting does not allocate each time. One by one:
            // `removeAll(keepingCapacity:)` takes 130 instructions, and there is mostly none.
            if entries.capacity > BlockQueue.usualCapacity { entries = [] }
            while !entries.isEmpty { entries.removeLast() }
            head = 0
        } else if head + gaps > entries.count / 2 {
            entries.removeFirst(head)
            if gaps > 0 { entries.removeAll { $0.block == nil } }
            (head, gaps) = (0, 0)
        }
    }
}
