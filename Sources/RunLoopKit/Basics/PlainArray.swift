/// An array of trivial values that cannot be copied, for what is written at every level of a heap. A write does not
/// check whether the storage is shared, and only debug builds check indices.
struct PlainArray<Element: BitwiseCopyable>: ~Copyable {
    private var storage: UnsafeMutablePointer<Element>?
    private var capacity = 0
    private(set) var count = 0

    init() {}

    deinit { storage?.deallocate() }

    var isEmpty: Bool { count == 0 }

    subscript(index: Int) -> Element {
        @inline(__always)
        get {
            check(index)
            return storage.unsafelyUnwrapped[index]
        }
        @inline(__always)
        set {
            check(index)
            storage.unsafelyUnwrapped[index] = newValue
        }
    }

    @inline(__always)
    private func check(_ index: Int) { assert(index >= 0 && index < count, "RunLoopKit: \(index) of \(count).") }

    @inline(__always)
    mutating func append(_ element: Element) {
        if count == capacity { move(toCapacity: max(capacity + capacity / 2, 4)) }
        count += 1
        self[count - 1] = element
    }

    @inline(__always)
    mutating func removeLast() -> Element {
        let last = self[count - 1]
        count -= 1
        return last
    }

    /// Removes all elements, and keeps the memory for so many at most.
    @inline(__always)
    mutating func removeAll(keepingCapacityUpTo limit: Int) {
        count = 0
        if capacity > limit { self = PlainArray() }
    }

    /// Removes the first `number` elements.
    mutating func removeFirst(_ number: Int) {
        assert(number <= count, "RunLoopKit: \(number) of \(count).")
        guard number > 0, let storage else { return }
        storage.update(from: storage + number, count: count - number)
        count -= number
    }

    @inline(never)
    private mutating func move(toCapacity newCapacity: Int) {
        let new = UnsafeMutablePointer<Element>.allocate(capacity: newCapacity)
        if let storage {
            new.update(from: storage, count: count)
            storage.deallocate()
        }
        (storage, capacity) = (new, newCapacity)
    }

    func copy() -> PlainArray { copy(first: count) }

    /// A copy of the first `number` elements.
    func copy(first number: Int) -> PlainArray {
        assert(number <= count, "RunLoopKit: \(number) of \(count).")
        var copy = PlainArray()
        if number > 0 {
            copy.move(toCapacity: number)
            copy.storage!.update(from: storage!, count: number)
            copy.count = number
        }
        return copy
    }
}
