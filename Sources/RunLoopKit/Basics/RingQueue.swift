/// A queue, first in, first out: a ring of plain memory.
///
/// Not an array of optionals, since the library's generic code runs unspecialized in programs: each use of
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

    init() {}

    deinit {
        guard let slots else { return }
        for offset in 0..<count { (slots + ((head + offset) & (capacity - 1))).deinitialize(count: 1) }
        slots.deallocate()
    }

    @inline(__always)
    mutating func append(_ element: Element) {
        if count == capacity { grow() }
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
        if count == 0, capacity > 64 {
            slots!.deallocate()
            slots = nil
            capacity = 0
            head = 0
        }
        return element
    }

    /// - Precondition: The queue is not empty.
    mutating func changeFirst(_ body: (inout Element) -> Void) {
        precondition(count > 0)
        body(&slots![head])
    }

    @inline(never)
    private mutating func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: max(8, capacity * 2))
        if let slots {
            // The messages from the head to the end of the memory, and those that continue at its beginning.
            larger.moveInitialize(from: slots + head, count: capacity - head)
            (larger + (capacity - head)).moveInitialize(from: slots, count: head)
            slots.deallocate()
        }
        (slots, capacity, head) = (larger, max(8, capacity * 2), 0)
    }
}
