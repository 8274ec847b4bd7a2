import Synchronization

/// The items of a mode that have become ready and that its loop has not looked at since: signalled version-0 sources,
/// or message ports with messages. So a pass looks at these, and not at all that are there.
///
/// Any thread adds an item, with the item's lock held, after it has become ready. The loop takes all out, and then
/// looks whether each is still ready. An item that becomes ready before that look is seen by it; one that does so after
/// it was taken out is added again. An item that leaves the mode leaves the list.
///
/// An item remembers its place, so that it is in the list once, and leaves it without a search.
final class Arrivals<Item: Loop.Item> {
    private let lock = Lock(.arrivals)
    // Exclusivity is unchecked: the lock guards them.
    /// In any order. Nil for an item that has left.
    @exclusivity(unchecked) private(set) var items: [Item?] = []
    /// Where items have left. Used again, or the list of a mode that never runs would grow for ever.
    @exclusivity(unchecked) private var gaps: [Int] = []
    /// Counts how often the list was emptied: places of an earlier round mean nothing. Changed by the loop's thread.
    @exclusivity(unchecked) private var round: UInt64 = 1

    /// Whether the list has items. Written with the lock held. Relaxed: the wake-up of the loop, or the next pass,
    /// orders it.
    private let hasItems = Atomic<Bool>(false)

    var isEmpty: Bool { !hasItems.load(ordering: .relaxed) }

    /// Adds an item, unless it is here. The item's lock is held.
    func insert(_ item: Item, _ places: inout ArrivalPlaces) {
        item.itemLock.assertHeld()
        lock.lock()
        defer { lock.unlock() }
        guard places[ObjectIdentifier(self)]?.round != round else { return }
        let index = gaps.isEmpty ? items.count : gaps.removeLast()
        places.set(.init(round: round, index: index), in: ObjectIdentifier(self))
        if index == items.count { items.append(item) } else { items[index] = item }
        hasItems.store(true, ordering: .relaxed)
    }

    /// Whether the item with these places is here. Called by the loop's thread with the item's lock held: only that
    /// thread empties the list, and the item does not leave it meanwhile.
    @inline(__always)
    func contains(itemAt places: borrowing ArrivalPlaces) -> Bool { places[ObjectIdentifier(self)]?.round == round }

    /// Removes an item if it is here. The item's lock is held.
    func remove(_ item: Item, _ places: inout ArrivalPlaces) {
        item.itemLock.assertHeld()
        guard let place = places.remove(ObjectIdentifier(self)) else { return }
        // Released without the lock: the caller has a reference too.
        lock.withLock {
            guard place.round == round else { return }
            items[place.index] = nil
            gaps.append(place.index)
        }
    }

    /// Removes and returns the item if it is the only one: the usual case, without an array.
    func takeOnly() -> Item? {
        guard !isEmpty else { return nil }
        lock.lock()
        defer { lock.unlock() }
        guard items.count == 1, items[0] != nil else { return nil }
        hasItems.store(false, ordering: .relaxed)
        round += 1
        return items.removeLast()
    }

    /// Removes and returns all items.
    func takeAll() -> [Item] {
        guard !isEmpty else { return [] }
        let taken = lock.withLock {
            hasItems.store(false, ordering: .relaxed)
            round += 1
            gaps = []
            return exchange(&items, with: [])
        }
        return taken.compactMap { $0 }
    }

    /// Whether any item satisfies the condition, which takes no lock.
    func contains(where condition: (Item) -> Bool) -> Bool {
        !isEmpty && lock.withLock { items.contains { $0.map(condition) ?? false } }
    }
}

/// An item's places in the `Arrivals` of its modes: nearly always one. Guarded by the item's lock.
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
        guard self.list == list else { return others.removeValue(forKey: list) }
        self.list = nil
        return place
    }
}
