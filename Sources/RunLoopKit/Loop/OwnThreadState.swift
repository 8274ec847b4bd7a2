/// The state that only a loop's own thread accesses, through `Loop.own`, which asserts the thread.
final class OwnThreadState {
    /// The host, while a foreign loop hosts this one.
    var host: (any Host)?

    /// On the main loop only, in programs with libdispatch. Made by the first run.
    var mainQueue: MainQueue?

    /// Whether code that calls the loop outside any run has learned that the loop is closing. See
    /// `Loop.callerKnowsOfClosing`.
    var callerKnowsOfClosing = false

    /// Whether a job, or a handler isolated to an actor, runs. Then no other begins, not even in a run of the loop
    /// nested in it: that would interrupt an actor in the middle of a function.
    var isInsideJob = false

    /// Whether a drain of the job queue was skipped, since a job was running.
    var hasSkippedDrain = false
}

extension Loop {
    /// Asserts that the caller is on the loop's thread. An ended loop may be torn down on another.
    @inline(__always)
    func assertOnOwnThread() {
        assert(
            isOnOwnThread || hasEnded, "RunLoopKit: this thread touched what belongs to the loop's own thread.")
    }
}
