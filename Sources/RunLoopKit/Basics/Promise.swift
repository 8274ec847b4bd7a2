/// A result that any thread provides once, and the one task that awaits it.
///
/// Every asynchronous function of the library first enters its call, in a synchronous function that returns a promise,
/// and then awaits the promise. So the calls of an actor are entered in the order in which it makes them. A closure of
/// `withTaskCancellationHandler` or of a continuation may run only after its task was enqueued again: another call can
/// overtake it there.
final class Promise<Value: Sendable>: @unchecked Sendable {
    private let lock = Lock(.leaf)

    // Guarded by `lock`, and therefore without checks of exclusivity.
    @exclusivity(unchecked) private var result: Result<Value, any Error>?
    /// Unchecked: `fulfil` takes it out and resumes it.
    @exclusivity(unchecked) private var waiter: UnsafeContinuation<Void, Never>?

    /// Provides the result. Later results are ignored.
    func fulfil(_ result: Result<Value, any Error>) {
        lock.lock()
        if self.result == nil { self.result = result }
        let waiting = waiter.take()
        lock.unlock()
        waiting?.resume()
    }

    /// Suspends until there is a result. Returns a result that is already there without suspending, even to a cancelled
    /// task.
    ///
    /// - Parameter takeBack: Called when the task is cancelled. It may provide a result; without one the task keeps
    ///   waiting.
    nonisolated(nonsending) func value(orTakingBack takeBack: @escaping @Sendable () -> Void) async throws -> Value {
        if !hasResult {
            await withTaskCancellationHandler {
                await withUnsafeContinuation { continuation in
                    lock.lock()
                    let hasResult = result != nil
                    if !hasResult { waiter = continuation }
                    lock.unlock()
                    if hasResult { continuation.resume() }
                }
            } onCancel: {
                takeBack()
            }
        }
        return try lock.withLock { result! }.get()
    }

    private var hasResult: Bool { lock.withLock { result != nil } }
}
