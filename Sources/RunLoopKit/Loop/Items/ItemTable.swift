/// Objects in the order in which they were added. Adding and removing one takes constant time.
struct ItemTable<Element: AnyObject> {
    private struct Slot {
        /// Nil for a gap that a removed object has left.
        var element: Element?
        let turn: UInt64
    }

    private var slots: [Slot] = []
    private var places: [ObjectIdentifier: Int] = [:]

    var isEmpty: Bool { places.isEmpty }
    var all: [Element] { slots.compactMap(\.element) }

    /// The objects that were added with a greater sequence number than `turn`, each with its own.
    func elements(after turn: UInt64) -> [(element: Element, turn: UInt64)] {
        let first = slots.lastIndex { $0.turn <= turn }.map { $0 + 1 } ?? 0
        return slots[first...].compactMap { slot in slot.element.map { ($0, slot.turn) } }
    }

    /// - Parameter turn: A sequence number, not smaller than those before, for `elements(after:)`.
    /// - Precondition: The object is not in the table.
    mutating func insert(_ element: Element, turn: UInt64 = 0) {
        places[ObjectIdentifier(element)] = slots.count
        slots.append(Slot(element: element, turn: turn))
    }

    mutating func remove(_ element: Element) {
        guard let place = places.removeValue(forKey: ObjectIdentifier(element)) else { return }
        if place == slots.count - 1 { slots.removeLast() } else { slots[place].element = nil }
        if slots.count > 32, places.count < slots.count / 2 { closeGaps() }
    }

    private mutating func closeGaps() {
        slots = slots.filter { $0.element != nil }
        places = [:]
        for (place, slot) in slots.enumerated() { places[ObjectIdentifier(slot.element!)] = place }
    }
}
