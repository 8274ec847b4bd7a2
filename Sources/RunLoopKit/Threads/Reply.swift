import Synchronization

/// Work whose caller waits for an answer, and gets one in every case: the result if it runs, an error if it is
/// cancelled before, and another if it is dropped by whoever held it, at the latest when this object goes.
final class Reply<Value>: @unchecked Sendable {
    private enum State: UInt8, AtomicRepresentable { case waiting, answered }

    private let state = Atomic<State>(.waiting)
    /// Nil once it has run or never will: let go before the answer is given, since what it captures may belong to the
    /// one who waits.
    private var work: (() throws -> Value)?
    private let dropped: any Error
    private let answer: (Result<Value, any Error>) -> Void

    init(
        _ work: @escaping () throws -> Value, _ dropped: any Error,
        _ answer: @escaping (Result<Value, any Error>) -> Void
    ) {
        self.work = work
        self.dropped = dropped
        self.answer = answer
    }

    deinit {
        guard claim() else { return }
        work = nil
        answer(.failure(dropped))
    }

    /// The block to post. It alone keeps this object alive.
    func makeBlock() -> @Sendable () -> Void { { self.run() } }

    /// Suspends until the work that `post` hands over has its answer. Cancelling the task takes back work that has not
    /// begun.
    ///
    /// - Parameter whenAnswered: Called once, before the answer is given.
    static func value(
        of work: @escaping @Sendable () throws -> Value, orThrowing dropped: any Error,
        whenAnswered: @escaping @Sendable () -> Void = {}, post: (@escaping @Sendable () -> Void) -> Void
    ) async throws -> Value where Value: Sendable {
        let cancellation = Cancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
                let reply = Reply(work, dropped) { (result: Result<Value, any Error>) in
                    whenAnswered()
                    continuation.resume(with: result)
                }
                cancellation.set { [weak reply] in reply?.cancel() }
                post(reply.makeBlock())
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    func cancel() {
        guard claim() else { return }
        work = nil
        answer(.failure(CancellationError()))
    }

    private func run() { if claim() { answer(doWork()) } }

    @inline(never)
    private func doWork() -> Result<Value, any Error> {
        defer { work = nil }
        return Result(catching: work!)
    }

    /// Whether the caller is the one to answer. Relaxed: the answer itself is handed over by what carries it.
    private func claim() -> Bool {
        state.compareExchange(expected: .waiting, desired: .answered, ordering: .relaxed).exchanged
    }
}

/// Where a thread waits for a result.
final class Waiter<Value>: @unchecked Sendable {
    private let lock = Lock()
    private let changed = Condition()
    private var result: Result<Value, any Error>?

    func fulfil(_ result: Result<Value, any Error>) {
        lock.withLock { self.result = result }
        // Without the lock, or the waiter would wake only to wait for it.
        changed.broadcast()
    }

    func wait() throws -> Value {
        let result = lock.withLock {
            while self.result == nil { changed.wait(with: lock) }
            return self.result!
        }
        return try result.get()
    }
}

/// A cancellation that may come before there is anything to cancel.
final class Cancellation: @unchecked Sendable {
    private let lock = Lock()
    private var isCancelled = false
    private var action: (@Sendable () -> Void)?

    func set(_ action: @escaping @Sendable () -> Void) {
        let isLate = lock.withLock {
            self.action = action
            return isCancelled
        }
        if isLate { action() }
    }

    func cancel() {
        let action = lock.withLock {
            isCancelled = true
            return self.action
        }
        action?()
    }
}
