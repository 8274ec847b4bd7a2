/// A call of an `AsyncLimiter` on its way to an action. One that goes without an answer is answered nil.
final class AsyncCall<Input: Sendable, Output: Sendable>: Sendable {
    let input: Input
    /// Outlives the call in the hands of those who wait.
    let outcome = AsyncOutcome<Output>()

    init(_ input: Input) { self.input = input }

    deinit { outcome.answer(.success(nil)) }
}

/// What comes of a call, and who waits for that.
final class AsyncOutcome<Output: Sendable>: @unchecked Sendable {
    typealias Answer = Result<Output?, any Error>

    /// One wait for the answer.
    final class Waiter: Sendable {
        private let give: @Sendable (Answer) -> Void
        /// Nil unless the waiting task is part of an action.
        let wait: AsyncWait?

        fileprivate init(_ wait: AsyncWait?, _ give: @escaping @Sendable (Answer) -> Void) {
            (self.wait, self.give) = (wait, give)
        }

        /// Called once: by the one who has taken the waiter off the list, and without a lock.
        func answer(_ answer: Answer) {
            wait?.end()
            give(answer)
        }
    }

    private let lock = Lock(.asyncOutcome)

    // Guarded by `lock`.
    private var answer: Answer?
    private var waiters: [Waiter] = []
    /// The action before whose end there will be no answer: the call's own, or the one that it is queued behind. Nil until
    /// the call's time has come.
    private var run: AsyncRun?

    /// The first answer counts.
    func answer(_ answer: Answer) {
        let answered = lock.withLock { () -> [Waiter] in
            guard self.answer == nil else { return [] }
            self.answer = answer
            run = nil
            defer { waiters = [] }
            return waiters
        }
        for waiter in answered { waiter.answer(answer) }
    }

    /// Has `give` called once with the answer: now if there is one, with nil if the wait would close a ring of actions that
    /// wait for each other, and otherwise later, on any thread.
    @discardableResult
    func wait(_ wait: AsyncWait? = nil, _ give: @escaping @Sendable (Answer) -> Void) -> Waiter {
        let waiter = Waiter(wait, give)
        if let answer = lock.withLock({ enter(waiter) }) { waiter.answer(answer) }
        return waiter
    }

    /// Puts a waiter on the list, or returns its answer. The lock is held.
    private func enter(_ waiter: Waiter) -> Answer? {
        if let answer { return answer }
        if let run, let wait = waiter.wait, !run.add(wait) { return .success(nil) }
        waiters.append(waiter)
        return nil
    }

    /// Ends one wait. Other waits and the call go on.
    func cancel(_ waiter: Waiter) {
        let isWaiting = lock.withLock { () -> Bool in
            guard let index = waiters.firstIndex(where: { $0 === waiter }) else { return false }
            waiters.remove(at: index)
            return true
        }
        if isWaiting { waiter.answer(.failure(CancellationError())) }
    }

    /// There will be no answer before the end of `run`. Returns those for whom that would close a ring, taken off the list:
    /// to be answered nil.
    func depend(on run: AsyncRun) -> [Waiter] {
        lock.withLock {
            guard answer == nil else { return [] }
            self.run = run
            let closing = waiters.filter { waiter in waiter.wait.map { !run.add($0) } ?? false }
            if !closing.isEmpty { waiters.removeAll { waiter in closing.contains { $0 === waiter } } }
            return closing
        }
    }
}
