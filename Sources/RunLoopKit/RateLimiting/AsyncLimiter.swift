/// A throttle or a debounce whose action is `async`, and whose callers may wait for its result.
///
/// ```swift
/// let search = AsyncLimiter.debounce(
///     interval: .milliseconds(300), on: .main, whileRunning: .cancelPrevious
/// ) { (text: String) in
///     try await fetchResults(for: text)
/// }
/// let results = try await search.run("run loop")  // nil if the call led to no search
/// ```
///
/// The action is due as with ``Throttle`` and ``Debounce``. It then runs as a task of its own; ``RateLimitOverlap``
/// decides what happens if the previous action has not ended. All calls of a burst that lead to one action get its
/// result, which belongs to the last input: a program that shows results for each call shows old ones. Let the action
/// deliver them, and compare a number of the call first, since it runs on while newer calls wait: see
/// <doc:ThrottleOrDebounce#Asynchronous-actions>.
///
/// **Where the action runs**: on Swift's own threads, unless it belongs to an actor; the limiter's loop only decides
/// when it begins. With an `executorPreference` it runs on that executor, as far as its code belongs to no actor with
/// an executor of its own:
///
/// ```swift
/// let search = AsyncLimiter.debounce(
///     interval: .milliseconds(300), on: worker.loop, executorPreference: worker.loop.taskExecutor
/// ) { (text: String) in
///     try await fetchResults(for: text)  // begins, and continues after each await, on the worker's thread
/// }
/// ```
///
/// In virtual time, let the action prefer the loop that the limiter is on: then no time passes between the end of a
/// burst and the action. An executor does not keep its loop running: the program holds the ``LoopThread``. For tasks
/// whose loop has ended, see ``Loop/asUnownedSerialExecutor()``.
///
/// **Every caller gets an answer**: the action's result, the error that it throws, or nil if the call led to no action:
/// it was limited away, skipped or replaced while another action ran, cancelled, or dropped with the limiter or its
/// loop. An action that never ends never answers. With `queueLatest`, the default, no action starts any more then: the
/// newest call waits behind it, and the others get nil. Bound the time in the action, or call
/// ``AsyncLimiter/invalidate()``, which cancels it.
///
/// **Actions that wait for limiters.** An action may wait for another limiter, also in its queue. It cannot wait for
/// itself: a wait for a call to its own limiter, which is queued behind it, ends at once with nil. So does a wait for a
/// limiter whose running action waits for the caller's action, directly or through others: of a ring, the wait that
/// would close it. The call itself still starts its action after the running one. The waits of an action are those of
/// its task, of child tasks and of `Task { }`. Those of a detached task are not known: an action that waits for such a
/// task can wait for ever.
///
/// Everything may be called from any thread. Dropping the last reference, and the end of the loop, treat pending calls
/// as `whenReleased` says; an action that runs or is queued continues. The limiter retains its action: capture the
/// limiter's owner as `[weak self]`. An action of the main actor is `{ @MainActor input in … }`. Peers: p-debounce and
/// p-throttle, whose callers may wait for ever; Combine's `switchToLatest`.
public final class AsyncLimiter<Input: Sendable, Output: Sendable>: CustomStringConvertible, Sendable {
    private let limiter: RateLimiter<AnyAsyncCall>
    private let runner: AsyncRunner<Input, Output>

    private init(_ runner: AsyncRunner<Input, Output>, _ limiter: RateLimiter<AnyAsyncCall>) {
        self.runner = runner
        self.limiter = limiter
    }

    /// Makes a throttle with an asynchronous action.
    ///
    /// - Parameters:
    ///   - interval: The time in which at most one action happens. A negative value counts as zero; one beyond the
    ///     clock's range never ends.
    ///   - edges: When to act. Without any edge it never acts.
    ///   - loop: The loop that decides when to act. The action runs on its thread only if it prefers the loop's
    ///     ``Loop/taskExecutor``.
    ///   - modes: The modes of the loop in which it acts: the action waits while the loop runs in others. With none it
    ///     acts only on calls made on the loop's thread while the loop does not run.
    ///   - whenReleased: What happens to a pending call when the limiter is deallocated or the loop ends.
    ///   - overlap: What happens if an action is due while another one runs.
    ///   - executorPreference: The executor that the action's task prefers, such as ``Loop/taskExecutor``; nil for
    ///     Swift's own threads. Its `enqueue` is called with no lock of the library held, on any thread, and may call
    ///     the limiter.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Gets the last input. Runs as a detached task.
    public static func throttle(
        interval: Duration, edges: RateLimitEdges = .leading, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        whileRunning overlap: RateLimitOverlap = .queueLatest, executorPreference: (any TaskExecutor)? = nil,
        label: StaticString? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @Sendable (_ input: Input) async throws -> Output
    ) -> AsyncLimiter {
        let runner = AsyncRunner(overlap, on: executorPreference, action)
        let limiter = Throttle<AnyAsyncCall>.collecting(
            interval: interval, edges: edges, on: loop, in: modes, whenReleased: whenReleased, label: label,
            file: file, line: line
        ) { runner.start($0) }
        return AsyncLimiter(runner, limiter)
    }

