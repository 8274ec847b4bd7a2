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

    /// The timer's slot in one of its heaps, `noSlot` if there is none. In which one, the heaps find out. Only they
    /// change this and `otherSlots`.
    var slot: UInt32 { get set }

    /// The slots in further heaps, by their owners: nearly always none.
    var otherSlots: [ObjectIdentifier: UInt32] { get set }

    /// Whether there are any. An empty dictionary costs 40 instructions.
    var hasOtherSlots: Bool { get }
}

extension HeapMember {
    static var noSlot: UInt32 { .max }

    /// Whether the timer is in any heap.
    var isInHeap: Bool { slot != Self.noSlot || hasOtherSlots }
}
