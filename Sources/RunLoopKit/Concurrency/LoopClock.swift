/// A loop's time as a clock of Swift concurrency: tasks sleep on the loop's timers. In any task; it retains its loop.
///
/// Anything that is generic over clocks runs on a loop this way. In virtual time, a test of it waits for nothing:
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
/// - *Its instants* are the loop's: those of CLOCK_MONOTONIC, as `SuspendingClock`'s, or of a ``VirtualClock``. On
///   request they are those of CLOCK_BOOTTIME, as `ContinuousClock`'s, or the time of day.
/// - *A sleeper* is a timer in the loop, and so keeps a run from finishing until its time has come. The run may be over
///   before the task goes on.
/// - *Virtual time* jumps as soon as the loop is idle, even while a task is on its way to or from a sleep elsewhere. So
///   let a test's tasks prefer the loop: <doc:TestingInVirtualTime#Actors-and-tasks>. Or take a ``VirtualClock/hold()``
///   until they sleep.
/// - *In short:* where a parameter is generic over clocks, `.loop(loop)` means `LoopClock(loop)`.
public struct LoopClock: Clock {
    /// The loop of the timers.
    public let loop: Loop

    /// The mode of the timers.
    public let mode: Loop.Mode

    /// The clock of its instants.
    public let timeBase: Loop.TimeBase

    /// Makes the clock of a loop.
    ///
    /// - Parameters:
    ///   - loop: The loop whose timers wake the sleepers.
    ///   - mode: The mode in which the loop must run for sleepers to wake.
    ///   - timeBase: The clock of its instants. Those of different clocks cannot be compared.
    public init(_ loop: Loop, in mode: Loop.Mode = .common, timeBase: Loop.TimeBase = .suspending) {
        self.loop = loop
        self.mode = mode
        self.timeBase = timeBase
    }

    /// Now, on the clock of the time base.
    public var now: Loop.Instant { loop.now(timeBase) }

    /// A nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the calling task until `deadline`, or a little later while the loop is busy. If the deadline has passed
    /// it returns at once. If the loop has ended it throws ``Loop/Ended``, whatever the deadline.
    ///
    /// The timer is in the loop before the task suspends. Cancelling the task wakes it at once and removes the timer.
    ///
    /// - Parameters:
    ///   - deadline: The time to wake at, on the clock of the time base.
    ///   - tolerance: How much later the task may wake: see ``Loop/Timer/tolerance``. Nil means not at all.
    /// - Throws: `CancellationError`; ``Loop/Ended`` when the loop has ended, or ends before the time has come.
    public nonisolated(nonsending) func sleep(until deadline: Loop.Instant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        let (reply, takeBack) = startTimer(until: deadline, tolerance ?? .zero)
        try await reply.promise.value(orTakingBack: takeBack)
    }

    private func startTimer(
        until deadline: Loop.Instant, _ tolerance: Duration
    ) -> (reply: AwaitedReply, takeBack: @Sendable () -> Void) {
        let ended: @Sendable (String) -> any Error = { _ in Loop.Ended() }
        let reply = AwaitedReply({}, Reply.Errors(name: "", dropped: ended, exited: ended))
        let wake = reply.reply.makeBlock()
        // Only the timer retains the block, and only the loop retains the timer: a loop that drops it ends the sleep.
        let timer = Loop.Timer(
            at: deadline, tolerance: tolerance, timeBase: timeBase, file: "sleep of a task", line: 0
        ) { _ in wake() }
        let takeBack: @Sendable () -> Void = { [weak timer] in reply.reply.withdraw { timer?.retire() } }
        // The deadline has passed already: the task need not wait for a loop that is busy or does not run.
        if loop.insert(timer, in: mode), deadline <= now {
            timer.retire()
            wake()
        }
        return (reply, takeBack)
    }
}

extension Loop {
    /// The error of a task that waits for a loop that has ended.
    public struct Ended: Error, Equatable, Sendable, CustomStringConvertible {
        /// For tests of callers that handle it.
        public init() {}

        /// What happened, and the remedy.
        public var description: String {
            "the loop has ended, so nothing would wake the task. Keep its LoopThread alive while tasks sleep on it."
        }
    }
}

extension Clock where Self == LoopClock {
    /// The clock of a loop, for places that take one: `Task.sleep(for: .seconds(1), clock: .loop(worker.loop))`.
    public static func loop(_ loop: Loop) -> LoopClock { LoopClock(loop) }
}
