/// A queue, first in, first out: a ring of plain memory.
///
/// Not an array of optionals: the library's generic code runs unspecialized in programs, and each use of
/// `Array<Element?>` looks up the metadata of that type, for 500 instructions. A pointer needs that of `Element` alone,
/// which the queue's owner has.
struct RingQueue<Element>: ~Copyable {
    private var slots: UnsafeMutablePointer<Element>?
    /// A power of two, or zero.
    private var capacity = 0
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// The first element.
    ///
    /// - Precondition: The queue is not empty.
    var first: Element {
        precondition(count > 0)
        return slots![head]
    }

    /// The last element.
    ///
    /// - Precondition: The queue is not empty.
    var last: Element {
        precondition(count > 0)
        return self[count - 1]
    }

    /// Element number `index` after the first one, which has the index 0.
    subscript(index: Int) -> Element {
        @inline(__always)
        get {
            assert(index >= 0 && index < count, "RunLoopKit: \(index) of \(count).")
            return slots.unsafelyUnwrapped[(head + index) & (capacity - 1)]
        }
    }

    init() {}

    deinit {
        guard let slots else { return }
        for offset in 0..<count { (slots + ((head + offset) & (capacity - 1))).deinitialize(count: 1) }
        slots.deallocate()
    }

    @inline(__always)
    mutating func append(_ element: Element) {
        if count == capacity { move(toCapacity: max(8, capacity * 2)) }
        (slots! + ((head + count) & (capacity - 1))).initialize(to: element)
        count += 1
    }

    /// - Precondition: The queue is not empty.
    @inline(__always)
    mutating func removeFirst() -> Element {
        precondition(count > 0)
        let element = (slots! + head).move()
        head = (head + 1) & (capacity - 1)
        count -= 1
        // A queue that was large gives its memory back.
        if capacity > 64, count < capacity / 8 { move(toCapacity: capacity / 4) }
        return element
    }

    /// - Precondition: The queue is not empty.
    mutating func removeLast() -> Element {
        precondition(count > 0)
        count -= 1
        return (slots! + ((head + count) & (capacity - 1))).move()
    }

    /// - Precondition: The queue is not empty.
    mutating func changeFirst(_ body: (inout Element) -> Void) {
        precondition(count > 0)
        body(&slots![head])
    }

    @inline(never)
    private mutating func move(toCapacity newCapacity: Int) {
        let new = UnsafeMutablePointer<Element>.allocate(capacity: newCapacity)
        if let slots {
            // The elements from the head to the end of the memory, and those that continue at its beginning.
            let upToEnd = min(count, capacity - head)
            new.moveInitialize(from: slots + head, count: upToEnd)
            (new + upToEnd).moveInitialize(from: slots, count: count - upToEnd)
            slots.deallocate()
        }
        (slots, capacity, head) = (new, newCapacity, 0)
    }
}
