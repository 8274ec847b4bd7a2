// What a child made by `fork`, without exec, finds of its parent's loops: they refuse work there, trap when they are
// run, and leave the kernel objects alone that they share with the parent (`ProcessMark`).

extension Loop {
    /// False in a forked child of the process that the loop belongs to, where it refuses everything; says so once.
    ///
    /// To be asked before a lock is taken: a thread that the child does not have may hold it for ever.
    var isOfThisProcess: Bool {
        if process.isCurrent { return true }
        _ = Loop.complaintAboutFork
        return false
    }

    private static let complaintAboutFork: Void = System.complain(
        "RunLoopKit: a forked child gave work to a loop of its parent's, which refuses it there. Call exec or _exit in "
            + "the child, or make what it needs anew: Loop.current, a LoopThread. (Said only once.)")
}
