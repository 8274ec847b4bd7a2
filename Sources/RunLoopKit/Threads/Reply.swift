import Synchronization

/// Work whose caller waits for an answer and always gets one. That is the work's result, or an error if the work is
/// cancelled before it begins, if its holder drops it (at the latest when this object is deallocated), or if the thread
/// that runs it exits in it.
final class Reply<Value>: AnsweredWork, @unchecked Sendable {
    private let isAnswered = Atomic<Bool>(false)
    /// Nil once it has run or never will. Released before the answer, since what it captures may belong to the waiting
    /// caller.
    private var work: (() throws -> Value)?
    private let errors: Errors
    private let answer: (Result<Value, any Error>) -> Void

    /// The answers if there is no result.
    struct Errors {
        /// It was refused, or dropped before it began.
        let dropped: any Error
        /// Its thread exited before it returned.
        let exited: any Error
    }

    init(
        _ work: @escaping () throws -> Value, _ errors: Errors,
        _ answer: @escaping (Result<Value, any Error>) -> Void
    ) {
        self.work = work
        self.errors = errors
        self.answer = answer
    }

    deinit { end(errors.dropped) }

    /// The block to post. It alone keeps this object alive.
    func makeBlock() -> @Sendable () -> Void { { self.run() } }

    /// Hands work over with `post`. Returns the promise of its result, and a closure that withdraws work that has not
    /// begun.
    ///
    /// - Parameter whenAnswered: Called once, before the promise is fulfilled.
    static func enter(
        _ work: @escaping @Sendable () throws -> Value, orThrowing errors: Errors,
        whenAnswered: @escaping @Sendable () -> Void = {}, post: (@escaping @Sendable () -> Void) -> Void
    ) -> (promise: Promise<Value>, takeBack: @Sendable () -> Void) where Value: Sendable {
        let promise = Promise<Value>()
        let reply = Reply(work, errors) { (result: Result<Value, any Error>) in
            whenAnswered()
            promise.fulfil(result)
        }
        // Only the block retains the reply, so that dropping the block answers.
        let takeBack: @Sendable () -> Void = { [weak reply] in reply?.cancel() }
        post(reply.makeBlock())
        return (promise, takeBack)
    }

    func cancel() { end(CancellationError()) }

    private func end(_ error: any Error) {
        guard claim() else { return }
        work = nil
        answer(.failure(error))
    }

    private func run() {
        guard claim() else { return }
        let result = ThreadLoops.current.run(self) { doWork() }
        answer(result)
    }

    func threadHasExited() {
        work = nil
        answer(.failure(errors.exited))
    }

    @inline(never)
    private func doWork() -> Result<Value, any Error> {
        Lock.assertNoneHeld()
        defer { work = nil }
        return Result(catching: work!)
    }

    /// Returns true to exactly one caller, which must answer. Relaxed: what carries the answer publishes it.
    private func claim() -> Bool { !isAnswered.exchange(true, ordering: .relaxed) }
}

/// Where a thread waits for a result.
final class Waiter<Value>: @unchecked Sendable {
    private let lock = Lock(.leaf)
    private let changed = Condition()
    private var result: Result<Value, any Error>?

    func fulfil(_ result: Result<Value, any Error>) {
        lock.withLock { self.result = result }
        // Not under the lock, for which the woken thread would wait.
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
