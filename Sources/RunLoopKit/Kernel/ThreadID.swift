import Synchronization

/// Who a thread is. Numbers are never given twice, unlike `pthread_t` and kernel thread ids.
struct ThreadID: Equatable, Sendable {
    private let number: UInt64

    /// The process's first thread, on which `main` was called; in a forked child, the thread that forked it, under a number
    /// of its own: it is not its parent's.
    static var initial: ThreadID { ThreadID(number: UInt64(ProcessMark.current.generation) << 48) }

    /// Of threads that have ended, except for destructors that still run. They own nothing.
    static let ended = ThreadID(number: .max)

    /// The calling thread's.
    static func make() -> ThreadID {
        if System.isInitialThread { return initial }
        // Relaxed: all that matters is that no two threads get the same number.
        return ThreadID(number: lastNumber.add(1, ordering: .relaxed).newValue)
    }

    private static let lastNumber = Atomic<UInt64>(0)
}
