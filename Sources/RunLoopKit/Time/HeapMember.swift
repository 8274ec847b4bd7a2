/// When a timer fires, as a `DeadlineHeap` sorts it.
struct HeapTimes {
    /// When the timer may fire, and when it must.
    var deadline, latest: Int64
    /// Orders equal deadlines.
    var turn: UInt64
}

/// What a `DeadlineHeap` orders.
protocol HeapMember: AnyObject {
    /// The timer's times now. Neither is earlier than those that the timer has in a heap: a timer that moves to earlier
    /// ones updates its heaps. Called with what guards the heap held.
    func timesForHeap() -> HeapTimes

    /// Whether the deadline may become `DeadlineHeap.idle`. Constant.
    var mayBeIdle: Bool { get }

    /// Only heaps change these two.
    var places: HeapPlaces { get set }

    /// The places in the heaps of further modes: nearly always none.
    var otherPlaces: [ObjectIdentifier: HeapPlaces] { get set }

    /// Whether there are any. An empty dictionary costs 40 instructions.
    var hasOtherPlaces: Bool { get }
}

/// A timer's places in a `DeadlineHeap`. What is in it has a place by deadline.
struct HeapPlaces {
    /// The orders that a `DeadlineHeap` sorts by.
    enum Order { case byDeadline, byLatest }

    private static let none = UInt32.max

    /// The owner of the heap; nil for none, and in `otherPlaces`.
    fileprivate(set) var owner: ObjectIdentifier?
    private var byDeadline = none
    private var byLatest = none

    fileprivate var isEmpty: Bool { byDeadline == HeapPlaces.none }

    @inline(__always)
    fileprivate subscript(order: Order) -> Int? {
        get {
            let place = order == .byDeadline ? byDeadline : byLatest
            return place == HeapPlaces.none ? nil : Int(place)
        }
        set {
            let place = newValue.map { UInt32($0) } ?? HeapPlaces.none
            if order == .byDeadline { byDeadline = place } else { byLatest = place }
        }
    }
}

extension HeapMember {
    /// Whether the timer is in any heap.
    var isInHeap: Bool { places.owner != nil || hasOtherPlaces }

    /// The place in the heap of `owner`; nil if the timer is not there.
    subscript(order: HeapPlaces.Order, in owner: ObjectIdentifier) -> Int? {
        @inline(__always)
        get { places.owner == owner ? places[order] : otherPlace(order, in: owner) }
        @inline(__always)
        set {
            if !isInHeap { places.owner = owner }
            guard places.owner == owner else { return setOtherPlace(order, newValue, in: owner) }
            places[order] = newValue
            if places.isEmpty { places.owner = nil }
        }
    }

    @inline(never)
    private func otherPlace(_ order: HeapPlaces.Order, in owner: ObjectIdentifier) -> Int? {
        hasOtherPlaces ? otherPlaces[owner]?[order] : nil
    }

    @inline(never)
    private func setOtherPlace(_ order: HeapPlaces.Order, _ place: Int?, in owner: ObjectIdentifier) {
        otherPlaces[owner, default: HeapPlaces()][order] = place
        if otherPlaces[owner]!.isEmpty { otherPlaces[owner] = nil }
    }
}
