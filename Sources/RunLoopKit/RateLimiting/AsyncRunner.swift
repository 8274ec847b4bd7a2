/// Runs the actions of an `AsyncLimiter`, at most one at a time unless one ignores its cancellation.
///
/// Calls are answered and released without the lock.
final class AsyncRunner<Input: Sendable, Output: Sendable>: @unchecked Sendable {
    typealias Call = AsyncCall<Input, Output>

    private struct Running {
        let run: AsyncRun
        var task: Task<Void, Never>?
        let calls: [Call]
    }

    private let overlap: RateLimitOverlap
    private let lock = Lock(.asyncActions)

    // Guarded by `lock`.
    /// Nil after the limiter was invalidated.
    private var action: (@Sendable (Input) async throws -> Output)?
    private var running: Running?
    private var queued: [Call] = []

    init(_ overlap: RateLimitOverlap, _ action: @escaping @Sendable (Input) async throws -> Output) {
        self.overlap = overlap
        self.action = action
    }

    /// Starts an action for these calls, or follows the overlap if one is running. There is at least one call.
    func start(_ calls: [AnyAsyncCall]) {
        // All of them were made by the limiter that this runner belongs to.
        let calls = calls.map { unsafeDowncast($0, to: Call.self) }
        typealias Waiter = AsyncOutcome<Output>.Waiter
        let (replaced, closingRings, task) = lock.withLock { () -> ([Call], [Waiter], Task<Void, Never>?) in
            guard action != nil else { return (calls, [], nil) }
            guard let previous = running else {
                begin(calls)
                return ([], [], nil)
            }
            switch overlap {
            case .skipWhileRunning: return (calls, [], nil)
            case .queueLatest:
                // A call that the running action waits for cannot wait for that action's end.
                let closingRings = calls.flatMap { $0.outcome.depend(on: previous.run) }
                return (exchange(&queued, with: calls), closingRings, nil)
            case .cancelPrevious:
                begin(calls)
                return (previous.calls, [], previous.task)
            }
        }
        // Answered before the task is cancelled: otherwise some would get the cancellation's error.
        for call in replaced { call.outcome.answer(.success(nil)) }
        for waiter in closingRings { waiter.answer(.success(nil)) }
        task?.cancel()
    }

    func dropQueued() {
        let dropped = lock.withLock { exchange(&queued, with: []) }
        withExtendedLifetime(dropped) {}
    }

    func end() {
        let (dropped, action, task) = lock.withLock {
            (exchange(&queued, with: []), self.action.take(), running?.task)
        }
        task?.cancel()
        withExtendedLifetime((dropped, action)) {}
    }

    /// The lock is held, and the limiter valid.
    private func begin(_ calls: [Call]) {
        let (action, input) = (action!, calls.last!.input)
        let run = AsyncRun()
        // The new action does not wait for any other yet: so this closes no ring.
        for call in calls { _ = call.outcome.depend(on: run) }
        running = Running(run: run, calls: calls)
        // The task may end before `running` has it, but cannot report that: reporting takes the lock.
        running?.task = Task.detached {
            let result: Result<Output?, any Error>
            do {
                result = .success(try await AsyncRun.$current.withValue(run) { try await action(input) })
            } catch {
                result = .failure(error)
            }
            // Before the answers, since an answered task may call the limiter at once.
            run.end()
            for call in calls { call.outcome.answer(result) }
            self.hasEnded(run)
        }
    }

    private func hasEnded(_ run: AsyncRun) {
        let ended = lock.withLock { () -> Running? in
            // Another one may have started beside it.
            guard let ended = running, ended.run === run else { return nil }
            running = nil
            // The queue is empty after the limiter was invalidated.
            if !queued.isEmpty { begin(exchange(&queued, with: [])) }
            return ended
        }
        withExtendedLifetime(ended) {}
    }
}
