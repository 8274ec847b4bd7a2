/// A mutual exclusion lock: a `pthread_mutex_t` at a stable address.
///
/// Chosen over Synchronization's `Mutex` by measurement, and because ThreadSanitizer understands it (see
/// docs/decisions.md). Not recursive. Code that holds one never calls out to a handler.
struct Lock: ~Copyable, @unchecked Sendable {
    fileprivate let mutex: UnsafeMutablePointer<CMutex>

    init() {
        mutex = .allocate(capacity: 1)
        System.initialize(mutex)
    }

    deinit {
        System.destroy(mutex)
        mutex.deallocate()
    }

    @inline(__always)
    borrowing func lock() { System.lock(mutex) }

    @inline(__always)
    borrowing func unlock() { System.unlock(mutex) }

    @inline(__always)
    borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
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

    /// Releases the lock, waits for a broadcast, takes the lock again. May return without one: look again.
    borrowing func wait(with lock: borrowing Lock) { System.wait(condition, lock.mutex) }

    borrowing func broadcast() { System.broadcast(condition) }
}
