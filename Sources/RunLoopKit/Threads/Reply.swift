import Synchronization

/// Work whose caller waits for an answer and always gets one: the end of the work, or an error. The error comes:
///
/// - if the work is cancelled before it begins.
/// - if its holder drops it, at the latest when the block is deallocated.
/// - if the thread that runs it exits in it.
///
/// Not generic: the library's generic code runs unspecialized in programs, where a generic `Result` costs thousands of
/// instructions. The work stores its result where its caller finds it.
final class Reply: AnsweredWork, @unchecked Sendable {
    private enum State: UInt8, AtomicRepresentable {
        /// The work has not begun.
        case open
        /// The work runs, or has ended.
        case begun
        /// The work never runs.
        case withdrawn
    }

    private let state = Atomic<State>(.open)
    /// Nil once it has run or never will. Released before the answer, since what it captures may belong to the waiting
    /// caller. Accessed only by the thread that has claimed the reply.
    @exclusivity(unchecked) private var work: (() throws -> Void)?
    private let errors: Errors
    private let answer: (_ error: (any Error)?) -> Void

    /// The answers if the work does not return.
    struct Errors {
        /// Of the thread or the pool.
        let name: String
        /// It was refused, or dropped before it began.
        let dropped: @Sendable (_ name: String) -> any Error
        /// Its thread exited before it returned.
        let exited: @Sendable (_ name: String) -> any Error
    }

    /// - Parameter answer: Called once, with the error if there is one.
    init(
        _ work: @escaping () throws -> Void, _ errors: Errors, _ answer: @escaping (_ error: (any Error)?) -> Void
    ) {
        self.work = work
        self.errors = errors
        self.answer = answer
    }

    /// Answers when the block is deallocated and has not run.
    private final class Dropping: Sendable {
        let reply: Reply
        init(_ reply: Reply) { self.reply = reply }
        deinit {
            guard reply.state.load(ordering: .relaxed) == .open else { return }
            reply.withdraw(answering: reply.errors.dropped(reply.errors.name))
        }
    }

    /// The block to post, once.
    func makeBlock() -> @Sendable () -> Void {
        let dropping = Dropping(self)
        return { dropping.reply.run() }
    }

    /// Whether the work has begun.
    var hasBegun: Bool { state.load(ordering: .relaxed) == .begun }

    /// Withdraws work that has not begun, and answers. Returns false, and does nothing, if it has begun, or was
    /// withdrawn by another caller, which answers.
    ///
    /// - Parameter body: Called before the answer, if the work is withdrawn.
    @discardableResult
    func withdraw(answering error: any Error = CancellationError(), _ body: () -> Void = {}) -> Bool {
        guard change(to: .withdrawn) else { return false }
        body()
        work = nil
        answer(error)
        return true
    }

    private func run() {
        guard change(to: .begun) else { return }
        let error = ThreadLoops.current.run(self) { doWork() }
        answer(error)
    }

    func threadHasExited() {
        work = nil
        answer(errors.exited(errors.name))
    }

    @inline(never)
    private func doWork() -> (any Error)? {
        Lock.assertNoneHeld()
        defer { work = nil }
        do {
            try work!()
            return nil
        } catch {
            return error
        }
    }

    /// Returns true to exactly one caller, which must answer. Relaxed: what carries the answer publishes it.
    private func change(to new: State) -> Bool {
        state.compareExchange(expected: .open, desired: new, ordering: .relaxed).exchanged
    }
}

/// A reply that a task awaits.
struct AwaitedReply {
    let reply: Reply
    let promise: Promise<Void>

    /// - Parameter whenAnswered: Called once, before the promise is fulfilled.
    init(
        _ work: @escaping @Sendable () throws -> Void, _ errors: Reply.Errors,
        whenAnswered: (@Sendable () -> Void)? = nil
    ) {
        let promise = Promise<Void>()
        self.promise = promise
        reply = Reply(work, errors) { error in
            whenAnswered?()
            promise.fulfil(error.map { .failure($0) } ?? .success(()))
        }
    }

    /// Suspends until the answer. Cancelling the task withdraws work that has not begun.
    nonisolated(nonsending) func value() async throws {
        try await promise.value { [reply] in reply.withdraw() }
    }

    /// Answers when the time is up, unless the timer is invalidated before.
    ///
    /// - Parameter name: Of the thread, for the error.
    func limit(to limit: Duration, _ name: String) throws(LoopError) -> Loop.Timer {
        try TimeLimits.shared.timer(after: limit) { [promise, reply] in
            if reply.withdraw(answering: Loop.NoAnswer.timeIsUp(thread: name, hasBegun: false)) { return }
            // Work that another thread has withdrawn gets that answer. Work that ends at this moment may have answered:
            // the promise keeps the first of two results.
            guard reply.hasBegun else { return }
            promise.fulfil(.failure(Loop.NoAnswer.timeIsUp(thread: name, hasBegun: true)))
        }
    }
}

/// Where a thread waits for an answer.
///
/// | the word | means |
/// |---|---|
/// | 0 | no answer |
/// | 1 | no answer, and the thread may sleep |
/// | 2 | answered |
final class Waiter: @unchecked Sendable {
    private let word = Atomic<UInt32>(0)
    /// Written before the word becomes 2, read after.
    @exclusivity(unchecked) private var error: (any Error)?

    /// Called once.
    func fulfil(_ error: (any Error)?) {
        self.error = error
        // Release: the waiting thread sees what the answering one did.
        if word.exchange(2, ordering: .releasing) == 1 { System.wakeOne(at: word) }
    }

    func wait() throws { _ = try wait(until: nil) }

    /// Waits until a time on the monotonic clock, or without limit. Returns false if the time is up.
    func wait(until deadline: Int64?) throws -> Bool {
        // Acquire, both: the thread sees what the answering one did. Sleeping publishes nothing.
        var found = word.compareExchange(
            expected: 0, desired: 1, successOrdering: .relaxed, failureOrdering: .acquiring
        ).original
        while found != 2 {
            if let deadline {
                guard System.wait(at: word, while: 1, until: deadline) else { return false }
            } else {
                System.wait(at: word, while: 1)
            }
            found = word.load(ordering: .acquiring)
        }
        if let error { throw error }
        return true
    }
}
