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
/// itself: a call to its own limiter that is queued behind it is answered nil at once. So is one to a limiter whose
/// running action waits for the caller's, itself or by way of others: of a ring, the call that would close it. What was
/// called for begins after the running action all the same. The calls of an action are those of its task, of child tasks
/// and of `Task { }`; a detached task's are not known to be, and who waits for that can wait for ever.
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
    /// Cancelling the waiting task ends the wait, not the action, which others may wait for.
    ///
    /// - Returns: The result of the action that the call led to; nil when it led to none.
    /// - Throws: What the action throws; `CancellationError` when the waiting task is cancelled.
    public func run(_ input: Input) async throws -> Output? {
        let cancellation = Cancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Output?, any Error>) in
                let call = AsyncCall<Input, Output>(input, waitedForBy: AsyncRun.current.map(AsyncWait.init)) {
                    continuation.resume(with: $0)
                }
                cancellation.set { [weak call] in call?.answer(.failure(CancellationError())) }
                limiter(call)
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    /// Calls the limiter without waiting; an error of the action is lost.
    ///
    /// - Returns: As for `RateLimiter`.
    @discardableResult
    public func callAsFunction(_ input: Input) -> Bool { limiter(AsyncCall(input) { _ in }) }

    /// The same, with the answer handed to a function, once, on any thread.
    func call(_ input: Input, answer: @escaping @Sendable (Result<Output?, any Error>) -> Void) {
        limiter(AsyncCall(input, answer))
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

/// A call whose caller waits. Whoever lets go of it without having answered has answered nil.
final class AsyncCall<Input: Sendable, Output: Sendable>: @unchecked Sendable {
    typealias Answer = @Sendable (Result<Output?, any Error>) -> Void

    let input: Input
    /// Nil unless the caller is part of an action.
    let wait: AsyncWait?
    private let lock = Lock()
    /// Nil once it was given. Guarded by `lock`.
    private var give: Answer?

    init(_ input: Input, waitedForBy wait: AsyncWait? = nil, _ give: @escaping Answer) {
        (self.input, self.wait) = (input, wait)
        self.give = give
    }

    deinit { answer(.success(nil)) }

    /// The first answer counts.
    func answer(_ result: Result<Output?, any Error>) {
        let give = lock.withLock {
            defer { self.give = nil }
            return self.give
        }
        wait?.end()
        give?(result)
    }
}
