import RunLoopKit
import Synchronization

/// The names of the items and modes that a tracer has seen. A name is a number from 1; 0 is none.
///
/// An item is entered once, by its loop's thread when that first calls it: this takes a lock and allocates. Later
/// callouts find it by its address, without either. An item that finds the table full takes neither, and has no name.
///
/// An unowned reference to each item keeps its memory, not the item: an address is of one item for as long as the
/// tracer exists, and the items live no longer than without a tracer.
///
/// | thread | what it does | memory order |
/// |---|---|---|
/// | a loop's | searches the item's address from the slot that the address selects | acquiring |
/// | | if there is none, with the lock held: stores the name's number, then the address | releasing |
/// | a sender's | searches the same way, and enters nothing | acquiring |
final class TraceNames: @unchecked Sendable {
    /// A name, and what else the reader of a trace must know of an item.
    struct Entry {
        var text: String
        /// How much later than scheduled a timer may fire.
        var tolerance: Int64 = 0
        /// The interval of a timer that repeats; otherwise 0.
        var interval: Int64 = 0

        init(text: String) { self.text = text }

        /// May take the item's lock.
        init(_ item: Loop.Item) {
            text = item.name
            guard let timer = item as? Loop.Timer else { return }
            (tolerance, interval) = (timer.tolerance.wholeNanoseconds, timer.interval.wholeNanoseconds)
        }

        /// For timers of the same name: what is late for each of them.
        static func mostPatient(_ first: Entry, _ second: Entry) -> Entry {
            var entry = first
            entry.tolerance = max(first.tolerance, second.tolerance)
            entry.interval = max(first.interval, second.interval)
            return entry
        }
    }

    private struct Slot: ~Copyable {
        let address = Atomic<UInt>(0)
        let name = Atomic<UInt32>(0)
    }

    private final class Reference: Sendable {
        unowned let item: Loop.Item
        init(_ item: Loop.Item) { self.item = item }
    }

    private static let slotCount = 4096
    /// Items beyond this many have no name, so that a search soon ends.
    private static let itemLimit = slotCount / 2

    private let slots: UnsafeMutablePointer<Slot>
    private let lock = Lock(.leaf)

    /// Whether items that are not entered never will be. Relaxed: a thread that finds false looks again with the lock.
    private let isFull = Atomic<Bool>(false)

    // Guarded by `lock`.
    private var entries: [Entry] = []
    private var references: [Reference] = []

    init() {
        slots = .allocate(capacity: TraceNames.slotCount)
        for index in 0..<TraceNames.slotCount { (slots + index).initialize(to: Slot()) }
    }

    deinit {
        slots.deinitialize(count: TraceNames.slotCount)
        slots.deallocate()
    }

    /// The name of an item, or 0 if it has not been entered. Takes no lock.
    @inline(__always)
    func known(_ item: Loop.Item) -> UInt32 {
        let address = TraceNames.address(of: item)
        var index = TraceNames.firstIndex(for: address)
        while true {
            let found = slots[index].address.load(ordering: .acquiring)
            if found == address { return slots[index].name.load(ordering: .relaxed) }
            if found == 0 { return 0 }
            index = (index + 1) % TraceNames.slotCount
        }
    }

    /// The name of an item, which is entered if it is new. On a loop's thread, with no lock held.
    @inline(__always)
    func entered(_ item: Loop.Item) -> UInt32 {
        let known = known(item)
        return known != 0 ? known : enter(item)
    }

    /// Enters a text that is no item's. Not with a lock of rank `leaf` held.
    func enter(_ text: String) -> UInt32 {
        lock.withLock {
            if let index = entries.firstIndex(where: { $0.text == text }) { return UInt32(index + 1) }
            entries.append(Entry(text: text))
            return UInt32(entries.count)
        }
    }

    /// The entries by number minus 1.
    var all: [Entry] { lock.withLock { entries } }

    @inline(never)
    private func enter(_ item: Loop.Item) -> UInt32 {
        if isFull.load(ordering: .relaxed) { return 0 }
        let entry = Entry(item)
        let reference = Reference(item)
        return lock.withLock {
            // An item that is in several loops may have been entered meanwhile.
            let known = known(item)
            guard known == 0, references.count < TraceNames.itemLimit else { return known }
            entries.append(entry)
            references.append(reference)
            let address = TraceNames.address(of: item)
            var index = TraceNames.firstIndex(for: address)
            while slots[index].address.load(ordering: .relaxed) != 0 { index = (index + 1) % TraceNames.slotCount }
            slots[index].name.store(UInt32(entries.count), ordering: .relaxed)
            slots[index].address.store(address, ordering: .releasing)
            if references.count == TraceNames.itemLimit { isFull.store(true, ordering: .relaxed) }
            return UInt32(entries.count)
        }
    }

    @inline(__always)
    private static func address(of item: Loop.Item) -> UInt { UInt(bitPattern: ObjectIdentifier(item)) }

    /// Objects are aligned to 16 bytes.
    @inline(__always)
    private static func firstIndex(for address: UInt) -> Int { Int((address >> 4 ^ address >> 16) % UInt(slotCount)) }
}
