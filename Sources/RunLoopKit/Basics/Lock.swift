import Synchronization

/// A mutual exclusion lock: one word, in place, on which threads wait in the kernel (a futex).
///
/// Not recursive. Code that holds one never calls a handler. The word is an `Atomic`, so ThreadSanitizer sees the order
/// that the lock makes. See docs/decisions.md.
///
/// | the word | means |
/// |---|---|
/// | 0 | free |
/// | 1 | held, and no thread waits |
/// | 2 | held, and threads may wait: the holder wakes one when it unlocks |
///
/// A thread that has waited leaves 2 in the word even after it gets the lock, since it does not know whether others
/// wait. So an unlock may wake a thread needlessly, but none sleeps on a free lock.
///
/// In debug builds a lock knows the thread that holds it, and traps when it is taken out of order. In release builds it
/// is the word alone.
@usableFromInline
package struct Lock: ~Copyable, Sendable {
    @usableFromInline let word = Atomic<UInt32>(0)

    #if DEBUG
        @usableFromInline let rank: Rank
        /// `HeldLocks.thread` of the holder, or zero. Relaxed: a thread compares it with its own value only, which no
        /// other thread writes. No point of a schedule.
        @usableFromInline let holder = Synchronization.Atomic<UInt>(0)
    #endif

    package init(_ rank: Rank) {
        #if DEBUG
            self.rank = rank
        #endif
    }

    @inlinable @inline(__always)
    package borrowing func lock() {
        #if DEBUG
            HeldLocks.insert(rank)
        #endif
        // Acquire: the thread sees what the last holder did.
        if !take() { lockSlowly() }
        #if DEBUG
            holder.store(HeldLocks.thread, ordering: .relaxed)
        #endif
    }

    @inlinable @inline(__always)
    package borrowing func unlock() {
        #if DEBUG
            assertHeld()
            holder.store(0, ordering: .relaxed)
            HeldLocks.remove(rank)
        #endif
        // The next holder may release the object that has the lock.
        give()
    }

    @inlinable @inline(__always)
    borrowing func take() -> Bool {
        word.compareExchange(expected: 0, desired: 1, successOrdering: .acquiring, failureOrdering: .relaxed).exchanged
    }

    @usableFromInline @inline(never)
    borrowing func lockSlowly() {
        while word.exchange(2, ordering: .acquiring) != 0 { System.wait(at: word, while: 2) }
    }

    @inlinable @inline(__always)
    borrowing func give() {
        // Release: the next holder sees what this one did.
        if word.exchange(0, ordering: .releasing) == 2 { System.wakeOne(at: word) }
    }

    @inlinable @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}

extension Lock {
    /// A lock that the thread holds, for a function that unlocks it (`unlocking:`). It has no other use: a debug build
    /// traps when one is dropped.
    struct Held: ~Copyable {
        @inline(__always)
        fileprivate init() {}

        #if DEBUG
            deinit { assertionFailure("RunLoopKit: a lock that was to be unlocked is still held.") }
        #endif

        @inline(__always)
        fileprivate consuming func end() {
            #if DEBUG
                discard self
            #endif
        }
    }

    /// Whether a thread waits for the lock, or has just got it. For tests.
    var hasWaiters: Bool { word.load(ordering: .relaxed) == 2 }

    /// Takes the lock, for a function that unlocks it.
    @inline(__always)
    borrowing func hold() -> Held {
        lock()
        return Held()
    }

    /// The lock that the caller has taken by `lock()`, for a function that unlocks it.
    @inline(__always)
    var held: Held {
        assertHeld()
        return Held()
    }

    @inline(__always)
    borrowing func unlock(_ held: consuming Held) {
        held.end()
        unlock()
    }
}

extension Lock {
    /// Takes the lock; returns false, at once, if a thread holds it. A thread that does not wait may take locks in any
    /// order.
    @inline(__always)
    borrowing func lockIfFree() -> Bool {
        guard take() else { return false }
        #if DEBUG
            HeldLocks.insertInAnyOrder(rank)
            holder.store(HeldLocks.thread, ordering: .relaxed)
        #endif
        return true
    }

