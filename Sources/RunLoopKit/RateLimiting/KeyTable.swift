/// The bursts of a keyed limiter, whatever its keys and inputs. It has a slot for each key, found by the key's hash
/// value; a queue of the times of those in which an input is pending; and a hand that goes round the slots. Guarded by
/// the limiter's lock.
///
/// Not generic, so that none of this needs type metadata at run time. It has a fixed capacity: its owner moves the
/// contents to a larger or smaller one. Each key takes 64 bytes, and 4 to 8 for the chains.
@usableFromInline
struct KeyTable {
    private struct Slot {
        var times = BurstTimes()
        /// The index in the queue; `none` for a slot that is not there, and `free` for one that is not in use.
        var place = none
        /// The next slot of the chain, or of the free ones.
        var next = none
        var hash: UInt32 = 0
    }

    /// An entry of the queue. At equal times the one that was put first comes first.
    private struct Entry {
        let time: Int64
        let turn: UInt64
        let slot: Int32

        func isBefore(_ other: Entry) -> Bool { time == other.time ? turn < other.turn : time < other.time }
    }

    private static var none: Int32 { -1 }
    private static var free: Int32 { -2 }

    /// A power of two.
    let capacity: Int
    /// The number of slots in use.
    private(set) var count = 0

    private let slots: UnsafeMutablePointer<Slot>
    /// The first slot of each chain. The keys of a chain have the same lowest bits of their hash values.
    private let chains: UnsafeMutablePointer<Int32>
    /// A slot that was used before and is free.
    private var firstFree = none
    /// The slots from here on were never used.
    private var firstUnused = 0
    /// The slot that the hand points to.
    private var hand = 0

    /// A 4-ary heap, the first one at index 0.
    private let queue: UnsafeMutablePointer<Entry>
    private(set) var queueCount = 0
    private var lastTurn: UInt64 = 0

    /// - Parameter capacity: A power of two.
    init(capacity: Int) {
        self.capacity = capacity
        slots = .allocate(capacity: capacity)
        queue = .allocate(capacity: capacity)
        chains = .allocate(capacity: capacity)
        chains.initialize(repeating: KeyTable.none, count: capacity)
    }

    func deallocate() {
        slots.deallocate()
        queue.deallocate()
        chains.deallocate()
    }

    /// The times of the burst in a slot.
    subscript(slot: Int) -> BurstTimes {
        get { slots[slot].times }
        nonmutating _modify { yield &slots[slot].times }
    }

    // MARK: Slots

    /// The first slot whose key has a hash value.
    @usableFromInline
    func firstSlot(_ hash: UInt32) -> Int? { firstSlot(hash, from: chains[chain(hash)]) }

    /// The next slot whose key has the hash value of the key in `slot`.
    @usableFromInline
    func nextSlot(after slot: Int) -> Int? { firstSlot(slots[slot].hash, from: slots[slot].next) }

    private func firstSlot(_ hash: UInt32, from first: Int32) -> Int? {
        var slot = first
        while slot >= 0, slots[Int(slot)].hash != hash { slot = slots[Int(slot)].next }
        return slot < 0 ? nil : Int(slot)
    }

    private func chain(_ hash: UInt32) -> Int { Int(hash) & (capacity - 1) }

    /// Begins to use a slot, for a key with this hash value. There is a free one.
    mutating func addSlot(_ hash: UInt32) -> Int {
        let slot = firstFree >= 0 ? Int(firstFree) : firstUnused
        if firstFree >= 0 { firstFree = slots[slot].next } else { firstUnused += 1 }
        count += 1
        slots[slot] = Slot(next: chains[chain(hash)], hash: hash)
        chains[chain(hash)] = Int32(slot)
        return slot
    }

    /// Ends the use of a slot. It is not in the queue.
    mutating func removeSlot(_ slot: Int) {
        let (hash, next) = (slots[slot].hash, slots[slot].next)
        if chains[chain(hash)] == slot {
            chains[chain(hash)] = next
        } else {
            var before = Int(chains[chain(hash)])
            while slots[before].next != slot { before = Int(slots[before].next) }
            slots[before].next = next
        }
        (slots[slot].place, slots[slot].next) = (KeyTable.free, firstFree)
        firstFree = Int32(slot)
        count -= 1
    }

    /// Returns a table of another capacity, with the same keys and queue.
    ///
    /// - Parameter moved: Called with each slot, and the one in the new table.
    func resized(to capacity: Int, _ moved: (_ slot: Int, _ new: Int) -> Void) -> KeyTable {
        var other = KeyTable(capacity: capacity)
        for slot in usedSlots {
            let (new, index) = (other.addSlot(slots[slot].hash), Int(slots[slot].place))
            other[new] = self[slot]
            // In the order of a heap, which is the other's too.
            if index >= 0 {
                other.place(Entry(time: queue[index].time, turn: queue[index].turn, slot: Int32(new)), at: index)
            }
            moved(slot, new)
        }
        (other.queueCount, other.lastTurn) = (queueCount, lastTurn)
        return other
    }

    /// All slots in use.
    var usedSlots: some Sequence<Int> { (0..<firstUnused).lazy.filter { slots[$0].place != KeyTable.free } }

    /// Turns the hand to the next slot. Returns nil if that is not in use.
    mutating func turnHand() -> Int? {
        hand = hand + 1 < firstUnused ? hand + 1 : 0
        return hand < firstUnused && slots[hand].place != KeyTable.free ? hand : nil
    }

    // MARK: The queue

    /// The slot at an index of the queue.
    func queuedSlot(_ index: Int) -> Int { Int(queue[index].slot) }

    var firstTime: Int64? { queueCount == 0 ? nil : queue[0].time }

    /// The first slot if its time has come. It stays in the queue.
    func firstDue(at now: Int64) -> Int? { queueCount > 0 && queue[0].time <= now ? queuedSlot(0) : nil }

    /// The time of a slot; nil when it is not in the queue.
    func time(of slot: Int) -> Int64? {
        let place = slots[slot].place
        return place < 0 ? nil : queue[Int(place)].time
    }

    /// Adds a slot to the queue, or moves it.
    mutating func put(_ slot: Int, at time: Int64) {
        unqueue(slot)
        lastTurn += 1
        queueCount += 1
        settle(Entry(time: time, turn: lastTurn, slot: Int32(slot)), at: queueCount - 1)
    }

    /// Removes a slot from the queue. Does nothing if it is not there.
    mutating func unqueue(_ slot: Int) {
        let index = Int(slots[slot].place)
        guard index >= 0 else { return }
        slots[slot].place = KeyTable.none
        queueCount -= 1
        if index < queueCount { settle(queue[queueCount], at: index) }
    }

    /// Moves an entry from `start`, which is vacant, to where it belongs.
    private mutating func settle(_ entry: Entry, at start: Int) {
        var index = start
        while index > 0, entry.isBefore(queue[(index - 1) / 4]) {
            place(queue[(index - 1) / 4], at: index)
            index = (index - 1) / 4
        }
        if index == start {
            while let child = firstChild(of: index), queue[child].isBefore(entry) {
                place(queue[child], at: index)
                index = child
            }
        }
        place(entry, at: index)
    }

    private func firstChild(of index: Int) -> Int? {
        var first = 4 * index + 1
        guard first < queueCount else { return nil }
        for child in first..<min(first + 4, queueCount) where queue[child].isBefore(queue[first]) { first = child }
        return first
    }

    private func place(_ entry: Entry, at index: Int) {
        queue[index] = entry
        slots[Int(entry.slot)].place = Int32(index)
    }
}
