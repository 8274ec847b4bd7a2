import Synchronization

/// A mutual exclusion lock: a `pthread_mutex_t` at a stable address.
///
/// Chosen over Synchronization's `Mutex` by measurement, and because ThreadSanitizer understands it (see
/// docs/decisions.md). Not recursive. Code that holds one never calls a handler.
///
/// In debug builds a lock knows the thread that holds it, and traps when it is taken out of order. In release builds it
/// is the mutex alone.
struct Lock: ~Copyable, @unchecked Sendable {
    fileprivate let mutex: UnsafeMutablePointer<CMutex>

    #if DEBUG
        private let rank: Rank
        /// `HeldLocks.thread` of the holder, or zero. Relaxed: a thread compares it with its own value only, which no
        /// other thread writes.
        private let holder = Atomic<UInt>(0)
    #endif

    init(_ rank: Rank) {
        mutex = .allocate(capacity: 1)
        System.initialize(mutex)
        #if DEBUG
            self.rank = rank
        #endif
    }

    deinit {
        System.destroy(mutex)
        mutex.deallocate()
    }

    @inline(__always)
    borrowing func lock() {
        #if DEBUG
            HeldLocks.insert(rank)
        #endif
        System.lock(mutex)
        #if DEBUG
            holder.store(HeldLocks.thread, ordering: .relaxed)
        #endif
    }

    @inline(__always)
    borrowing func unlock() {
        #if DEBUG
            assertHeld()
            holder.store(0, ordering: .relaxed)
        #endif
        System.unlock(mutex)
        #if DEBUG
            HeldLocks.remove(rank)
        #endif
    }

    @inline(__always)
    borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}

extension Lock {
    /// Calls `body` with the lock held; nil, at once, if another thread holds it.
    borrowing func withLockIfFree<Result>(_ body: () -> Result) -> Result? {
        guard System.tryLock(mutex) else { return nil }
        #if DEBUG
            HeldLocks.insert(rank)
            holder.store(HeldLocks.thread, ordering: .relaxed)
        #endif
        defer { unlock() }
        return body()
    }
}

// What debug builds check. Nothing in release builds.
extension Lock {
    /// Traps unless the calling thread holds this lock.
    @inline(__always)
    borrowing func assertHeld(file: StaticString = #fileID, line: UInt = #line) {
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
            let ranks = HeldLocks.ranks.filter { $0 >= first }
            guard !ranks.isEmpty else { return }
            let names = ranks.map { "'\($0)'" }.joined(separator: ", ")
            fatalError("RunLoopKit: called with locks of rank \(names) held.", file: file, line: line)
        #endif
    }
}

/// A condition variable, waited for with a `Lock` held.
struct Condition: ~Copyable, @unchecked Sendable {
    private let condition: UnsafeMutablePointer<CCondition>

    init() {
        condition = .allocate(capacity: 1)
        System.initialize(condition)
    }

    deinit {
        System.destroy(condition)
        condition.deallocate()
    }

    /// Releases the lock, waits for a broadcast, and takes the lock again. Wake-ups can be spurious.
    ///
    /// The thread holds no other lock, which would stay locked during the wait. Debug builds check that.
    borrowing func wait(with lock: borrowing Lock) { lock.released { System.wait(condition, lock.mutex) } }

    borrowing func broadcast() { System.broadcast(condition) }
}

extension Lock {
    /// Calls what unlocks the mutex and locks it again.
    @inline(__always)
    fileprivate borrowing func released(_ wait: () -> Void) {
        #if DEBUG
            assertHeld()
            holder.store(0, ordering: .relaxed)
            HeldLocks.remove(rank)
            Lock.assertNoneHeld()
        #endif
        wait()
        #if DEBUG
            HeldLocks.insert(rank)
            holder.store(HeldLocks.thread, ordering: .relaxed)
        #endif
    }
}