    /// Calls `body` with the lock held; nil if other threads hold it until a time on the monotonic clock.
    borrowing func withLock<Result>(until deadline: Int64, _ body: () -> Result) -> Result? {
        if !lockIfFree() {
            guard lockSlowly(until: deadline) else { return nil }
            #if DEBUG
                HeldLocks.insertInAnyOrder(rank)
                holder.store(HeldLocks.thread, ordering: .relaxed)
            #endif
        }
        defer { unlock() }
        return body()
    }

    /// As `lockSlowly()`. A thread that gives up leaves the 2, which costs a needless wake-up.
    private borrowing func lockSlowly(until deadline: Int64) -> Bool {
        while word.exchange(2, ordering: .acquiring) != 0 {
            guard System.wait(at: word, while: 2, until: deadline) else { return false }
        }
        return true
    }
}

// What debug builds check. Nothing in release builds.
extension Lock {
    /// Traps unless the calling thread holds this lock.
    @inlinable @inline(__always)
    package borrowing func assertHeld(file: StaticString = #fileID, line: UInt = #line) {
        #if DEBUG
            guard holder.load(ordering: .relaxed) != HeldLocks.thread else { return }
            fatalError("RunLoopKit: a lock of rank '\(rank)' is not held by this thread.", file: file, line: line)
        #endif
    }

    /// Traps if the calling thread holds any lock of the library, as it must not when it calls a handler or releases
    /// what a handler has captured.
    ///
    /// - Parameter first: The first rank, in the lock order, that must not be held: of all, unless the caller says
    ///   otherwise.
    @inline(__always)
    static func assertNoneHeld(from first: Rank = .engine, file: StaticString = #fileID, line: UInt = #line) {
        #if DEBUG
            guard HeldLocks.areAny else { return }
            let ranks = HeldLocks.ranks.filter { $0 >= first }
            guard !ranks.isEmpty else { return }
            let names = ranks.map { "'\($0)'" }.joined(separator: ", ")
            fatalError("RunLoopKit: called with locks of rank \(names) held.", file: file, line: line)
        #endif
    }
}

/// A condition variable, waited for with a `Lock` held.
struct Condition: ~Copyable {
    /// The number of broadcasts. A thread that waits sleeps only if it has not changed since the thread held the lock.
    private let broadcasts = Atomic<UInt32>(0)

    /// The threads that wait. Changed with the lock held.
    private let waiting = Atomic<Int>(0)

    /// Releases the lock, waits for a broadcast, and takes the lock again. Wake-ups can be spurious.
    ///
    /// The thread holds no other lock, which would stay locked during the wait. Debug builds check that.
    borrowing func wait(with lock: borrowing Lock) {
        waiting.wrappingAdd(1, ordering: .relaxed)
        // Relaxed, as everything here: the lock orders it.
        let seen = broadcasts.load(ordering: .relaxed)
        lock.released { System.wait(at: broadcasts, while: seen) }
        waiting.wrappingSubtract(1, ordering: .relaxed)
    }

    /// Wakes all threads that wait.
    ///
    /// Called after a change of what they wait for, which was made with the lock held. A thread that took the lock
    /// before the change is counted by then. One that takes it later sees the change and does not wait.
    borrowing func broadcast() {
        guard waiting.load(ordering: .relaxed) > 0 else { return }
        broadcasts.wrappingAdd(1, ordering: .relaxed)
        System.wakeAll(at: broadcasts)
    }
}

extension Lock {
    /// Releases the lock while `wait` is called.
    fileprivate borrowing func released(_ wait: () -> Void) {
        #if DEBUG
            assertHeld()
            holder.store(0, ordering: .relaxed)
            HeldLocks.remove(rank)
            Lock.assertNoneHeld()
        #endif
        give()
        wait()
        if !take() { lockSlowly() }
        #if DEBUG
            HeldLocks.insert(rank)
            holder.store(HeldLocks.thread, ordering: .relaxed)
        #endif
    }
}
