/// A throttle or a debounce whose action is `async`, and whose callers may wait for its result. Any thread may call
/// everything here.
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
/// The action is due as with ``Throttle`` and ``Debounce``, and then runs as a task of its own. ``RateLimitOverlap``
/// decides what happens if the previous action has not ended. All calls of a burst get one result, which belongs to the
/// last input. So let the action deliver results, as <doc:TestingInVirtualTime#Classes-of-the-main-actor> does: a
/// program that shows them for each call shows old ones.
///
/// **Where the action runs**: on Swift's own threads, unless it belongs to an actor, such as `{ @MainActor input in …
/// }`. The loop only decides when it begins. An `executorPreference` lets it run on that executor, except for code of
/// actors with an executor of their own:
///
/// ```swift
/// let search = AsyncLimiter.debounce(
///     interval: .milliseconds(300), on: worker.loop, executorPreference: worker.loop.taskExecutor
/// ) { (text: String) in
///     try await fetchResults(for: text)  // begins, and continues after each await, on the worker's thread
/// }
/// ```
///
/// In virtual time, let the action prefer the limiter's loop: then no time passes before it begins. The program holds
/// the ``LoopThread``, since an executor does not keep its loop running. For tasks whose loop has ended, see
/// ``Loop/asUnownedSerialExecutor()``.
///
/// **Every caller gets an answer**: the action's result, its error, or nil if the call led to no action. That is so if
/// the call was limited away, skipped or replaced while another action ran, cancelled, or dropped with the limiter or
/// its loop.
///
/// An action that never ends never answers. With `queueLatest`, the default, no action starts any more then: the newest
/// call waits behind it, and the others get nil. Bound the time in the action, or call ``AsyncLimiter/invalidate()``,
/// which cancels it.
///
/// **Memory.** A burst keeps the inputs of all its calls until its action has ended. If calls may come without a pause,
/// give a debounce a `maxWait`.
///
/// **Actions that wait for limiters.** An action may wait for another limiter, even in its queue. Two waits would never
/// end, and get nil when the call is due: one for a call to the action's own limiter, and one that would close a ring
/// of waiting actions. The call itself still starts its action later. A debounced call is due after its burst: never,
/// if calls keep coming and there is no `maxWait`. The waits of an action are those of its task, of child tasks and of
/// `Task { }`. Those of a detached task are not known: an action that waits for such a task can wait for ever.
///
/// **Lifetime.** Dropping the last reference, and the end of the loop, treat pending calls as `whenReleased` says. An
/// action that runs or is queued continues. The limiter retains its action: capture the limiter's owner as `[weak
/// self]`.
///
/// Peers: p-debounce and p-throttle, whose callers may wait for ever; Combine's `switchToLatest`.
public final class AsyncLimiter<Input: Sendable, Output: Sendable>: CustomStringConvertible, Sendable {
    private let limiter: Limiter<AnyAsyncCall>
    private let runner: AsyncRunner<Input, Output>

    private init(_ runner: AsyncRunner<Input, Output>, _ limiter: Limiter<AnyAsyncCall>) {
        self.runner = runner
        self.limiter = limiter
    }

    /// Without an action nothing is flushed, either.
    deinit { if runner.isWithoutAction, runner.hasQueued || limiter.isPending { limiter.core.reportDropped() } }

    /// Makes a throttle with an asynchronous action.
    /// ``Throttle/init(interval:edges:on:in:whenReleased:merging:label:file:line:action:)`` has the details of each
    /// parameter.
    ///
    /// - Parameters:
    ///   - interval: The time in which at most one action happens.
    ///   - edges: When to act. Without any edge it never acts.
    ///   - loop: The loop that decides when to act. The action runs on its thread only if it prefers the loop's
    ///     ``Loop/taskExecutor``.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to a pending call when the limiter is deallocated or the loop ends.
    ///   - overlap: What happens if an action is due while another one runs.
    ///   - executorPreference: The executor that the action's task prefers, such as ``Loop/taskExecutor``; nil for
    ///     Swift's own threads. Its `enqueue` is called with no lock of the library held, on any thread, and may call
    ///     the limiter.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Gets the last input. Runs as a detached task. Nil to set it later: ``setHandler(_:)``.
    public static func throttle(
        interval: Duration, edges: RateLimitEdges = .leading, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        whileRunning overlap: RateLimitOverlap = .queueLatest, executorPreference: (any TaskExecutor)? = nil,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: (@Sendable (_ input: Input) async throws -> Output)? = nil
    ) -> AsyncLimiter {
        let runner = AsyncRunner(overlap, on: executorPreference, action)
        let limiter = Throttle<AnyAsyncCall>.collecting(
            interval: interval, edges: edges, on: loop, in: modes, whenReleased: whenReleased, label: label,
            file: file, line: line
        ) { runner.start($0) }
        return AsyncLimiter(runner, limiter)
    }

