/// Objects in the order in which they were added. Adding and removing one takes constant time.
struct ItemTable<Element: AnyObject> {
    /// Nil for a gap that a removed object has left.
    private var slots: [Element?] = []
    private var places: [ObjectIdentifier: Int] = [:]

    var isEmpty: Bool { places.isEmpty }
    var all: [Element] { slots.compactMap { $0 } }

    /// - Precondition: The object is not in the table.
    mutating func insert(_ element: Element) {
        places[ObjectIdentifier(element)] = slots.count
        slots.append(element)
    }

    mutating func remove(_ element: Element) {
        guard let place = places.removeValue(forKey: ObjectIdentifier(element)) else { return }
        if place == slots.count - 1 { slots.removeLast() } else { slots[place] = nil }
        if slots.count > 32, places.count < slots.count / 2 { closeGaps() }
    }

    private mutating func closeGaps() {
        slots = slots.filter { $0 != nil }
        places = [:]
        for (place, element) in slots.enumerated() { places[ObjectIdentifier(element!)] = place }
    }
}
