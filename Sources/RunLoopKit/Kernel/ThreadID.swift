import Synchronization

/// Identifies a thread; never reused, unlike `pthread_t` and kernel thread ids.
struct ThreadID: Hashable, Sendable {
    private let number: UInt64

    /// The process's first thread, which called `main`. In a forked child this is the thread that forked, with another
    /// number than in its parent.
    static var initial: ThreadID { ThreadID(number: UInt64(ProcessMark.current.generation) << 48) }

    /// A thread that has ended, except for destructors that still run. It owns nothing.
    static let ended = ThreadID(number: .max)

    /// Makes the calling thread's.
    static func make() -> ThreadID { System.isInitialThread ? initial : makeForNewThread() }

    /// Makes one for a thread that has not started.
    static func makeForNewThread() -> ThreadID {
        // Relaxed: the only requirement is that numbers differ.
        ThreadID(number: lastNumber.add(1, ordering: .relaxed).newValue)
    }

    private static let lastNumber = Atomic<UInt64>(0)
}
