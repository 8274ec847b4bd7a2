import Synchronization

/// A list that any number of threads read without a lock, also in a Unix signal handler.
///
/// | thread | what it does |
/// |---|---|
/// | one that reads | adds 1 to `readers`, reads `elements`, uses them, subtracts 1 |
/// | one that changes the list | swaps in new elements, waits until `readers` is 0, releases the old elements |
///
/// All four accesses are sequentially consistent: a reading thread whose addition the second thread does not see comes
/// after that thread's read in their one order, and so after the swap, and reads the new elements. So no elements are
/// released while a thread uses them, and no thread uses an element after the change that removes it has returned.
struct SharedList<Element: Sendable>: ~Copyable, @unchecked Sendable {
    private final class Elements: Sendable {
        let array: [Element]
        init(_ array: [Element]) { self.array = array }
    }

    /// Retained; nil if the list is empty.
    private let elements = Atomic<UnsafeRawPointer?>(nil)
    private let readers = Atomic<Int>(0)

    /// In a forked child, threads that read at the fork do not exist, and are not waited for.
    private let process = ProcessMark.current

    deinit { elements.load(ordering: .relaxed).map { Unmanaged<Elements>.fromOpaque($0).release() } }

    var isEmpty: Bool { elements.load(ordering: .relaxed) == nil }

    /// Calls `body` with the elements. It does not change a list.
    @inline(__always)
    func read(_ body: ([Element]) -> Void) {
        readers.add(1, ordering: .sequentiallyConsistent)
        defer { readers.subtract(1, ordering: .sequentiallyConsistent) }
        guard let pointer = elements.load(ordering: .sequentiallyConsistent) else { return body([]) }
        // Without a retain: a thread that changes the list waits for this one.
        Unmanaged<Elements>.fromOpaque(pointer)._withUnsafeGuaranteedRef { body($0.array) }
    }

    /// Changes the list. Two calls never overlap: the caller holds a lock.
    func change(_ body: (inout [Element]) -> Void) {
        let old = elements.load(ordering: .relaxed)
        var array = old.map { SharedList.array(at: $0) } ?? []
        body(&array)
        let new = array.isEmpty ? nil : UnsafeRawPointer(Unmanaged.passRetained(Elements(array)).toOpaque())
        elements.store(new, ordering: .sequentiallyConsistent)
        while readers.load(ordering: .sequentiallyConsistent) != 0, process.isCurrent { System.yieldThread() }
        if let old { Unmanaged<Elements>.fromOpaque(old).release() }
    }

    private static func array(at pointer: UnsafeRawPointer) -> [Element] {
        Unmanaged<Elements>.fromOpaque(pointer).takeUnretainedValue().array
    }
}
