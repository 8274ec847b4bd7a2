/// A result that is given once, from any thread, and the one task that waits for it.
///
/// Every asynchronous function of the library enters its call first, in a synchronous function that returns a promise, and
/// only then waits. Calls of one actor are so entered in the order in which it makes them. What is inside
/// `withTaskCancellationHandler` or a continuation's closure may run only after the task has been enqueued elsewhere, where
/// another call can overtake it.
final class Promise<Value: Sendable>: @unchecked Sendable {
    private let lock = Lock(.leaf)

    // Guarded by `lock`.
    private var result: Result<Value, any Error>?
    private var waiter: CheckedContinuation<Value, any Error>?

    /// Gives the result. The first one counts.
    func fulfil(_ result: Result<Value, any Error>) {
        let waiting = lock.withLock { () -> CheckedContinuation<Value, any Error>? in
            guard self.result == nil else { return nil }
            self.result = result
            defer { waiter = nil }
            return waiter
        }
        waiting?.resume(with: result)
    }

    /// Suspends until the result is there. A result that is there already is returned without suspending, to a cancelled
    /// task too.
    ///
    /// - Parameter takeBack: Called when the task is cancelled. It may give a result; the task waits on if it gives none.
    nonisolated(nonsending) func value(orTakingBack takeBack: @escaping @Sendable () -> Void) async throws -> Value {
        if let result = lock.withLock({ result }) { return try result.get() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = lock.withLock { () -> Result<Value, any Error>? in
                    if self.result == nil { waiter = continuation }
                    return self.result
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            takeBack()
        }
    }
}
