extension Loop.Backoff {
    /// Calls a function until it succeeds, and pauses before each new attempt. In any task.
    ///
    /// ```swift
    /// let pauses = Loop.Backoff(from: .milliseconds(100), to: .seconds(10))
    /// let results = try await pauses.retry(attempts: 5) { attempt in
    ///     try await fetchResults(for: "attempt \(attempt)")
    /// }
    /// ```
    ///
    /// - *It gives up* after so many attempts, or when `condition` refuses the error, and throws the last error.
    /// - *A cancelled task* pauses no more: it gets a `CancellationError`, at once even in a pause. The last attempt's
    ///   error, and one that `condition` refuses, are thrown as they are.
    /// - *The pauses* are those of a copy, which begins where this backoff is. It stays as it is.
    /// - *In virtual time* name a ``LoopClock``, as in `retry(attempts: 5, clock: .loop(loop)) { … }`, and let the task
    ///   prefer the loop, even on an actor of the loop: <doc:TestingInVirtualTime#Actors-and-tasks>.
    /// - *Where it runs:* all of it in the caller's isolation, so that `body` may use an actor's state.
    ///
    /// A handler or a block cannot await it: <doc:ThrottleOrDebounce#How-do-I-try-again-later-each-time-back-off> has a
    /// timer. CFRunLoop has no counterpart. Go: `backoff.Retry`.
    ///
    /// - Parameters:
    ///   - attempts: How many times to call `body` at most. Less than 1 counts as 1.
    ///   - clock: The clock of the pauses. The default stands still in suspend, as timers do.
    ///   - condition: Whether an attempt that has thrown this error is worth another one. It is not asked after the
    ///     last attempt.
    ///   - body: Gets the number of the attempt, from 1.
    /// - Returns: What the first attempt that succeeds returns.
    /// - Throws: The last error of `body`; `CancellationError`; what the clock's sleep throws, such as ``Loop/Ended``.
    public nonisolated(nonsending) func retry<Success, C: Clock>(
        attempts: Int, clock: C = SuspendingClock(), while condition: (any Error) -> Bool = { _ in true },
        _ body: nonisolated(nonsending) (_ attempt: Int) async throws -> Success
    ) async throws -> Success where C.Duration == Duration {
        var (pauses, attempt) = (self, 1)
        while true {
            do {
                return try await body(attempt)
            } catch {
                guard attempt < attempts, condition(error) else { throw error }
            }
            try Task.checkCancellation()
            try await clock.sleep(for: pauses.next())
            attempt += 1
        }
    }
}
