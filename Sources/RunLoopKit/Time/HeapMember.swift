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
    var slot: HeapSlot { get set }

    /// The slots in further heaps, by their owners: nearly always none.
    var otherSlots: [ObjectIdentifier: UInt32] { get set }

    /// Whether there are any. An empty dictionary costs 40 instructions.
    var hasOtherSlots: Bool { get }
}

/// A timer's slot in a `DeadlineHeap`.
struct HeapSlot {
    /// The owner of the heap; nil for none.
    fileprivate var owner: ObjectIdentifier?
    fileprivate var slot: UInt32 = 0
}

extension HeapMember {
    /// Whether the timer is in any heap.
    var isInHeap: Bool { slot.owner != nil || hasOtherSlots }

    /// The slot in the heap of `owner`; nil if the timer is not there.
    subscript(slotIn owner: ObjectIdentifier) -> UInt32? {
        @inline(__always)
        get { slot.owner == owner ? slot.slot : otherSlot(in: owner) }
        @inline(__always)
        set {
            guard slot.owner == owner || !isInHeap else { return setOtherSlot(newValue, in: owner) }
            slot = newValue.map { HeapSlot(owner: owner, slot: $0) } ?? HeapSlot()
        }
    }

    @inline(never)
    private func otherSlot(in owner: ObjectIdentifier) -> UInt32? { hasOtherSlots ? otherSlots[owner] : nil }

    @inline(never)
    private func setOtherSlot(_ slot: UInt32?, in owner: ObjectIdentifier) { otherSlots[owner] = slot }
}
