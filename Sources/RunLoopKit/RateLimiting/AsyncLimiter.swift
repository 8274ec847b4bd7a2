/// A throttle or a debounce whose action is `async`, and whose callers may wait for its result.
///
/// ```swift
/// let search = AsyncLimiter.debounce(interval: .milliseconds(300), whileRunning: .cancelPrevious) { (text: String) in
///     try await fetchResults(for: text)
/// }
/// if let results = try await search.run(field.text) { show(results) }
/// ```
///
/// When the action is due is decided as by `Throttle` and `Debounce`; it then runs as a task of its own, and
/// `RateLimitOverlap` says what happens if the one before has not ended. All calls of a burst that lead to one action get
/// its result.
///
/// **Every caller gets an answer**: the action's result, the error that it throws, or nil when no action came of the
/// call: it was limited away, skipped or replaced while another one ran, cancelled, or dropped with the limiter or its
/// loop. An action that never ends never answers.
///
/// **Actions that wait for limiters.** An action may wait for another limiter, in its queue too. It cannot wait for
/// itself: a wait for a call to its own limiter that is queued behind it ends at once, with nil. So does one for a limiter
/// whose running action waits for the caller's, itself or by way of others: of a ring, the wait that would close it. What
/// was called for begins after the running action all the same. The waits of an action are those of its task, of child
/// tasks and of `Task { }`; a detached task's are not known to be, and an action that waits for that can wait for ever.
///
/// Everything may be called from any thread. Dropping the last reference, and the end of the loop, do with pending calls
/// what `whenReleased` says; an action that runs or is queued then goes on. Peers: p-debounce and p-throttle, whose
/// callers may wait for ever; Combine's `switchToLatest`.
public final class AsyncLimiter<Input: Sendable, Output: Sendable>: Sendable {
    private let limiter: RateLimiter<AsyncCall<Input, Output>>
    private let runner: AsyncRunner<Input, Output>

    private init(_ runner: AsyncRunner<Input, Output>, _ limiter: RateLimiter<AsyncCall<Input, Output>>) {
        self.runner = runner
        self.limiter = limiter
    }

    /// Makes a throttle with an asynchronous action.
    ///
    /// - Parameters:
    ///   - interval, edges, loop, modes, whenReleased: As in `Throttle`. The loop decides when to act; the action does
    ///     not run on its thread.
    ///   - overlap: What happens when an action is due while another one runs.
    ///   - action: Gets the last input. Runs as a detached task.
    public static func throttle(
        interval: Duration, edges: RateLimitEdges = .leading, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        whileRunning overlap: RateLimitOverlap = .queueLatest,
        action: @escaping @Sendable (_ input: Input) async throws -> Output
    ) -> AsyncLimiter {
        let runner = AsyncRunner(overlap, action)
        let limiter = Throttle<AsyncCall<Input, Output>>.collecting(
            interval: interval, edges: edges, on: loop, in: modes, whenReleased: whenReleased
        ) { runner.start($0) }
        return AsyncLimiter(runner, limiter)
    }

    /// Makes a debounce with an asynchronous action.
    ///
    /// - Parameters:
    ///   - interval, edges, maxWait, loop, modes, whenReleased: As in `Debounce`. The loop decides when to act; the
    ///     action does not run on its thread.
    ///   - overlap: What happens when an action is due while another one runs.
    ///   - action: Gets the last input. Runs as a detached task.
    public static func debounce(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        whileRunning overlap: RateLimitOverlap = .queueLatest,
        action: @escaping @Sendable (_ input: Input) async throws -> Output
    ) -> AsyncLimiter {
        let runner = AsyncRunner(overlap, action)
        let limiter = Debounce<AsyncCall<Input, Output>>.collecting(
            interval: interval, edges: edges, maxWait: maxWait, on: loop, in: modes, whenReleased: whenReleased
        ) { runner.start($0) }
        return AsyncLimiter(runner, limiter)
    }

    /// Calls the limiter and waits for what comes of it.
    ///
    /// The call is made before the task suspends, without leaving the caller's actor: tasks of one actor call the limiter
    /// in the order in which they run. Cancelling the task ends its wait, not the call: that of a cancelled task is made
    /// all the same. To call from code that is not asynchronous, or to wait later, use `call(_:)`.
    ///
    /// - Returns: The result of the action that the call led to; nil when it led to none.
    /// - Throws: What the action throws; `CancellationError` when the task is cancelled before there is an answer.
    public nonisolated(nonsending) func run(_ input: Input) async throws -> Output? {
        try await call(input).value
    }

    /// Calls the limiter and returns what its answer can be waited for with.
    ///
    /// ```swift
    /// func textChanged(to text: String) {
    ///     let answer = search.call(text)  // in the order of the key strokes
    ///     Task { if let results = try await answer.value { show(results) } }
    /// }
    /// ```
    ///
    /// An answer for which no task waits is dropped, errors included.
    public func call(_ input: Input) -> Answer {
        let call = AsyncCall<Input, Output>(input)
        let answer = Answer(outcome: call.outcome)
        limiter(call)
        return answer
    }

    /// Calls the limiter without waiting; an error of the action is lost.
    ///
    /// - Returns: As for `RateLimiter`.
    @discardableResult
    public func callAsFunction(_ input: Input) -> Bool { limiter(AsyncCall(input)) }

    /// What will come of a call. Made by `call(_:)`.
    ///
    /// It keeps neither the limiter nor the call alive.
    public struct Answer: Sendable {
        let outcome: AsyncOutcome<Output>

        /// The result of the action that the call led to; nil when it led to none.
        ///
        /// Any number of tasks may wait, at any time; each gets the same answer. Cancelling one ends its own wait, not the
        /// call. An answer that is there is returned to a cancelled task too. An action whose wait would close a ring of
        /// actions that wait for each other gets nil, whatever the call leads to.
        ///
        /// - Throws: What the action throws; `CancellationError` when the waiting task is cancelled before there is an
        ///   answer.
        public nonisolated(nonsending) var value: Output? {
            get async throws {
                let promise = Promise<Output?>()
                let waiter = outcome.wait(AsyncRun.current.map(AsyncWait.init), promise.fulfil)
                return try await promise.value { [outcome] in outcome.cancel(waiter) }
            }
        }
    }

    /// Begins now with what is pending, or queues it, as if its time had come.
    ///
    /// - Returns: Whether there was something pending, and the loop took it.
    @discardableResult
    public func flush() -> Bool { limiter.flush() }

    /// Forgets what is pending or queued, and the past. Its callers are answered nil. A running action goes on.
    public func cancel() {
        limiter.cancel()
        runner.dropQueued()
    }

    /// Whether a call waits for its time. A queued one does not: its time has come.
    public var isPending: Bool { limiter.isPending }

    /// As in `RateLimiter`.
    public var interval: Duration {
        get { limiter.interval }
        set { limiter.interval = newValue }
    }

    /// Ends the limiter for good: what is pending or queued is answered nil, the running action's task is cancelled, and
    /// later calls are answered nil at once.
    public func invalidate() {
        limiter.invalidate()
        runner.end()
    }
}
