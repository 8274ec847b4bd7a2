/// Items in the order in which they were added. Adding and removing one takes constant time.
///
/// Guarded by the lock of the loop that has the table.
struct ItemTable<Element: Loop.Item> {
    private struct Slot {
        /// Nil for a gap that a removed item has left.
        var element: Element?
        let turn: UInt64
    }

    private var slots: [Slot] = []
    private var gaps = 0

    /// Where the items are that several loops may have. The others remember it: `Loop.Item.placeInTable`.
    private var places: [ObjectIdentifier: Int] = [:]

    var isEmpty: Bool { gaps == slots.count }
    var all: [Element] { slots.compactMap(\.element) }

    func contains(where isWanted: (Element) -> Bool) -> Bool {
        slots.contains { $0.element.map(isWanted) ?? false }
    }

    /// The items that were added with a greater sequence number than `turn`, each with its own.
    func elements(after turn: UInt64) -> [(element: Element, turn: UInt64)] {
        let first = slots.lastIndex { $0.turn <= turn }.map { $0 + 1 } ?? 0
        return slots[first...].compactMap { slot in slot.element.map { ($0, slot.turn) } }
    }

    /// - Parameter turn: A sequence number, not smaller than those before, for `elements(after:)`.
    /// - Precondition: The item is not in the table.
    mutating func insert(_ element: Element, turn: UInt64 = 0) {
        setPlace(slots.count, of: element)
        slots.append(Slot(element: element, turn: turn))
    }

    /// - Precondition: The item is in the table.
    mutating func remove(_ element: Element) {
        let place = takePlace(of: element)
        assert(slots[place].element === element, "RunLoopKit: an item is not where its table put it.")
        if place == slots.count - 1 {
            slots.removeLast()
        } else {
            slots[place].element = nil
            gaps += 1
        }
        if slots.count > 32, gaps > slots.count / 2 || slots.isSparse { closeGaps() }
    }

    private mutating func closeGaps() {
        slots.removeAll { $0.element == nil }
        slots.giveBack()
        gaps = 0
        for (place, slot) in slots.enumerated() { setPlace(place, of: slot.element!) }
    }

    @inline(__always)
    private mutating func setPlace(_ place: Int, of element: Element) {
        if element.canBeInManyLoops {
            places[ObjectIdentifier(element)] = place
        } else {
            element.placeInTable = UInt32(place)
        }
    }

    @inline(__always)
    private mutating func takePlace(of element: Element) -> Int {
        guard element.canBeInManyLoops else { return Int(element.placeInTable) }
        defer { places.giveBack() }
        return places.removeValue(forKey: ObjectIdentifier(element))!
    }
}
