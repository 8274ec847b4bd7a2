/// A result that any thread provides once, and the one task that awaits it.
///
/// Every asynchronous function of the library first enters its call, in a synchronous function that returns a promise,
/// and then awaits the promise. So the calls of an actor are entered in the order in which it makes them. A closure of
/// `withTaskCancellationHandler` or of a continuation may run only after its task was enqueued again, and another call
/// can overtake it there.
final class Promise<Value: Sendable>: @unchecked Sendable {
    private let lock = Lock(.leaf)

    // Guarded by `lock`.
    private var result: Result<Value, any Error>?
    private var waiter: CheckedContinuation<Value, any Error>?

    /// Provides the result. Later results are ignored.
    func fulfil(_ result: Result<Value, any Error>) {
        let waiting = lock.withLock { () -> CheckedContinuation<Value, any Error>? in
            guard self.result == nil else { return nil }
            self.result = result
            defer { waiter = nil }
            return waiter
        }
        waiting?.resume(with: result)
    }

    /// Suspends until there is a result. Returns a result that is already there without suspending, even to a cancelled
    /// task.
    ///
    /// - Parameter takeBack: Called when the task is cancelled. It may provide a result; without one the task keeps
    ///   waiting.
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
