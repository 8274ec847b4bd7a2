/// A call of an `AsyncLimiter`, whatever its input and output. So all calls pass through limiters of one type, for
/// which the library's code is specialised. That saves 480 instructions of each call.
class AnyAsyncCall: @unchecked Sendable {}

/// A call of an `AsyncLimiter` on its way to an action. Its `deinit` answers nil, unless it was answered before.
final class AsyncCall<Input: Sendable, Output: Sendable>: AnyAsyncCall, @unchecked Sendable {
    let input: Input
    /// Nil if no caller asks for an answer: making it takes 1,300 instructions, most of them to look up its types.
    private let outcome: AsyncOutcome<Output>?

    init(_ input: Input, _ outcome: AsyncOutcome<Output>? = nil) { (self.input, self.outcome) = (input, outcome) }

    deinit { outcome?.answerNil() }

    func answer(_ answer: AsyncOutcome<Output>.Answer) { outcome?.answer(answer) }

    func answerNil() { outcome?.answerNil() }

    /// As the outcome's.
    func depend(on run: AsyncRun) -> [AsyncOutcome<Output>.Waiter] { outcome?.depend(on: run) ?? [] }
}

/// The outcome of a call, and the waits for it. It outlives the call: tasks that wait retain it.
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

        /// Called once, without a lock, by the code that has removed the waiter from the list.
        func answer(_ answer: Answer) {
            wait?.end()
            give(answer)
        }
    }

    private let lock = Lock(.asyncOutcome)

    // Guarded by `lock`.
    private var answer: Answer?
    private var waiters: [Waiter] = []
    /// The action that must end before there is an answer: the call's own, or the one that it is queued behind. Nil
    /// until the call is due.
    private var run: AsyncRun?

    /// Answers the call. Only the first answer counts.
    func answer(_ answer: Answer) {
        let answered = lock.withLock { () -> [Waiter] in
            guard self.answer == nil else { return [] }
            self.answer = answer
            run = nil
            return exchange(&waiters, with: [])
        }
        for waiter in answered { waiter.answer(answer) }
    }

    @inline(never)
    func answerNil() { answer(.success(nil)) }

    /// Calls `give` once with the answer. Now if there is one; now with nil if the wait would close a ring of actions
    /// that wait for each other; otherwise later, on any thread.
    @discardableResult
    func wait(_ wait: AsyncWait? = nil, _ give: @escaping @Sendable (Answer) -> Void) -> Waiter {
        let waiter = Waiter(wait, give)
        if let answer = lock.withLock({ enter(waiter) }) { waiter.answer(answer) }
        return waiter
    }

    /// Adds a waiter to the list, or returns its answer. The lock is held.
    private func enter(_ waiter: Waiter) -> Answer? {
        if let answer { return answer }
        if let run, let wait = waiter.wait, !run.add(wait) { return .success(nil) }
        waiters.append(waiter)
        return nil
    }

    /// Ends one wait. Other waits and the call continue.
    func cancel(_ waiter: Waiter) {
        let removed = lock.withLock { waiters.firstIndex { $0 === waiter }.map { waiters.remove(at: $0) } }
        removed?.answer(.failure(CancellationError()))
    }

    /// Records that there is no answer before `run` ends. If that closes a ring for a waiter, removes it from the list
    /// and returns it: the caller must answer it nil.
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
