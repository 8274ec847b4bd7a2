/// One run of a loop: the arguments of `Loop.run(mode:for:returnAfterSourceHandled:)`, and the state of the run.
///
/// Runs form a stack, `Loop.innermostRun` and those below it. A handler that runs its loop pushes a run, which suspends
/// the run that called the handler. A pass that a host makes is a run as well. When a run ends, the run below it may
/// have to look for work again: see `Loop.mustLookAgain(insteadOfSleepIn:)`.
///
/// Only the loop's thread accesses the variables, except `firing` and `below`, which the loop's lock guards.
/// Exclusivity is unchecked, as in `Loop`.
package final class Run {
    /// What ends a run, apart from a stop and a lack of work.
    enum Limit: Equatable {
        /// One pass, which does not sleep.
        case onePass
        /// A time on the loop's clock.
        case until(Int64)
        case forever
    }

    let mode: ModeState

    // MARK: Constant during a run

    @exclusivity(unchecked) private(set) var returnsAfterSourceHandled = false

    /// Whether a host makes this pass or, for the bottom run of a hosted loop, does the sleeping.
    @exclusivity(unchecked) private(set) var isHosted = false

    /// When a hosted pass leaves ready work to the next pass; nil for never.
    @exclusivity(unchecked) private(set) var budgetEnd: Int64?

    /// The run whose handler began this one. It is suspended. Guarded by the loop's lock, as `Loop.innermostRun`.
    @exclusivity(unchecked) var below: Run?

    /// Whether the code that began the run knew that the loop was closing. The closing does not end such a run.
    @exclusivity(unchecked) private(set) var outlivesClosing = false

    /// The stop flag of the run below, restored when this run ends. Nil for a pass that a host makes within its own
    /// hosting, which shares the flag: a stop is meant for the host, whichever of its passes notices it.
    @exclusivity(unchecked) private(set) var stopFlagBelow: Loop.StopFlag?

    // MARK: Variable

    /// Set after the entry observers have been called: a duration counts from then.
    @exclusivity(unchecked) var limit = Limit.onePass

    /// What else ends a run, and is asked before each pass.
    enum Condition {
        case none
        /// Something that a wake-up follows.
        case ofCaller
        /// Also asked before the run would sleep: nothing would end that sleep.
        case nothingIsLeft

        var result: Loop.RunResult { self == .nothingIsLeft ? .finished : .stopped }
    }

    @exclusivity(unchecked) var condition = Condition.none

    /// Whether the run ignores wake-ups: from the end of its wait until its next pass, which looks at all work.
    @exclusivity(unchecked) var ignoresWakeUps = false

    /// `Waker.takenWakeUps` when the run last looked for work, after step 3.1. A run above it may have taken later ones
    /// that this run needs.
    @exclusivity(unchecked) var seenWakeUps: UInt64 = 0

    /// The same when the run last looked whether anything is left, and asked its condition.
    @exclusivity(unchecked) var heededWakeUps: UInt64 = 0

    /// Whether the handler that the run is calling has learned that the loop is closing.
    @exclusivity(unchecked) var handlerKnowsOfClosing = false

    /// Whether step 3.5 passes over the main queue: in the run's first pass, which looks at all work, and after a
    /// drain.
    @exclusivity(unchecked) var skipsMainQueueStep = true

    /// What the run's block step has taken out of a queue and not run yet.
    @exclusivity(unchecked) var batch = BlockQueue()

    /// The timer whose handler runs. Guarded by the loop's lock.
    @exclusivity(unchecked) var firing: Loop.Timer?

    /// The mode as programs know it.
    package var publicMode: Loop.Mode { mode.mode }

    init(in mode: ModeState) { self.mode = mode }

    /// Makes this object a run that begins. The object may have been another run before: `ModeState.endedRun`.
    func begin(
        returnsAfterSourceHandled: Bool, isHosted: Bool, budgetEnd: Int64?, outlivesClosing: Bool,
        stopFlagBelow: Loop.StopFlag?
    ) {
        self.returnsAfterSourceHandled = returnsAfterSourceHandled
        self.isHosted = isHosted
        self.budgetEnd = budgetEnd
        self.outlivesClosing = outlivesClosing
        self.stopFlagBelow = stopFlagBelow
        limit = .onePass
        condition = .none
        ignoresWakeUps = false
        handlerKnowsOfClosing = false
        skipsMainQueueStep = true
    }

    /// The run and those below it, innermost first.
    package var stack: some Sequence<Run> { sequence(first: self, next: \.below) }
}
