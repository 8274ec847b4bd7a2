import Synchronization

/// A list that any number of threads read without a lock, even in a Unix signal handler.
///
/// | thread | what it does |
/// |---|---|
/// | one that reads | joins `readers`, reads `elements`, uses them, leaves `readers` |
/// | one that changes it | swaps in new elements, retires the old ones; without readers, releases those retired |
///
/// All these accesses are sequentially consistent. A reading thread that the second thread does not see comes after
/// that thread's look in their one order, and so after the swap: it reads the new elements. So no thread uses elements
/// that are released, and a change waits for no other thread. What a reader has kept from being released, the next
/// change releases, or the end of the list.
struct SharedList<Element: Sendable>: ~Copyable, @unchecked Sendable {
    private final class Elements: @unchecked Sendable {
        let array: [Element]
        /// What was retired before. Guarded as `retired`.
        @exclusivity(unchecked) var retiredBefore: Elements?

        init(_ array: [Element]) { self.array = array }
    }

    /// Retained; nil if the list is empty.
    private let elements = Atomic<UnsafeRawPointer?>(nil)

    /// Retained. Changed only by threads that change the list. Relaxed: their lock orders it.
    private let retired = Atomic<UnsafeRawPointer?>(nil)

    private let readers = Readers()

    deinit {
        releaseRetired()
        if let last = SharedList.elements(at: elements.load(ordering: .relaxed)) { last.release() }
    }

    var isEmpty: Bool { elements.load(ordering: .relaxed) == nil }

    /// Calls `body` with the elements. It does not change a list.
    @inline(__always)
    func read(_ body: ([Element]) -> Void) {
        readers.enter()
        defer { readers.leave() }
        look(body)
    }

    /// Calls `first` with the elements, and then `second` with those that the list has by then.
    @inline(__always)
    func read(_ first: ([Element]) -> Void, then second: ([Element]) -> Void) {
        readers.enter()
        defer { readers.leave() }
        look(first)
        look(second)
    }

    @inline(__always)
    private func look(_ body: ([Element]) -> Void) {
        guard let elements = SharedList.elements(at: elements.load(ordering: .sequentiallyConsistent)) else {
            return body([])
        }
        // Without a retain: the elements are not released while there are readers.
        elements._withUnsafeGuaranteedRef { body($0.array) }
    }

    /// Changes the list. Threads that read it at this moment may use the old elements for a while. Calls never overlap:
    /// the caller holds a lock.
    func change(_ body: (inout [Element]) -> Void) {
        let old = SharedList.elements(at: elements.load(ordering: .relaxed))
        var array = old?._withUnsafeGuaranteedRef { $0.array } ?? []
        body(&array)
        let new = array.isEmpty ? nil : UnsafeRawPointer(Unmanaged.passRetained(Elements(array)).toOpaque())
        elements.store(new, ordering: .sequentiallyConsistent)
        if let old { retire(old) }
        if readers.areNone { releaseRetired() }
    }

    /// Waits until no thread reads the list: all threads that read it later find it as it is now. Called as `change`.
    func waitForReaders() {
        readers.waitUntilNone()
        releaseRetired()
    }

    private func retire(_ old: Unmanaged<Elements>) {
        let before = retired.exchange(UnsafeRawPointer(old.toOpaque()), ordering: .relaxed)
        old._withUnsafeGuaranteedRef { $0.retiredBefore = SharedList.elements(at: before)?.takeRetainedValue() }
    }

    private func releaseRetired() {
        var next = SharedList.elements(at: retired.exchange(nil, ordering: .relaxed))?.takeRetainedValue()
        // One after the other: a long chain that is released at once would fill the stack.
        while let elements = next { next = elements.retiredBefore.take() }
    }

    private static func elements(at pointer: UnsafeRawPointer?) -> Unmanaged<Elements>? {
        pointer.map { Unmanaged<Elements>.fromOpaque($0) }
    }
}
