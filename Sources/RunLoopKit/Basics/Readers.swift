import Synchronization

/// The threads that read something without a lock, and the one that waits until none does.
///
/// | the word | means |
/// |---|---|
/// | 2 × n | n threads read |
/// | 2 × n + 1 | the same, and a thread waits until n is 0 |
///
/// A thread that reads adds 2, and subtracts 2; if it was the last one and a thread waits, it wakes that thread. The
/// thread that waits sleeps in the kernel: one of a real-time priority must not keep a reader from the processor. All
/// accesses are sequentially consistent: a thread that changes something, and then finds no reader, knows that each
/// later reader sees the change.
@usableFromInline
package struct Readers: ~Copyable, Sendable {
    @usableFromInline let word = Atomic<UInt32>(0)

    package init() {}

    @inlinable @inline(__always)
    package borrowing func enter() { word.wrappingAdd(2, ordering: .sequentiallyConsistent) }

    /// Async-signal-safe.
    @inlinable @inline(__always)
    package borrowing func leave() {
        if word.wrappingSubtract(2, ordering: .sequentiallyConsistent).newValue == 1 { wake() }
    }

    @usableFromInline @inline(never)
    borrowing func wake() { System.wakeAll(at: word) }

    @inline(__always)
    var areNone: Bool { word.load(ordering: .sequentiallyConsistent) < 2 }

    /// Waits until no thread reads. The caller is no reader; two calls never overlap.
    @inline(__always)
    package borrowing func waitUntilNone() { if !areNone { waitUntilNoneSlowly() } }

    @inline(never)
    private borrowing func waitUntilNoneSlowly() {
        word.bitwiseOr(1, ordering: .sequentiallyConsistent)
        while true {
            let found = word.load(ordering: .sequentiallyConsistent)
            if found < 2 { break }
            System.wait(at: word, while: found)
        }
        word.bitwiseAnd(~1, ordering: .sequentiallyConsistent)
    }
}
