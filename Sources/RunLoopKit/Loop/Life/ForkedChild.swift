// The loops of the parent in a child made by `fork` without exec. They refuse work, trap when they are run, and do not
// touch the kernel objects that they share with the parent (`ProcessMark`).

import Synchronization

extension Loop {
    /// False in a forked child of the loop's process, where the loop refuses everything. Reports that once.
    ///
    /// Called before a lock is taken: a thread that does not exist in the child may hold it forever.
    var isOfThisProcess: Bool {
        if process.isCurrent { return true }
        Loop.complainAboutFork()
        return false
    }

    /// No lazy global: see `ProcessMark`.
    private static let hasComplainedAboutFork = Atomic<Bool>(false)

    private static func complainAboutFork() {
        if hasComplainedAboutFork.exchange(true, ordering: .relaxed) { return }
        System.complain(
            "RunLoopKit: a forked child gave work to a loop of its parent's, which refuses it there. Call exec or "
                + "_exit in the child, or use what is its own: Loop.main, Loop.current, a LoopThread that it makes. "
                + "(Reported only once.)")
    }
}
