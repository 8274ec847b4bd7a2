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
    }

    /// The first and the last of those from `head` on are not gaps.
    private var entries: [Entry] = []
    private var head = 0
    private var gaps = 0

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

    mutating func append(_ block: PostedBlock, number: UInt64) {
        entries.append(Entry(number: number, block: block))
    }

    /// Removes the block with this number; nil if it is not here.
    @discardableResult
    mutating func remove(_ number: UInt64) -> PostedBlock? {
        guard !isEmpty else { return nil }
        let index = index(after: number - 1)
        guard index < entries.count, entries[index].number == number,
            let block = exchange(&entries[index].block, with: nil)
        else {
            return nil
        }
        if index == head { head += 1 } else { gaps += 1 }
        if gaps > 0 { closeGaps() }
        giveBack()
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
            // The storage of a usual queue is kept, so that posting does not allocate each time.
            entries.removeAll(keepingCapacity: entries.capacity <= 1_024)
            head = 0
        } else if head + gaps > 64, head + gaps > entries.count / 2 {
            entries.removeFirst(head)
            if gaps > 0 { entries.removeAll { $0.block == nil } }
            (head, gaps) = (0, 0)
        }
    }
}
