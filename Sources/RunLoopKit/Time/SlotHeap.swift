/// A 4-ary heap of keys, the least one first. Each key belongs to a slot, a small number. The slot finds the key, which
/// changes and leaves in O(log n) without a search.
///
/// A table has each slot's place in the heap, not the objects that the slots stand for: a key that sifts writes 4 bytes
/// at each level. In the objects these writes missed the caches, which took a tenth of the time of a million timers.
struct SlotHeap: ~Copyable {
    // Two arrays, so that the keys of siblings are next to each other.
    private var keys = PlainArray<Int64>()
    private var slots = PlainArray<UInt32>()

    /// The index of each slot that is here.
    private var places = PlainArray<UInt32>()

    var count: Int { keys.count }
    var isEmpty: Bool { keys.isEmpty }

    /// The least key, and its slot.
    var first: (key: Int64, slot: UInt32)? { isEmpty ? nil : (keys[0], slots[0]) }

    /// The slot at an index of the heap. The keys at 4 × `index` + 1 to + 4 are not smaller than its own.
    func slot(at index: Int) -> UInt32 { slots[index] }

    func key(of slot: UInt32) -> Int64 { keys[Int(places[Int(slot)])] }

    /// - Precondition: The slot is not here, and it is at most one larger than every slot that was.
    @inline(__always)
    mutating func insert(_ slot: UInt32, _ key: Int64) {
        if Int(slot) == places.count { places.append(0) }
        keys.append(key)
        slots.append(slot)
        place(slot, key, at: count - 1)
    }

    /// - Precondition: The slot is here, as for `change(_:to:)`.
    @inline(__always)
    mutating func remove(_ slot: UInt32) {
        let place = Int(places[Int(slot)])
        let (lastKey, lastSlot) = (keys.removeLast(), slots.removeLast())
        if place < count { self.place(lastSlot, lastKey, at: place) }
    }

    mutating func change(_ slot: UInt32, to key: Int64) { place(slot, key, at: Int(places[Int(slot)])) }

    /// Puts a key where it belongs. Its index so far is a hole: keys on the way move into it.
    private mutating func place(_ slot: UInt32, _ key: Int64, at start: Int) {
        var hole = start
        while hole > 0, key < keys[(hole - 1) / 4] {
            fill(hole, from: (hole - 1) / 4)
            hole = (hole - 1) / 4
        }
        if hole == start {
            while let child = firstChild(of: hole), keys[child] < key {
                fill(hole, from: child)
                hole = child
            }
        }
        fill(hole, slot, key)
    }

    @inline(__always)
    private mutating func fill(_ hole: Int, from other: Int) { fill(hole, slots[other], keys[other]) }

    @inline(__always)
    private mutating func fill(_ hole: Int, _ slot: UInt32, _ key: Int64) {
        keys[hole] = key
        slots[hole] = slot
        places[Int(slot)] = UInt32(truncatingIfNeeded: hole)
    }

    @inline(__always)
    private func firstChild(of index: Int) -> Int? {
        var first = 4 * index + 1
        guard first < count else { return nil }
        for child in (first + 1)..<min(first + 4, count) where keys[child] < keys[first] { first = child }
        return first
    }

    /// Whether the first key is not larger than `limit`, and no other is. The second in order is one of its children.
    func hasOnlyFirst(upTo limit: Int64) -> Bool {
        guard !isEmpty, keys[0] <= limit else { return false }
        for child in 1..<min(5, count) where keys[child] <= limit { return false }
        return true
    }

    /// Visits the slots whose keys are not larger than `limit`, in the order of the heap.
    func forEach(upTo limit: Int64, _ body: (UInt32) -> Void) { visit(0, upTo: limit, body) }

    private func visit(_ index: Int, upTo limit: Int64, _ body: (UInt32) -> Void) {
        guard index < count, keys[index] <= limit else { return }
        body(slots[index])
        for child in (4 * index + 1)...(4 * index + 4) { visit(child, upTo: limit, body) }
    }

    func copy() -> SlotHeap {
        var copy = SlotHeap()
        copy.keys = keys.copy()
        copy.slots = slots.copy()
        copy.places = places.copy()
        return copy
    }
}
