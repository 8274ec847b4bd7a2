/// The state that only a loop's own thread accesses, through `Loop.own`, which asserts the thread. Exclusivity is
/// unchecked, as in `Loop`: a check costs 75 instructions.
final class OwnThreadState {
    /// The host, while a foreign loop hosts this one.
    @exclusivity(unchecked) var host: (any Host)?

    /// On the main loop only, in programs with libdispatch. Made by the first run.
    @exclusivity(unchecked) var mainQueue: MainQueue?

    /// The modes in which a wake-up was listed as ready since the last outermost run began.
    @exclusivity(unchecked) private var modesWithWakeUp: [ModeState] = []

    /// Lists a wake-up as ready.
    func listWakeUp(in mode: ModeState, turn: UInt64 = 0) {
        mode.ready.append(ReadyList.wakeUp, turn: turn)
        guard !mode.ready.isKnownToHaveWakeUp else { return }
        mode.ready.isKnownToHaveWakeUp = true
        modesWithWakeUp.append(mode)
    }

    /// Forgets wake-ups that are listed and were not served: they were meant for an earlier run.
    @inline(__always)
    func forgetListedWakeUps() { if !modesWithWakeUp.isEmpty { forgetListedWakeUpsSlowly() } }

    @inline(never)
    private func forgetListedWakeUpsSlowly() {
        for mode in modesWithWakeUp {
            mode.ready.forgetWakeUp()
            mode.ready.isKnownToHaveWakeUp = false
        }
        modesWithWakeUp.removeAll(keepingCapacity: true)
    }

    /// For the version-0 sources of a step, and for its timers, without an allocation for each step.
    @exclusivity(unchecked) var signalled = KeptRoom<Loop.Source0?>()
    @exclusivity(unchecked) var dueTimers = KeptRoom<Loop.Timer>()
    /// For the message ports that a wait has found.
    @exclusivity(unchecked) var arrived = KeptRoom<Loop.Item?>()

    /// The number of the last block that an active block step may run: see `BlockStep`.
    @exclusivity(unchecked) var hiddenBlocks: UInt64 = 0

    /// Whether the kernel has been asked since a handler last returned.
    @exclusivity(unchecked) var hasAskedLast = false

    /// Whether code that calls the loop outside any run has learned that the loop is closing. See
    /// `Loop.callerKnowsOfClosing`.
    @exclusivity(unchecked) var callerKnowsOfClosing = false

    /// Whether a job, or a handler isolated to an actor, runs. No other job begins then, not even in a nested run: it
    /// would interrupt an actor in the middle of a function.
    @exclusivity(unchecked) var isInsideJob = false

    @exclusivity(unchecked) var spinHistory = SpinHistory()

    // For precise timers.
    @exclusivity(unchecked) var preciseSleep: PreciseSleep?
    @exclusivity(unchecked) var headStart = HeadStart()

    /// Whether the thread has called `stop()` before the first run.
    @exclusivity(unchecked) var hasLostStop = false

    /// Whether a drain of the job queue was skipped, since a job was running.
    @exclusivity(unchecked) var hasSkippedDrain = false
}

extension Loop {
    /// Asserts that the caller is on the loop's thread. An ended loop may be torn down on another.
    @inline(__always)
    func assertOnOwnThread() {
        assert(
            isOnOwnThread || hasEnded, "RunLoopKit: this thread touched what belongs to the loop's own thread.")
    }
}
