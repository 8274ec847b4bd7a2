/// A queue, first in, first out, whose elements can be found by index.
///
/// It stores chunks of elements: an append moves nothing, a large queue gives memory back as it empties, and an empty
/// one keeps a single chunk. In an array, which moves all elements when it grows, each of 100,000 blocks took twice the
/// time.
struct ChunkedQueue<Element>: ~Copyable {
    private typealias Chunk = UnsafeMutablePointer<Element>

    private static var chunkSize: Int { 32 }

    /// None until the first element comes, then always one. Of several, each has an element.
    private var chunks = RingQueue<Chunk>()
    private(set) var count = 0

    /// The first element, and its index in the first chunk.
    private var front: Chunk?
    private var head = 0
    /// Where the next element goes in the last chunk, and how many have room there.
    private var end: Chunk?
    private var room = 0

    var isEmpty: Bool { count == 0 }

    init() {}

    deinit {
        for index in 0..<count { place(of: index).deinitialize(count: 1) }
        for index in 0..<chunks.count { chunks[index].deallocate() }
    }

    /// - Precondition: The queue is not empty.
    var first: Element {
        @inline(__always)
        _read { yield front.unsafelyUnwrapped.pointee }
    }

    /// - Precondition: The queue is not empty.
    var last: Element {
        @inline(__always)
        _read { yield end.unsafelyUnwrapped[-1] }
    }

    /// Element number `index` after the first one, which has the index 0.
    subscript(index: Int) -> Element {
        @inline(__always)
        _read { yield place(of: index).pointee }
        @inline(__always)
        _modify { yield &place(of: index).pointee }
    }

    @inline(__always)
    private func place(of index: Int) -> UnsafeMutablePointer<Element> {
        assert(index >= 0 && index < count, "RunLoopKit: \(index) of \(count).")
        let position = UInt(bitPattern: head + index)
        let size = UInt(bitPattern: Self.chunkSize)
        return chunks[Int(bitPattern: position / size)] + Int(bitPattern: position % size)
    }

    @inline(__always)
    mutating func append(_ element: consuming Element) {
        if room == 0 { addChunk() }
        end.unsafelyUnwrapped.initialize(to: element)
        end = end.unsafelyUnwrapped + 1
        room -= 1
        count += 1
    }

    @inline(never)
    private mutating func addChunk() {
        let chunk = Chunk.allocate(capacity: Self.chunkSize)
        if chunks.isEmpty { front = chunk }
        chunks.append(chunk)
        (end, room) = (chunk, Self.chunkSize)
    }

    /// - Precondition: The queue is not empty.
    @inline(__always)
    mutating func removeFirst() -> Element {
        let element = front.unsafelyUnwrapped.move()
        front = front.unsafelyUnwrapped + 1
        head += 1
        count -= 1
        if count == 0 { beginAgain() } else if head == Self.chunkSize { leaveFirstChunk() }
        return element
    }

    /// - Precondition: The queue is not empty.
    mutating func removeLast() -> Element {
        end = end.unsafelyUnwrapped - 1
        let element = end.unsafelyUnwrapped.move()
        room += 1
        count -= 1
        if count == 0 { beginAgain() } else if room == Self.chunkSize { leaveLastChunk() }
        return element
    }

    /// Uses the chunk again that an empty queue has.
    @inline(__always)
    private mutating func beginAgain() {
        front = front.unsafelyUnwrapped - head
        head = 0
        (end, room) = (front, Self.chunkSize)
    }

    @inline(never)
    private mutating func leaveFirstChunk() {
        chunks.removeFirst().deallocate()
        (front, head) = (chunks.first, 0)
    }

    @inline(never)
    private mutating func leaveLastChunk() {
        chunks.removeLast().deallocate()
        (end, room) = (chunks.last + Self.chunkSize, 0)
    }
}
