/// What a `DeadlineHeap` orders.
protocol HeapMember: AnyObject {
    /// Only heaps change it.
    var places: HeapPlaces { get set }
}

/// A timer's places in the heaps of the modes it is in: nearly always one mode.
struct HeapPlaces {
    /// The orders that a `DeadlineHeap` sorts by.
    enum Order { case byDeadline, byLatest }

    /// The places in one `DeadlineHeap`. What is in it has a place by deadline.
    private struct Places {
        private static let none = UInt32.max
        private var byDeadline = none
        private var byLatest = none

        var isEmpty: Bool { byDeadline == Places.none }

        @inline(__always)
        subscript(order: Order) -> Int? {
            get {
                let place = order == .byDeadline ? byDeadline : byLatest
                return place == Places.none ? nil : Int(place)
            }
            set {
                let place = newValue.map { UInt32($0) } ?? Places.none
                if order == .byDeadline { byDeadline = place } else { byLatest = place }
            }
        }
    }

    /// The heap of `places`; nil if the timer has none there.
    private var heap: ObjectIdentifier?
    private var places = Places()
    private var others: [ObjectIdentifier: Places] = [:]

    /// Whether the timer is in no heap.
    var isEmpty: Bool { heap == nil && others.isEmpty }

    /// The place in the heap of `owner`; nil if the timer is not there.
    subscript(order: Order, in owner: ObjectIdentifier) -> Int? {
        @inline(__always)
        get { heap == owner ? places[order] : others.isEmpty ? nil : others[owner]?[order] }
        @inline(__always)
        set {
            guard heap == owner else { return setElsewhere(order, newValue, in: owner) }
            places[order] = newValue
            if places.isEmpty { heap = nil }
        }
    }

    @inline(never)
    private mutating func setElsewhere(_ order: Order, _ place: Int?, in owner: ObjectIdentifier) {
        guard heap != nil || others[owner] != nil else {
            heap = owner
            return places[order] = place
        }
        var changed = others[owner] ?? Places()
        changed[order] = place
        others[owner] = changed.isEmpty ? nil : changed
    }
}