    /// Makes a debounce with an asynchronous action. For the details of each parameter see
    /// ``Debounce/init(interval:edges:maxWait:on:in:whenReleased:merging:label:file:line:action:)``; for those of
    /// `executorPreference` see
    /// ``throttle(interval:edges:on:in:whenReleased:whileRunning:executorPreference:label:file:line:action:)``.
    ///
    /// - Parameters:
    ///   - interval: The time without a call after which a burst is over.
    ///   - edges: When to act. Without any edge it never acts.
    ///   - maxWait: The longest time for which calls that keep coming can delay an action; nil for no limit.
    ///   - loop: The loop that decides when to act. The action runs on its thread only if it prefers the loop's
    ///     ``Loop/taskExecutor``.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to a pending call when the limiter is deallocated or the loop ends.
    ///   - overlap: What happens if an action is due while another one runs.
    ///   - executorPreference: The executor that the action's task prefers, such as ``Loop/taskExecutor``; nil for
    ///     Swift's own threads.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Gets the last input. Runs as a detached task. Nil to set it later: ``setHandler(_:)``.
    public static func debounce(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        whileRunning overlap: RateLimitOverlap = .queueLatest, executorPreference: (any TaskExecutor)? = nil,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: (@Sendable (_ input: Input) async throws -> Output)? = nil
    ) -> AsyncLimiter {
        let runner = AsyncRunner(overlap, on: executorPreference, action)
        let limiter = Debounce<AnyAsyncCall>.collecting(
            interval: interval, edges: edges, maxWait: maxWait, on: loop, in: modes, whenReleased: whenReleased,
            label: label,
            file: file, line: line
        ) { runner.start($0) }
        return AsyncLimiter(runner, limiter)
    }

    /// Sets the action, for those that begin from now on: a running one continues. From any thread, any number of
    /// times.
    ///
    /// It lets an object make its limiter in its `init`, without an action, and then set one that captures it. Until
    /// then the latest call that is due waits for the action, and begins it at once; those before it are answered nil.
    /// A limiter that is deallocated with a call and without an action is reported as
    /// ``Loop/Mistake/droppedLimiter(limiter:)``.
    ///
    /// - Parameter handler: Gets the last input. Runs as a detached task.
    /// - Returns: Whether the limiter has the action. False if it was invalidated.
    @discardableResult
    public func setHandler(_ handler: @escaping @Sendable (_ input: Input) async throws -> Output) -> Bool {
        runner.setAction(handler)
    }

    /// Calls the limiter and waits for the answer. In any task. To call from synchronous code, or to wait later, use
    /// ``call(_:)``.
    ///
    /// The call is made before the task suspends, without leaving the caller's actor: tasks of one actor call the
    /// limiter in the order in which they run. Cancelling the task ends its wait, not the call. A cancelled task makes
    /// its call as well.
    ///
    /// - Returns: The result of the action that the call led to; nil if it led to none.
    /// - Throws: The action's error; `CancellationError` if the task is cancelled before there is an answer.
    public nonisolated(nonsending) func run(_ input: Input) async throws -> Output? {
        let outcome = AsyncOutcome<Output>()
        // Waits before it calls: an action that the call starts comes later, and its wait is the one to close a ring.
        let wait = EnteredWait(outcome)
        limiter(AsyncCall<Input, Output>(input, outcome))
        return try await wait.value
    }

