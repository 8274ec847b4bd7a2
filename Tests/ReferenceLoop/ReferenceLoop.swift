/// A run loop in 300 lines. RunLoopKit is this, made fast and safe from other threads.
///
/// A run loop waits until something is ready, calls the handler for it, and waits again. This one has one thread, plain
/// arrays and virtual time: instead of sleeping it sets its clock to the next deadline. Read `Pass.swift` first: a run
/// is one pass after the other. `Items.swift` has what a pass serves, `Modes.swift` says which items a run has.
///
/// Tests play the same programs on this loop and on RunLoopKit, and compare what is called.
package final class ReferenceLoop {
    /// Virtual time. A handler that takes long sets it forward.
    package var now = Duration.zero
    /// The runs that are active, innermost last: a handler may run the loop again.
    var runs: [Run] = []
    /// The items that are in any mode.
    var items: [Item] = []
    /// The modes that exist, since something was added to them or posted for them.
    package internal(set) var modes = ["default"]
    /// The modes that `common` stands for.
    var commonModes = ["default"]
    /// The blocks that wait, in the order of posting.
    var blocks: [(modes: [String], body: () -> Void)] = []
    /// What was found ready in each mode and no pass has served yet, oldest first.
    var ready: [String: [Ready]] = [:]
    /// Whether the loop was woken, and no wait has ended by it yet.
    private var isWoken = false
    private var lastTurn = 0

    package init() {}

    /// Numbers what happens, to order it.
    func nextTurn() -> Int {
        lastTurn += 1
        return lastTurn
    }

    package enum RunResult: Int32 { case finished = 1, stopped, timedOut, handledSource }

    /// One run of the loop.
    final class Run {
        let mode: String
        /// Whether the run makes one pass, which does not sleep.
        let polls: Bool
        let returnsAfterSourceHandled: Bool
        /// Nil for a run without a time limit.
        var deadline: Duration?
        var isStopped = false
        /// Whether the pass has not waited yet. Between its wait and its next pass, a run needs no wake-up.
        var hasYetToWait = true
        /// Whether a run above has used a wake-up since this run looked for blocks and signalled sources.
        var hasMissedWakeUp = false
        /// The same since the run last looked whether anything is left.
        var hasMissedLeaving = false
        /// What the pass is about to serve.
        var taken: Ready?

        init(_ mode: String, polls: Bool, returnsAfterSourceHandled: Bool) {
            (self.mode, self.polls, self.returnsAfterSourceHandled) = (mode, polls, returnsAfterSourceHandled)
        }
    }

    /// Runs the loop in a mode until there is a reason to return. A time of zero or less makes one pass, which does not
    /// sleep; nil is for ever.
    package func run(in mode: String, for time: Duration?, returnAfterSourceHandled: Bool = false) -> RunResult {
        guard modes.contains(mode), hasAnythingToWaitFor(in: mode) else { return .finished }  // 0
        let polls = time.map { $0 <= .zero } ?? false
        let run = Run(mode, polls: polls, returnsAfterSourceHandled: returnAfterSourceHandled)
        runs.append(run)
        notify(.entry, in: mode)  // 1
        run.deadline = time.map { now + $0 }
        var result: RunResult? = run.isStopped ? .stopped : nil  // 2
        while result == nil { result = pass(run) }  // 3
        notify(.exit, in: mode)  // 4
        runs.removeLast()
        dropNeedlessWakeUp()
        if runs.isEmpty { ready = ready.mapValues { $0.filter { $0 != .wakeUp } } }
        return result!
    }

    package var currentMode: String? { runs.last?.mode }

    /// Makes the innermost run return at the end of its pass.
    package func stop() {
        guard let run = runs.last, !run.isStopped else { return }
        run.isStopped = true
        wakeUp()
    }

    func isTimeUp(for run: Run) -> Bool { run.deadline.map { $0 <= now } ?? false }

    /// Sleeps until the first timer or the end of the run. Returns false if the run's time is up.
    func sleep(in run: Run) -> Bool {
        if isTimeUp(for: run) { return false }
        let fireTimes = timers(in: run.mode).filter { !$0.isBeingCalled }.map(\.fireTime)
        let deadlines = fireTimes + [run.deadline].compactMap(\.self)
        guard let next = deadlines.min() else { fatalError("A run without a time limit has nothing to wait for.") }
        now = max(now, next)
        return true
    }

    /// Ends the next wait of the innermost run.
    package func wakeUp() {
        isWoken = true
        dropNeedlessWakeUp()
    }

    private func dropNeedlessWakeUp() { if runs.last?.hasYetToWait != true { takeWakeUp() } }

    /// Returns whether the loop was woken since the last call. Runs below may have needed that.
    @discardableResult
    func takeWakeUp() -> Bool {
        guard isWoken else { return false }
        isWoken = false
        for run in runs { (run.hasMissedWakeUp, run.hasMissedLeaving) = (true, true) }
        return true
    }
}
