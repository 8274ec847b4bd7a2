/// A queue, first in, first out: a ring of plain memory, and one pointer to it. Most queues of limiters and ports are
/// always empty, and have no memory.
///
/// Not an array of optionals: the library's generic code runs unspecialized in programs, and each use of
/// `Array<Element?>` looks up the metadata of that type, for 500 instructions. A pointer needs that of `Element` alone,
/// which the queue's owner has.
struct RingQueue<Element>: ~Copyable {
    private var header: UnsafeMutablePointer<RingHeader>?

    init() {}

    deinit {
        guard let header else { return }
        for offset in 0..<header.pointee.count { slot(offset, of: header).deinitialize(count: 1) }
        header.deallocate()
    }

    var isEmpty: Bool {
        @inline(__always)
        get { count == 0 }
    }

    var count: Int {
        @inline(__always)
        get {
            guard let header else { return 0 }
            return Int(header.pointee.count)
        }
    }

    /// The first element.
    ///
    /// - Precondition: The queue is not empty.
    var first: Element { self[0] }

    /// The last element.
    ///
    /// - Precondition: The queue is not empty.
    var last: Element { self[count - 1] }

    /// Element number `index` after the first one, which has the index 0.
    subscript(index: Int) -> Element {
        @inline(__always)
        get {
            precondition(index >= 0 && index < count)
            return slot(UInt32(truncatingIfNeeded: index), of: header.unsafelyUnwrapped).pointee
        }
    }

    @inline(__always)
    mutating func append(_ element: Element) {
        let header = headerWithRoom()
        slot(header.pointee.count, of: header).initialize(to: element)
        header.pointee.count &+= 1
    }

    /// - Precondition: The queue is not empty.
    @inline(__always)
    mutating func removeFirst() -> Element {
        precondition(!isEmpty)
        let header = header.unsafelyUnwrapped
        let element = slot(0, of: header).move()
        header.pointee.head = UInt32(truncatingIfNeeded: header.pointee.place(1))
        header.pointee.count &-= 1
        // A queue that was large gives its memory back.
        let capacity = header.pointee.capacity
        if capacity > 64, header.pointee.count < capacity / 8 { move(toCapacity: capacity / 4) }
        return element
    }

    /// Removes and returns the first element; nil if the queue is empty.
    mutating func takeFirst() -> Element? { isEmpty ? nil : removeFirst() }

    /// Removes and returns all elements, in their order.
    mutating func takeAll() -> [Element] {
        let queue = exchange(&self, with: RingQueue())
        return (0..<queue.count).map { queue[$0] }
    }

    /// - Precondition: The queue is not empty.
    mutating func removeLast() -> Element {
        precondition(!isEmpty)
        let header = header.unsafelyUnwrapped
        header.pointee.count &-= 1
        return slot(header.pointee.count, of: header).move()
    }

    /// - Precondition: The queue is not empty.
    mutating func changeFirst(_ body: (inout Element) -> Void) {
        precondition(!isEmpty)
        body(&slot(0, of: header.unsafelyUnwrapped).pointee)
    }

    // MARK: Memory

    @inline(__always)
    private func slot(_ offset: UInt32, of header: UnsafeMutablePointer<RingHeader>) -> UnsafeMutablePointer<Element> {
        elements(of: header) + header.pointee.place(offset)
    }

    @inline(__always)
    private func elements(of header: UnsafeMutablePointer<RingHeader>) -> UnsafeMutablePointer<Element> {
        (UnsafeMutableRawPointer(header) + Self.headerSize).assumingMemoryBound(to: Element.self)
    }

    /// The header's, with what aligns the first element.
    private static var headerSize: Int {
        @inline(__always)
        get { max(16, MemoryLayout<Element>.alignment) }
    }

    @inline(__always)
    private mutating func headerWithRoom() -> UnsafeMutablePointer<RingHeader> {
        if let header {
            if header.pointee.count < header.pointee.capacity { return header }
            move(toCapacity: header.pointee.capacity * 2)
        } else {
            move(toCapacity: 8)
        }
        return header.unsafelyUnwrapped
    }

    @inline(never)
    private mutating func move(toCapacity capacity: UInt32) {
        let size = Self.headerSize + Int(capacity) * MemoryLayout<Element>.stride
        let new = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: Self.headerSize)
            .initializeMemory(as: RingHeader.self, to: RingHeader(capacity: capacity))
        if let old = header {
            // The elements from the head to the end of the memory, and those that continue at its beginning.
            let (head, count) = (old.pointee.head, old.pointee.count)
            let upToEnd = Int(min(count, old.pointee.capacity - head))
            elements(of: new).moveInitialize(from: slot(0, of: old), count: upToEnd)
            (elements(of: new) + upToEnd).moveInitialize(from: elements(of: old), count: Int(count) - upToEnd)
            new.pointee.count = count
            old.deallocate()
        }
        header = new
    }
}

/// What stands in front of a ring's elements. Not a type inside the queue: that would be generic, and looked up at each
/// use.
private struct RingHeader {
    /// A power of two.
    let capacity: UInt32
    /// The place of the first element.
    var head: UInt32 = 0
    var count: UInt32 = 0

    /// The place of the element `offset` after the first one.
    @inline(__always)
    func place(_ offset: UInt32) -> Int { Int((head &+ offset) & (capacity &- 1)) }
}
