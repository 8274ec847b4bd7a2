import RunLoopKit
import Synchronization

/// The threads that a tracer has seen, with their names. Of fixed size; found and entered without a lock or an
/// allocation, even in a Unix signal handler.
///
/// | thread | what it does | memory order |
/// |---|---|---|
/// | one that is seen | searches its number from the slot that the number selects | relaxed |
/// | | if it finds an empty slot first, swaps in its number | relaxed: only this thread enters this number |
/// | | stores its name, then its id, which is never 0 | releasing |
/// | the reader | reads the id; a thread whose id is still 0 has no name yet | acquiring |
final class TraceThreads: @unchecked Sendable {
    private struct Entry: ~Copyable {
        let number = Atomic<UInt32>(0)
        let id = Atomic<Int32>(0)
        let firstHalf = Atomic<UInt64>(0)
        let secondHalf = Atomic<UInt64>(0)
    }

    static let capacity = 256
    /// The index of all threads for which there is no slot left.
    static let others = UInt16(capacity)

    private let entries: UnsafeMutablePointer<Entry>

    init() {
        // Initializes what a signal handler must not.
        _ = System.threadNumber
        entries = .allocate(capacity: TraceThreads.capacity)
        for index in 0..<TraceThreads.capacity { (entries + index).initialize(to: Entry()) }
    }

    deinit {
        entries.deinitialize(count: TraceThreads.capacity)
        entries.deallocate()
    }

    /// The index of the calling thread.
    @inline(__always)
    var indexOfCurrent: UInt16 {
        let number = System.threadNumber
        let index = Int(number) % TraceThreads.capacity
        if entries[index].number.load(ordering: .relaxed) == number { return UInt16(index) }
        return indexOfCurrentSlowly(number)
    }

    @inline(never)
    private func indexOfCurrentSlowly(_ number: UInt32) -> UInt16 {
        for step in 0..<TraceThreads.capacity {
            let index = (Int(number) + step) % TraceThreads.capacity
            let result = entries[index].number.compareExchange(expected: 0, desired: number, ordering: .relaxed)
            if result.exchanged { enter(at: index) }
            if result.exchanged || result.original == number { return UInt16(index) }
        }
        return TraceThreads.others
    }

    private func enter(at index: Int) {
        let identity = System.threadIdentity
        entries[index].firstHalf.store(identity.name.0, ordering: .relaxed)
        entries[index].secondHalf.store(identity.name.1, ordering: .relaxed)
        entries[index].id.store(identity.id, ordering: .releasing)
    }

    /// The name that a thread had when it was seen first, and its id of the kernel.
    func thread(at index: UInt16) -> LoopTrace.Thread {
        guard index < TraceThreads.others else { return LoopTrace.Thread(name: "other threads", id: 0) }
        let entry = entries + Int(index)
        let id = entry.pointee.id.load(ordering: .acquiring)
        let name = (
            entry.pointee.firstHalf.load(ordering: .relaxed), entry.pointee.secondHalf.load(ordering: .relaxed)
        )
        return LoopTrace.Thread(name: id == 0 ? "a thread" : System.threadName(name).printable, id: id)
    }
}
