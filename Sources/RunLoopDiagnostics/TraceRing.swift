import RunLoopKit
import Synchronization

/// A ring of events that any number of threads write at the same time, even Unix signal handlers.
///
/// It never waits: an event that finds no free slot is dropped. The ring consists of atomic words only. Each slot has a
/// *mark*, which says which event it holds, and the words of the event. Event number `n`, from 0, belongs in slot
/// `n % capacity`; it is *whole* when the mark is `2 * (n + 1)`, and being written while the mark is one more. The
/// protocol, which `TraceRingTests` explores in every interleaving:
///
/// | thread | what it does | memory order |
/// |---|---|---|
/// | a writer | takes the next number | relaxed: the number only has to be different from all others |
/// | | drops the event if the slot's mark is odd, or is that of a later event | relaxed |
/// | | swaps in its odd mark; drops the event if the mark has changed meanwhile | acquiring |
/// | | stores the words | releasing |
/// | | stores its even mark | releasing |
/// | the reader | reads the mark; skips the event unless the mark is that of the whole event | acquiring |
/// | | reads the words | acquiring |
/// | | reads the mark again; skips the event if the mark has changed | relaxed |
///
/// At most one writer writes a slot at a time: the swap succeeds for one, and others find an odd mark. The acquiring
/// swap orders this writer's words after those of the slot's last writer, which stored its even mark after them.
///
/// No event is torn. If the reader has read a word of a later event, that acquiring read pairs with the releasing store
/// of the word, which comes after the writer's swap. So the second read of the mark finds the odd mark, or a later one.
/// If the reader has read a word of an earlier event, the first read of the mark did not find this event's even mark.
///
/// Every number that the reader skips is an event that is lost: overwritten, dropped, or not whole yet.
final class TraceRing: @unchecked Sendable {
    /// The words of an event. A slot is a cache line.
    static let wordCount = 7
    private static let slotSize = wordCount + 1
    private static let slotBytes = slotSize * MemoryLayout<Atomic<UInt64>>.stride

    typealias Words = (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

    /// The number of slots: a power of two.
    let capacity: Int
    private let memory: UnsafeMutablePointer<Atomic<UInt64>>
    private let nextNumber = Atomic<UInt64>(0)

    /// - Parameter capacity: The least number of slots.
    init(capacity: Int) {
        var slots = 1
        while slots < capacity { slots *= 2 }
        self.capacity = slots
        // An atomic word that is 0 consists of zero bytes, and needs no deinitialization. So the kernel provides a page
        // when the first event is written to it.
        memory = System.mapZeroBytes(slots * TraceRing.slotBytes)
            .bindMemory(to: Atomic<UInt64>.self, capacity: slots * TraceRing.slotSize)
    }

    deinit { System.unmap(memory, capacity * TraceRing.slotBytes) }

    // MARK: Writing

    /// Writes an event, or drops it. From any thread, even in a Unix signal handler.
    @inline(__always)
    func write(_ words: Words) {
        let number = takeNumber()
        guard claim(number) else { return }
        store(words, of: number)
        finish(number)
    }

    // The steps of a writer, for the test that takes them one by one.

    @inline(__always)
    func takeNumber() -> UInt64 { nextNumber.wrappingAdd(1, ordering: .relaxed).oldValue }

    @inline(__always)
    func claim(_ number: UInt64) -> Bool {
        let slot = slot(of: number)
        let found = slot.pointee.load(ordering: .relaxed)
        guard found & 1 == 0, found < TraceRing.mark(of: number) else { return false }
        return slot.pointee.compareExchange(
            expected: found, desired: TraceRing.mark(of: number) | 1, successOrdering: .acquiring,
            failureOrdering: .relaxed
        ).exchanged
    }

    @inline(__always)
    func store(_ words: Words, of number: UInt64) {
        let slot = slot(of: number)
        slot[1].store(words.0, ordering: .releasing)
        slot[2].store(words.1, ordering: .releasing)
        slot[3].store(words.2, ordering: .releasing)
        slot[4].store(words.3, ordering: .releasing)
        slot[5].store(words.4, ordering: .releasing)
        slot[6].store(words.5, ordering: .releasing)
        slot[7].store(words.6, ordering: .releasing)
    }

    @inline(__always)
    func finish(_ number: UInt64) {
        slot(of: number).pointee.store(TraceRing.mark(of: number), ordering: .releasing)
    }

    // MARK: Reading

    /// How many events were written or dropped so far.
    var writtenCount: UInt64 { nextNumber.load(ordering: .relaxed) }

    /// The event with a number; nil if it is lost. From any thread, while others write.
    func read(_ number: UInt64) -> Words? {
        let slot = slot(of: number)
        guard slot.pointee.load(ordering: .acquiring) == TraceRing.mark(of: number) else { return nil }
        let words = (
            slot[1].load(ordering: .acquiring), slot[2].load(ordering: .acquiring), slot[3].load(ordering: .acquiring),
            slot[4].load(ordering: .acquiring), slot[5].load(ordering: .acquiring), slot[6].load(ordering: .acquiring),
            slot[7].load(ordering: .acquiring)
        )
        return slot.pointee.load(ordering: .relaxed) == TraceRing.mark(of: number) ? words : nil
    }

    @inline(__always)
    private static func mark(of number: UInt64) -> UInt64 { (number + 1) << 1 }

    @inline(__always)
    private func slot(of number: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> {
        memory + Int(truncatingIfNeeded: number & UInt64(capacity - 1)) * TraceRing.slotSize
    }
}
