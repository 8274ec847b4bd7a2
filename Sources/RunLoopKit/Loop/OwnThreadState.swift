/// What only a loop's own thread touches. It is reached through `Loop.own`, which asserts the thread.
final class OwnThreadState {
    /// Set while a foreign loop hosts this one.
    var host: (any Host)?

    /// On the main loop only, and only in programs with libdispatch. Made by the first run.
    var mainQueue: MainQueue?

    /// Whether code that calls the loop outside any run has learned that the loop is closing. See
    /// `Loop.callerKnowsOfClosing`.
    var callerKnowsOfClosing = false
}

extension Loop {
    /// Checks in debug builds that the caller is on the loop's thread, or, once the loop has ended, where it is torn
    /// down.
    @inline(__always)
    func assertOnOwnThread() {
        assert(
            isOnOwnThread || hasEnded, "RunLoopKit: this thread touched what belongs to the loop's own thread.")
    }
}