    /// Makes a debounce with an asynchronous action.
    ///
    /// - Parameters:
    ///   - interval: The time without a call after which a burst is over. A negative value counts as zero; one beyond
    ///     the clock's range never ends.
    ///   - edges: When to act. Without any edge it never acts.
    ///   - maxWait: The longest time for which calls that keep coming can delay an action. Less than the interval
    ///     counts as the interval; nil: no limit.
    ///   - loop: The loop that decides when to act. The action runs on its thread only if it prefers the loop's
    ///     ``Loop/taskExecutor``.
    ///   - modes: The modes of the loop in which it acts: the action waits while the loop runs in others. With none it
    ///     acts only on calls made on the loop's thread while the loop does not run.
    ///   - whenReleased: What happens to a pending call when the limiter is deallocated or the loop ends.
    ///   - overlap: What happens if an action is due while another one runs.
    ///   - executorPreference: The executor that the action's task prefers, such as ``Loop/taskExecutor``; nil for
    ///     Swift's own threads. Its `enqueue` is called with no lock of the library held, on any thread, and may call
    ///     the limiter.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Gets the last input. Runs as a detached task.
    public static func debounce(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        whileRunning overlap: RateLimitOverlap = .queueLatest, executorPreference: (any TaskExecutor)? = nil,
        label: StaticString? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @Sendable (_ input: Input) async throws -> Output
    ) -> AsyncLimiter {
        let runner = AsyncRunner(overlap, on: executorPreference, action)
        let limiter = Debounce<AnyAsyncCall>.collecting(
            interval: interval, edges: edges, maxWait: maxWait, on: loop, in: modes, whenReleased: whenReleased,
            label: label,
            file: file, line: line
        ) { runner.start($0) }
        return AsyncLimiter(runner, limiter)
    }

    /// Calls the limiter and waits for the answer.
    ///
    /// The call is made before the task suspends, without leaving the caller's actor: tasks of one actor call the
    /// limiter in the order in which they run. Cancelling the task ends its wait, not the call; a cancelled task makes
    /// its call as well. To call from synchronous code, or to wait later, use ``call(_:)``.
    ///
    /// - Returns: The result of the action that the call led to; nil if it led to none.
    /// - Throws: The action's error; `CancellationError` if the task is cancelled before there is an answer.
    public nonisolated(nonsending) func run(_ input: Input) async throws -> Output? { try await call(input).value }

    /// Calls the limiter and returns an object to wait for the answer with.
    ///
    /// ```swift
    /// func textChanged(to text: String) {
    ///     let answer = search.call(text)  // in the order of the key strokes
    ///     Task {  // the action itself delivers the results
    ///         do { _ = try await answer.value } catch { print("no results: \(error)") }
    ///     }
    /// }
    /// ```
    ///
    /// All calls of a burst get the same answer, that of the last input. So do not show results for each call: let the
    /// action deliver them, as in <doc:ThrottleOrDebounce#Asynchronous-actions>. An answer that no task waits for is
    /// dropped, errors included.
    public func call(_ input: Input) -> Answer {
        let outcome = AsyncOutcome<Output>()
        limiter(AsyncCall<Input, Output>(input, outcome))
        return Answer(outcome: outcome)
    }

    /// Calls the limiter without waiting; an error of the action is lost.
    ///
    /// - Returns: As for ``RateLimiter``.
    @discardableResult
    public func callAsFunction(_ input: Input) -> Bool { limiter(AsyncCall<Input, Output>(input)) }

    /// The future answer to a call. Made by ``call(_:)``.
    ///
    /// It retains neither the limiter nor the call.
    public struct Answer: Sendable {
        let outcome: AsyncOutcome<Output>

        /// The result of the action that the call led to; nil if it led to none.
        ///
        /// Any number of tasks may wait, at any time; each gets the same answer. Cancelling a task ends its own wait,
        /// not the call. An existing answer is returned to a cancelled task too. An action whose wait would close a
        /// ring of actions that wait for each other gets nil, whatever the call leads to.
        ///
        /// - Throws: The action's error; `CancellationError` if the waiting task is cancelled before there is an
        ///   answer.
        public nonisolated(nonsending) var value: Output? {
            get async throws {
                let promise = Promise<Output?>()
                let waiter = outcome.wait(AsyncRun.current.map(AsyncWait.init), promise.fulfil)
                return try await promise.value { [outcome] in outcome.cancel(waiter) }
            }
        }
    }

    /// Starts the action now for pending calls, or queues it, as if it were due.
    ///
    /// - Returns: Whether a call was pending and the loop accepted the action.
    @discardableResult
    public func flush() -> Bool { limiter.flush() }

    /// Drops pending and queued calls, and forgets the past. Their callers are answered nil. A running action
    /// continues. To cancel that too and keep the limiter, make it with `whileRunning: .cancelPrevious`, call it with
    /// an input that means nothing, such as an empty text, and ``AsyncLimiter/flush()``.
    public func cancel() {
        limiter.cancel()
        runner.dropQueued()
    }

    /// Whether a call is pending. A queued one is not: it was due already.
    public var isPending: Bool { limiter.isPending }

    /// As in ``RateLimiter``.
    public var interval: Duration {
        get { limiter.interval }
        set { limiter.interval = newValue }
    }

    /// The interval, and whether a call is pending, and if so why it does not act yet.
    public var description: String { "\(type(of: self)): \(limiter.state)" }

    /// Ends the limiter for good: pending and queued calls are answered nil, the running action's task is cancelled,
    /// and later calls are answered nil at once. The callers of the running action still get its result or its error,
    /// which is usually a `CancellationError`.
    public func invalidate() {
        limiter.invalidate()
        runner.end()
    }
}
