/// A task that waits for the end of a child. It gets an answer in any case: `unknown` when this is released.
final class AwaitedEnd: Sendable {
    let promise = Promise<Loop.ChildProcess.Exit>()

    func give(_ exit: Loop.ChildProcess.Exit) { promise.fulfil(.success(exit)) }

    deinit { give(.unknown) }
}

extension Loop.ChildProcess {
    /// Suspends until the child has ended, and returns how. For any number of tasks, on any thread, beside a handler or
    /// without one.
    ///
    /// ```swift
    /// let child = try Loop.ChildProcess("sh", ["-c", "exit 3"])
    /// loop.add(child, in: .common)
    /// print(try await child.waitForEnd())  // exited with 3
    /// ```
    ///
    /// - The child is in a loop that runs, as for a handler. An end before this call is reported, too, unless a handler
    ///   or another task has got it: then the child is invalid.
    /// - ``Loop/ProcessSource/Exit/unknown`` is returned if the child is invalid, or becomes so by
    ///   ``Loop/Item/invalidate()``, or if its loop ends and nothing else retains it.
    /// - When the task continues, the child may have been reaped. To end others of its group after it, set a handler.
    ///
    /// A limit is a timer that ends the child: ``end(within:)``.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before the end. The child runs on, and its end is kept
    ///   as if the task had not waited.
    ///
    /// Foundation: `Process.waitUntilExit`; asyncio: `Process.wait`.
    public nonisolated(nonsending) func waitForEnd() async throws -> Exit {
        try Task.checkCancellation()
        let promise = beginWaiting()
        return try await promise.value { [weak self] in self?.endWaiting(for: promise) }
    }

    /// Of an invalid child the promise is fulfilled when this returns.
    private func beginWaiting() -> Promise<Exit> {
        let waiter = AwaitedEnd()
        _ = replaceReceivers { waiters = (waiters ?? []) + [waiter] }
        return waiter.promise
    }

    /// Cancels a wait, unless the child's end is already its answer.
    private func endWaiting(for promise: Promise<Exit>) {
        let waiter = itemLock.withLock { () -> AwaitedEnd? in
            guard let index = waiters?.firstIndex(where: { $0.promise === promise }) else { return nil }
            defer { if waiters?.isEmpty == true { waiters = nil } }
            return waiters?.remove(at: index)
        }
        waiter?.promise.fulfil(.failure(CancellationError()))
    }
}
