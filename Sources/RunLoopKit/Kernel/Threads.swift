import Synchronization

/// Who a thread is. Numbers are never given twice, unlike `pthread_t` and kernel thread ids.
struct ThreadID: Equatable, Sendable {
    private let number: UInt64

    /// The process's first thread, on which `main` was called.
    static let initial = ThreadID(number: 0)

    /// The calling thread's.
    static func make() -> ThreadID {
        if System.isInitialThread { return initial }
        // Relaxed: all that matters is that no two threads get the same number.
        return ThreadID(number: lastNumber.add(1, ordering: .relaxed).newValue)
    }

    private static let lastNumber = Atomic<UInt64>(0)
}
