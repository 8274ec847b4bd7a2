/// Runs the actions of an `AsyncLimiter`, at most one at a time unless one ignores its cancellation.
///
/// Without the lock it answers and releases calls, and makes and cancels tasks: all of these call code of the program.
/// A task executor's `enqueue` is called as the task is made, and may call the limiter.
final class AsyncRunner<Input: Sendable, Output: Sendable>: @unchecked Sendable {
    typealias Call = AsyncCall<Input, Output>

    /// An action that was begun. Guarded by the runner's lock.
    private final class Running: @unchecked Sendable {
        let run = AsyncRun()
        let calls: [Call]
        let action: @Sendable (Input) async throws -> Output
        /// Nil until the thread that has begun the action has made its task.
        private var task: Task<Void, Never>?
        private var isCancelled = false

        init(_ calls: [Call], _ action: @escaping @Sendable (Input) async throws -> Output) {
            self.calls = calls
            self.action = action
        }

        /// Returns the task that the caller must cancel. Nil if there is none yet: then the thread that makes it
        /// cancels it.
        func cancel() -> Task<Void, Never>? {
            isCancelled = true
            return task
        }

        /// Returns whether the caller must cancel the task.
        func hasStarted(_ task: Task<Void, Never>) -> Bool {
            self.task = task
            return isCancelled
        }
    }

    private let overlap: RateLimitOverlap
    private let taskExecutor: (any TaskExecutor)?
    private let lock = Lock(.asyncActions)

    // Guarded by `lock`.
    /// Nil before it is set, and after the limiter was invalidated.
    private var action: (@Sendable (Input) async throws -> Output)?
    private var isOver = false
    private var running: Running?
    private var queued: [Call] = []
    /// How many actions have ended, whose calls are being answered.
    private var answering = 0

    /// - Parameter taskExecutor: Preferred by the tasks of the actions; nil for none.
    init(
        _ overlap: RateLimitOverlap, on taskExecutor: (any TaskExecutor)?,
        _ action: (@Sendable (Input) async throws -> Output)?
    ) {
        self.overlap = overlap
        self.taskExecutor = taskExecutor
        self.action = action
    }

    /// Starts an action for these calls, or follows the overlap if one is running. There is at least one call.
    func start(_ calls: [AnyAsyncCall]) {
        // All of them were made by the limiter that this runner belongs to.
        let calls = calls.map { unsafeDowncast($0, to: Call.self) }
        typealias Waiter = AsyncOutcome<Output>.Waiter
        var replaced: [Call] = []
        var closingRings: [Waiter] = []
        var (begun, cancelled) = (Running?.none, Running?.none)
        lock.withLock {
            // Without an action nothing runs, and the latest calls wait for it.
            guard action != nil else { return replaced = isOver ? calls : exchange(&queued, with: calls) }
            guard let previous = running else {
                replaced = exchange(&queued, with: [])
                return begun = begin(calls)
            }
            switch overlap {
            case .skipWhileRunning: replaced = calls
            case .queueLatest:
                // A call that the running action waits for cannot wait for that action's end.
                closingRings = calls.flatMap { $0.depend(on: previous.run) }
                replaced = exchange(&queued, with: calls)
            case .cancelPrevious:
                begun = begin(calls)
                replaced = previous.calls
                cancelled = previous
            }
        }
        // Answered before any thread cancels the task: otherwise some would get the cancellation's error.
        for call in replaced { call.answerNil() }
        for waiter in closingRings { waiter.answer(.success(nil)) }
        if let cancelled { lock.withLock { cancelled.cancel() }?.cancel() }
        if let begun { launch(begun) }
    }

    /// Sets the action, and begins it if calls wait for it. Returns false after the end.
    func setAction(_ action: @escaping @Sendable (Input) async throws -> Output) -> Bool {
        let (isSet, old, begun) = lock.withLock { () -> (Bool, Any?, Running?) in
            guard !isOver else { return (false, nil, nil) }
            let old = exchange(&self.action, with: action)
            guard old == nil, !queued.isEmpty else { return (true, old, nil) }
            return (true, old, begin(exchange(&queued, with: [])))
        }
        withExtendedLifetime(old) {}
        if let begun { launch(begun) }
        return isSet
    }

    /// Whether it has had no action yet.
    var isWithoutAction: Bool { lock.withLock { action == nil && !isOver } }

    func cancelRunning() {
        // Without the lock: the task's cancellation handlers run here.
        let task = lock.withLock { running?.cancel() }
        task?.cancel()
    }

    var hasQueued: Bool { lock.withLock { !queued.isEmpty } }

    func dropQueued() {
        let dropped = lock.withLock { exchange(&queued, with: []) }
        withExtendedLifetime(dropped) {}
    }

    func end() {
        let (dropped, action, task) = lock.withLock {
            isOver = true
            return (exchange(&queued, with: []), self.action.take(), running?.cancel())
        }
        task?.cancel()
        withExtendedLifetime((dropped, action)) {}
    }

    /// Records that an action runs for these calls. The caller must launch it after unlocking. The lock is held, and
    /// the limiter is valid.
    private func begin(_ calls: [Call]) -> Running {
        let begun = Running(calls, action!)
        // The new action waits for no other yet, so this closes no ring.
        for call in calls { _ = call.depend(on: begun.run) }
        running = begun
        return begun
    }

    /// Makes the task of an action that was begun. Meanwhile other threads, and the executor, may replace the action.
    private func launch(_ begun: Running) {
        Lock.assertNoneHeld()
        let (run, calls, action) = (begun.run, begun.calls, begun.action)
        let task = Task.detached(executorPreference: taskExecutor) {
            let result: Result<Output?, any Error>
            do {
                let input = calls.last!.input
                result = .success(try await AsyncRun.$current.withValue(run) { try await action(input) })
            } catch {
                result = .failure(error)
            }
            // Before the answers, since an answered task may call or cancel the limiter at once.
            run.end()
            self.hasEnded(run)
            for call in calls { call.answer(result) }
            self.launchQueued()
        }
        // The task may have ended before this.
        if lock.withLock({ begun.hasStarted(task) }) { task.cancel() }
    }

    /// Records the end of an action. The queued calls wait until those of the action are answered.
    private func hasEnded(_ run: AsyncRun) {
        let ended = lock.withLock { () -> Running? in
            answering += 1
            // Another one may have started beside it.
            guard running?.run === run else { return nil }
            return running.take()
        }
        withExtendedLifetime(ended) {}
    }

    /// Begins the action of the queued calls, unless another one runs, or has ended and its calls are being answered.
    private func launchQueued() {
        let next = lock.withLock {
            answering -= 1
            // The queue is empty after the limiter was invalidated.
            return running == nil && answering == 0 && !queued.isEmpty ? begin(exchange(&queued, with: [])) : nil
        }
        if let next { launch(next) }
    }
}
