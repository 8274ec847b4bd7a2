import Synchronization

/// The items of a mode that have become ready and that its loop has not looked at since: signalled version-0 sources,
/// or message ports with messages. So a pass looks at these alone, and not at all items of the mode.
///
/// Any thread adds an item, with the item's lock held, after it has become ready. The loop takes all out, and then
/// looks whether each is still ready. That look sees an item that becomes ready before it; one that becomes ready after
/// it was taken out is added again. An item that leaves the mode leaves the list.
///
/// Nearly always there is one at a time, `first`, which needs no array. Any other item remembers its place, so that it
/// is in the list once, and leaves it without a search.
final class Arrivals<Item: Loop.Item> {
    private let lock = Lock(.arrivals)
    // Exclusivity is unchecked: the lock guards them.
    @exclusivity(unchecked) private var first: Item?
    /// In any order. Nil for an item that has left.
    @exclusivity(unchecked) private var others: [Item?] = []
    /// The places that others have left. They are used again, or the list of a mode that never runs would grow for
    /// ever.
    @exclusivity(unchecked) private var gaps: [Int] = []
    /// Counts how often `others` was emptied: places of an earlier round mean nothing.
    @exclusivity(unchecked) private var round: UInt64 = 1

    /// Whether the list has items. Written with the lock held. Relaxed: the wake-up of the loop, or the next pass,
    /// orders it.
    private let hasItems = Atomic<Bool>(false)

    var isEmpty: Bool { !hasItems.load(ordering: .relaxed) }

    /// The number of places, for tests.
    var room: Int { lock.withLock { others.count + 1 } }

    /// Adds an item. Returns false if it is here already. The item's lock is held.
    @discardableResult
    func insert(_ item: Item, _ places: inout ArrivalPlaces) -> Bool {
        item.itemLock.assertHeld()
        lock.lock()
        defer { lock.unlock() }
        guard first == nil, others.isEmpty else { return first !== item && insertSlowly(item, &places) }
        first = item
        hasItems.store(true, ordering: .relaxed)
        return true
    }

    /// The same for an item that is not the first.
    @inline(never)
    private func insertSlowly(_ item: Item, _ places: inout ArrivalPlaces) -> Bool {
        guard places[ObjectIdentifier(self)]?.round != round else { return false }
        let index = gaps.popLast() ?? others.count
        places.set(.init(round: round, index: index), in: ObjectIdentifier(self))
        if index == others.count { others.append(item) } else { others[index] = item }
        return true
    }

    /// Removes an item if it is here. The item's lock is held.
    func remove(_ item: Item, _ places: inout ArrivalPlaces) {
        item.itemLock.assertHeld()
        let place = places.remove(ObjectIdentifier(self))
        // Released without the lock: the caller has a reference too.
        lock.withLock {
            if first === item {
                first = nil
            } else if let place, place.round == round {
                others[place.index] = nil
                gaps.append(place.index)
            }
        }
    }

    /// Removes and returns the item if it is the only one: the usual case, without an array.
    func takeOnly() -> Item? {
        guard !isEmpty else { return nil }
        lock.lock()
        defer { lock.unlock() }
        guard others.isEmpty else { return nil }
        hasItems.store(false, ordering: .relaxed)
        return first.take()
    }

    /// Moves all items to an empty array, whose room the list uses from now on. Nil stands for one that has left.
    func takeAll(into taken: inout [Item?]) {
        guard !isEmpty else { return }
        lock.lock()
        defer { lock.unlock() }
        hasItems.store(false, ordering: .relaxed)
        round += 1
        if !gaps.isEmpty { gaps = [] }
        // At the front: in the order of their arrival, they need not be sorted.
        if first != nil { others.insert(first.take(), at: 0) }
        swap(&others, &taken)
    }

    /// Whether any item satisfies the condition, which takes no lock.
    func contains(where condition: (Item) -> Bool) -> Bool {
        !isEmpty && lock.withLock { first.map(condition) ?? false || others.contains { $0.map(condition) ?? false } }
    }
}

/// An item's places in the `Arrivals` of its modes, where others came before it. Guarded by the item's lock.
struct ArrivalPlaces {
    struct Place {
        let round: UInt64
        let index: Int
    }

    private var list: ObjectIdentifier?
    private var place = Place(round: 0, index: 0)
    private var others: [ObjectIdentifier: Place] = [:]

    subscript(list: ObjectIdentifier) -> Place? {
        self.list == list ? place : others.isEmpty ? nil : others[list]
    }

    mutating func set(_ place: Place, in list: ObjectIdentifier) {
        if self.list == nil, others.isEmpty || others[list] == nil { self.list = list }
        if self.list == list { self.place = place } else { others[list] = place }
    }

    mutating func remove(_ list: ObjectIdentifier) -> Place? {
        guard self.list == list else { return others.isEmpty ? nil : others.removeValue(forKey: list) }
        self.list = nil
        return place
    }
}
