/// A loop's time as a clock of Swift concurrency: tasks sleep on the loop's timers.
///
/// Anything that is generic over clocks runs on a loop this way; and if the loop runs in virtual time, a test of it
/// waits for nothing.
///
/// ```swift
/// let thread = try LoopThread(clock: VirtualClock())
/// let clock = LoopClock(thread.loop)
/// let task = Task(executorPreference: thread.loop.taskExecutor) {
///     try await Task.sleep(for: .seconds(3600), clock: clock)
///     print(clock.now)  // 3600000000000 ns
/// }
/// try await task.value  // at once
/// ```
///
/// Its instants are the loop's: CLOCK_MONOTONIC, as `SuspendingClock` has it, or, if asked for, CLOCK_BOOTTIME, as
/// `ContinuousClock` has it; or the time of a `VirtualClock`. A sleeper is a timer in the loop, and as such keeps a run from
/// finishing.
///
/// *Virtual time* jumps as soon as the loop is idle, and knows nothing of tasks that are elsewhere on their way to
/// sleep or back. So let the tasks of a test prefer the loop, as above, also those that run on its actors: Swift resumes a
/// task where it prefers to be before it goes on to its actor. Or take a `VirtualClock.hold()` until they sleep.
///
/// From any thread and any task. It retains its loop.
public struct LoopClock: Clock {
    /// The loop that has the timers.
    public let loop: Loop

    /// The mode in which the timers are.
    public let mode: Loop.Mode

    /// Whether time in suspend counts.
    public let timeBase: Loop.TimeBase

    /// The clock of a loop.
    ///
    /// - Parameters:
    ///   - mode: In which mode the loop has to run for sleepers to wake: any common one, unless you say otherwise.
    ///   - timeBase: Whether time in suspend counts. Instants of the two have nothing to do with each other.
    public init(_ loop: Loop, in mode: Loop.Mode = .common, timeBase: Loop.TimeBase = .suspending) {
        self.loop = loop
        self.mode = mode
        self.timeBase = timeBase
    }

    /// Now, on the clock of the time base.
    public var now: Loop.Instant { loop.now(timeBase) }

    /// A nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the calling task until `deadline`, or a little later while the loop is busy. A deadline that is not in
    /// the future, on a loop that still lives, is no reason to suspend.
    ///
    /// The timer is in the loop before the task suspends.
    ///
    /// Cancelling the task wakes it at once and takes the timer out of the loop.
    ///
    /// - Parameter tolerance: How much later it may be: see `Loop.Timer.tolerance`. Nil for none.
    /// - Throws: `CancellationError`; `Loop.Ended` when the loop has ended, or ends before the time has come.
    public nonisolated(nonsending) func sleep(until deadline: Loop.Instant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        let (promise, takeBack) = startTimer(until: deadline, tolerance ?? .zero)
        try await promise.value(orTakingBack: takeBack)
    }

    private func startTimer(
        until deadline: Loop.Instant, _ tolerance: Duration
    ) -> (promise: Promise<Void>, takeBack: @Sendable () -> Void) {
        let promise = Promise<Void>()
        let reply = Reply({}, .init(dropped: Loop.Ended(), exited: Loop.Ended()), promise.fulfil)
        let wake = reply.makeBlock()
        // Only the timer retains the reply, and only the loop the timer: a loop that drops it ends the sleep.
        let timer = Loop.Timer(at: deadline, tolerance: tolerance, timeBase: timeBase) { _ in wake() }
        let takeBack: @Sendable () -> Void = { [weak reply, weak timer] in
            guard let reply else { return }
            timer?.invalidate()
            reply.cancel()
        }
        // The time has come already: no need to wait until a loop that is busy, or does not run, finds that out.
        if loop.add(timer, in: mode), deadline <= now {
            timer.invalidate()
            wake()
        }
        return (promise, takeBack)
    }
}

extension Loop {
    /// What is thrown to a task that waits for a loop which has ended: nothing will happen there any more.
    public struct Ended: Error, Equatable, Sendable, CustomStringConvertible {
        /// For tests of what callers do about it.
        public init() {}

        /// What happened, and what to do about it.
        public var description: String {
            "the loop has ended, so nobody would wake the task. Keep its LoopThread alive for as long as tasks sleep on it."
        }
    }
}

extension Clock where Self == LoopClock {
    /// The clock of a loop, for places that take one: `Task.sleep(for: .seconds(1), clock: .loop(worker.loop))`.
    public static func loop(_ loop: Loop) -> LoopClock { LoopClock(loop) }
}
