import Synchronization

/// Identifies the process that made an object.
///
/// A child made by `fork` has a copy of all memory, but its descriptors name the same kernel objects: an epoll set that
/// it changed, a timerfd that it armed and an eventfd that it wrote to would be its parent's. So an owner of such a
/// descriptor keeps a mark, and in a child it only closes the child's copy.
///
/// **No lazy globals.** In a child, two threads that meet at the first use of a lazy global spin for ever: Swift's
/// runtime keeps the kernel's number of the thread that forked, which the fork changes. So what every thread of a child
/// may use first is an atomic. `scripts/check rules` cannot see a lazy one: `scripts/check mistakes` looks into a
/// release build.
struct ProcessMark: Equatable, Sendable {
    /// Grows with each fork between the first process of the program and the marked one.
    let generation: UInt32

    /// The mark of the calling process.
    static var current: ProcessMark {
        if !countsForks.load(ordering: .acquiring) { countForks() }
        return ProcessMark(generation: currentGeneration.load(ordering: .relaxed))
    }

    /// False in a child of the marked process. Cheap, and async-signal-safe. Relaxed: a child begins with one thread,
    /// the one that counted.
    var isCurrent: Bool { generation == ProcessMark.currentGeneration.load(ordering: .relaxed) }

    /// Traps in a child of the marked process, before it consumes events of its parent's.
    func requireCurrent() {
        guard !isCurrent else { return }
        fatalError(
            "RunLoopKit: a forked child ran a loop of its parent's, or returned from the handler that forked it. Call "
                + "exec or _exit there, or make the loops and threads that the child needs anew.")
    }

    /// Whether the process is a forked child of one that has used the library.
    static var isOfForkedChild: Bool { current.generation > 0 }

    /// Whether the thread that has called `main` still exists. It is another one in a child that any other thread
    /// forked.
    static var hasFirstThread: Bool { !hasLostFirstThread.load(ordering: .relaxed) }

    private static let currentGeneration = Atomic<UInt32>(0)
    private static let hasLostFirstThread = Atomic<Bool>(false)

    private static let countsForks = Atomic<Bool>(false)

    /// Two threads that do so at the same moment count each fork twice.
    @inline(never)
    private static func countForks() {
        // A debug build initializes them now, not in the child.
        _ = (currentGeneration.load(ordering: .relaxed), hasLostFirstThread.load(ordering: .relaxed))
        System.onFork(before: { System.forksOnInitialThread = System.isInitialThread }) {
            if !System.forksOnInitialThread { ProcessMark.hasLostFirstThread.store(true, ordering: .relaxed) }
            ProcessMark.currentGeneration.add(1, ordering: .relaxed)
            SignalEntry.leaveToParent()
            System.leaveBacktraceToParent()
        }
        // Release: who finds it set is counted.
        countsForks.store(true, ordering: .releasing)
    }
}