    /// Calls the limiter and returns an object that waits for the answer. From any thread.
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
    /// All calls of a burst get the same answer, that of the last input. So let the action deliver the results, as in
    /// <doc:TestingInVirtualTime#Classes-of-the-main-actor>. An answer that no task waits for is dropped, even if it is
    /// an error.
    public func call(_ input: Input) -> Answer {
        let outcome = AsyncOutcome<Output>()
        limiter(AsyncCall<Input, Output>(input, outcome))
        return Answer(outcome: outcome)
    }

    /// Calls the limiter without waiting; an error of the action is lost.
    ///
    /// - Returns: As for ``Limiter``.
    @discardableResult
    public func callAsFunction(_ input: Input) -> Bool { limiter(AsyncCall<Input, Output>(input)) }

    /// The future answer to a call. Made by ``call(_:)``.
    ///
    /// It retains neither the limiter nor the call.
    public struct Answer: Sendable {
        let outcome: AsyncOutcome<Output>

        /// The result of the action that the call led to; nil if it led to none. Any number of tasks may wait, at any
        /// time; each gets the same answer.
        ///
        /// Cancelling a task ends its own wait, not the call. A cancelled task gets an existing answer, too. An action
        /// whose wait would close a ring of waiting actions gets nil, whatever the call leads to: see ``AsyncLimiter``.
        ///
        /// - Throws: The action's error; `CancellationError` if the waiting task is cancelled before there is an
        ///   answer.
        public nonisolated(nonsending) var value: Output? {
            get async throws {
                try await EnteredWait(outcome).value
            }
        }
    }

    /// The current task's wait for an outcome. Other code knows of it once it is made.
    private struct EnteredWait {
        private let outcome: AsyncOutcome<Output>
        private let promise = Promise<Output?>()
        private let waiter: AsyncOutcome<Output>.Waiter

        init(_ outcome: AsyncOutcome<Output>) {
            self.outcome = outcome
            waiter = outcome.wait(AsyncRun.current.map(AsyncWait.init), promise.fulfil)
        }

        nonisolated(nonsending) var value: Output? {
            get async throws { try await promise.value { [outcome, waiter] in outcome.cancel(waiter) } }
        }
    }

    /// Starts the action now for pending calls, or queues it, as if it were due.
    ///
    /// - Returns: Whether a call was pending and the loop accepted the action.
    @discardableResult
    public func flush() -> Bool { limiter.flush() }

    /// Drops pending and queued calls, whose callers are answered nil, and forgets the past. A running action
    /// continues: ``cancelRunning()`` cancels that.
    public func cancel() {
        limiter.cancel()
        runner.dropQueued()
    }

    /// Cancels the task of the action that runs, if one does. Its callers get what it returns or throws then. Pending
    /// and queued calls stay. From any thread.
    ///
    /// Called before each call, it cancels an old search as soon as the next key is typed, and not only when the next
    /// search begins. (With ``RateLimitOverlap/skipWhileRunning`` a call that is due before the cancelled action has
    /// ended is skipped.)
    ///
    /// ```swift
    /// func textChanged(_ text: String) {
    ///     search.cancelRunning()
    ///     search(text)
    /// }
    /// ```
    public func cancelRunning() { runner.cancelRunning() }

    /// Whether a call is pending. A queued one is not: it was due already.
    public var isPending: Bool { limiter.isPending }

    /// As in ``Limiter``.
    public var interval: Duration {
        get { limiter.interval }
        set { limiter.interval = newValue }
    }

    /// The interval, and whether a call is pending, and if so why it does not act yet.
    public var description: String {
        let waits = runner.isWithoutAction && runner.hasQueued ? "one was due, and no handler is set; " : ""
        return "\(type(of: self)): " + waits + "\(limiter.state)"
    }

    /// Ends the limiter for good, and cancels the running action's task. Pending and queued calls are answered nil, and
    /// later ones at once. The callers of the running action still get its result or its error, usually a
    /// `CancellationError`.
    public func invalidate() {
        limiter.invalidate()
        runner.end()
    }
}
