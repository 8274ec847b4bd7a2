/// The blocks that a block step has taken out of a queue together, and has yet to run.
///
/// The loop and its senders then meet at the lock once for each step, and not once for each block, which saves a third
/// of the time of a post. Only the loop's thread accesses a batch.
struct BlockBatch {
    private var entries: [BlockQueue.Entry] = []
    private var next = 0

    /// Takes the entries of a queue, none of which is a gap, and gives it the batch's storage for those to come.
    mutating func fill(exchangingStorageWith others: inout [BlockQueue.Entry]) {
        assert(entries.isEmpty, "RunLoopKit: a batch of blocks was filled again before its blocks had run.")
        swap(&entries, &others)
    }

    /// Removes the first block; nil if none is left.
    mutating func removeFirst() -> PostedBlock? {
        guard next < entries.count else {
            // The storage of a usual queue is kept, so that posting does not allocate each time.
            entries.removeAll(keepingCapacity: entries.capacity <= BlockQueue.usualCapacity)
            next = 0
            return nil
        }
        defer { next += 1 }
        return entries[next].takeBlock()
    }
}
