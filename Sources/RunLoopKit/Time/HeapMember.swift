/// When a timer fires, as a `DeadlineHeap` sorts it.
struct HeapTimes {
    /// When the timer may fire, and when it must.
    var deadline, latest: Int64
    /// Orders equal deadlines.
    var turn: UInt64
}

/// What a `DeadlineHeap` orders.
protocol HeapMember: AnyObject {
    /// The timer's times. They change only together with its heaps. Guarded by what guards these.
    var heapTimes: HeapTimes { get }

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
