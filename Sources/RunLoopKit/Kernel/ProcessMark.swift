import Synchronization

/// The process that something was made in.
///
/// A child made by `fork` has a copy of all memory, but its descriptors name the same kernel objects: an epoll set that
/// it changed, a timerfd that it armed and an eventfd that it wrote to would be its parent's. So whatever holds such a
/// descriptor keeps a mark, and does nothing to it in a child but close the child's copy.
struct ProcessMark: Equatable, Sendable {
    /// How many forks lie between the first process of the program and the marked one.
    let generation: UInt32

    /// The calling process's.
    static var current: ProcessMark {
        _ = countsForks
        return ProcessMark(generation: currentGeneration.load(ordering: .relaxed))
    }

    /// False in a child of the marked process. Cheap, and async-signal-safe. Relaxed: a child begins with one thread,
    /// which has counted.
    var isCurrent: Bool { generation == ProcessMark.currentGeneration.load(ordering: .relaxed) }

    /// Traps in a child of the marked process, which is about to take what its parent waits for.
    func requireCurrent() {
        guard !isCurrent else { return }
        fatalError(
            "RunLoopKit: a forked child ran a loop of its parent's, or returned from the handler that forked it. Call exec or "
                + "_exit there, or make the loops and threads that the child needs anew.")
    }

    private static let currentGeneration = Atomic<UInt32>(0)

    private static let countsForks: Void = {
        _ = currentGeneration.load(ordering: .relaxed)  // Made now, and not in the child.
        System.afterForkInChild { ProcessMark.currentGeneration.add(1, ordering: .relaxed) }
    }()
}
