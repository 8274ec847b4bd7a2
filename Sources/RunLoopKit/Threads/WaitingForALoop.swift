extension Loop {
    /// The error of a caller that waits for work on a loop and gets no result of it.
    public enum NoAnswer: Error, Equatable, Sendable, CustomStringConvertible {
        /// The loop has ended, or its thread was stopped: the work was not run.
        case loopHasEnded(thread: String)
        /// The loop's thread exited inside the work (`pthread_exit`, `pthread_cancel`), which never returned.
        case threadExited(thread: String)
        /// The time was up. Work that had not begun never will. Work that had begun continues, and its result is
        /// dropped.
        case timeIsUp(thread: String, hasBegun: Bool)

        /// The thread, and the consequence for the work.
        public var description: String {
            switch self {
            case .loopHasEnded(let thread): "the loop of thread \"\(thread.printable)\" has ended: the work was not run"
            case .threadExited(let thread):
                "the thread \"\(thread.printable)\" exited inside the work, which has begun and never returned"
            case .timeIsUp(let thread, hasBegun: false):
                "the loop of thread \"\(thread.printable)\" did not begin the work in time, and will not: it does not "
                    + "run in the work's mode, or is busy (loop.description shows what it does)"
            case .timeIsUp(let thread, hasBegun: true):
                "the work on the loop of thread \"\(thread.printable)\" did not end in time: it continues, and its "
                    + "result is dropped"
            }
        }
    }

    /// Runs a block on the loop's thread and waits for its result. The calling thread blocks, and runs no loop
    /// meanwhile. In a task, use ``Loop/run(in:for:label:file:line:_:)``, which suspends.
    ///
    /// ```swift
    /// let title = try Loop.main.performAndWait(for: .seconds(5)) { MainActor.assumeIsolated { window.title } }
    /// ```
    ///
    /// On the loop's thread itself the block runs at once, before blocks that were posted earlier, and whatever the
    /// mode.
    ///
    /// - Parameters:
    ///   - mode: The mode in which the block may run; ``Loop/Mode`` says why it is `common` here. If the loop does not
    ///     run in it, the caller waits until it does.
    ///   - limit: How long to wait at most, in real time even for a loop in virtual time; nil for no limit.
    ///   - label: What diagnostics call the block; nil to call it by the place where it was posted.
    ///   - file: The source file that posts the block, for diagnostics.
    ///   - line: The line in that file.
    ///   - block: Called on the loop's thread, and released after the call.
    /// - Throws: What the block throws; and:
    ///   - ``Loop/NoAnswer`` if the loop refuses the block or ends before it runs, if its thread exits in the block, or
    ///     if the time is up.
    ///   - ``LoopThread/WaitRing`` if the loop's thread waits for the caller's, directly or not. The block is not
    ///     handed over then.
    ///
    /// Cocoa: `performSelectorOnMainThread:withObject:waitUntilDone:YES`, `performSelector:onThread:…`.
    @available(*, noasync, message: "It would block a thread of the task: await run(in:_:).")
    @discardableResult
    public func performAndWait<Value: Sendable>(
        in mode: Mode = .common, for limit: Duration? = nil, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line, _ block: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        if isOnOwnThread { return try block() }
        return try performAndWait(in: mode, for: limit, Place(label, file, line), .ofLoop(threadName), block)
    }

    /// The callers of a loop and those of a `LoopThread` get different errors.
    func performAndWait<Value: Sendable>(
        in mode: Mode, for limit: Duration?, _ place: Place, _ errors: Reply.Errors,
        _ block: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        // Not on the caller's stack: a caller whose time is up leaves before the block has ended.
        let result = WorkResult<Value>()
        try waitForWork(in: mode, for: limit, place, errors) { result.value = try block() }
        return result.value!
    }

    /// Hands work over and waits for its end.
    func waitForWork(
        in mode: Mode, for limit: Duration? = nil, _ place: Place, _ errors: Reply.Errors,
        _ work: @escaping @Sendable () throws -> Void
    ) throws {
        let handOver = {
            let waiter = Waiter()
            let reply = Reply(work, errors) { waiter.fulfil($0) }
            let block = self.performAwaited(in: mode, place, reply.makeBlock())
            guard let limit else { return try waiter.wait() }
            let deadline = System.monotonicNanoseconds().addingSaturating(max(0, limit.wholeNanoseconds))
            if try waiter.wait(until: deadline) { return }
            // Withdraws it, unless it has begun.
            if reply.withdraw() {
                self.discardAwaited(block, in: mode)
                throw NoAnswer.timeIsUp(thread: errors.name, hasBegun: false)
            }
            // Another thread has withdrawn it, and answers now.
            guard reply.hasBegun else { return try waiter.wait() }
            // It may have ended at this moment.
            if try waiter.wait(until: deadline) { return }
            throw NoAnswer.timeIsUp(thread: errors.name, hasBegun: true)
        }
        // In a forked child the loop refuses the block.
        guard process.isCurrent else { return try handOver() }
        try WaitRings.shared.waiting(
            for: .thread(WaitRings.Target(thread: owner, name: errors.name)), hasLimit: limit != nil, handOver)
    }

    /// Runs a block on the loop's thread and suspends until it is done. In any task. ``Loop/run()``, without a block,
    /// runs the loop itself.
    ///
    /// - *Order:* the block is handed over before the task suspends. So blocks of one actor run in the order of its
    ///   calls, and in order with the blocks that it posts. A call in a closure that runs elsewhere comes when the
    ///   closure does: <doc:SwiftConcurrency#Questions>.
    /// - *Cancelling the task* withdraws a block that has not begun. The call waits for one that has begun, and returns
    ///   its result: pass a limit, or let the block look at a flag. A cancelled task hands no block over.
    /// - *The error of a limit* reaches the caller when its actor is free: on this loop, that is after the block.
    ///
    /// - Parameters:
    ///   - mode: The mode in which the block may run.
    ///   - limit: How long to wait at most, in real time even for a loop in virtual time; nil for no limit.
    ///   - label: What diagnostics call the block; nil to call it by the place where it was posted.
    ///   - file: The source file that posts the block, for diagnostics.
    ///   - line: The line in that file.
    ///   - block: Called on the loop's thread, and released after the call.
    /// - Throws: What the block throws; ``Loop/NoAnswer`` if the loop refuses the block or ends before it runs, if its
    ///   thread exits in the block, or if the time is up; `CancellationError`; ``LoopError`` from the first call with a
    ///   limit, if the thread that keeps time limits cannot be started.
    @discardableResult
    public nonisolated(nonsending) func run<Value: Sendable>(
        in mode: Mode = .common, for limit: Duration? = nil, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line, _ block: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await run(in: mode, for: limit, Place(label, file, line), .ofLoop(threadName), block)
    }

    /// The callers of a loop and those of a `LoopThread` get different errors.
    nonisolated(nonsending) func run<Value: Sendable>(
        in mode: Mode, for limit: Duration?, _ place: Place, _ errors: Reply.Errors,
        _ block: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        // Not in the caller's frame: a caller whose time is up leaves before the block has ended.
        let result = WorkResult<Value>()
        let reply = AwaitedReply({ result.value = try block() }, errors)
        let timer = try limit.map { try reply.limit(to: $0, errors.name) }
        defer { timer?.invalidate() }
        let block = performAwaited(in: mode, place, reply.reply.makeBlock())
        try await reply.value(to: block, of: self, in: mode)
        return result.value!
    }
}

extension AwaitedReply {
    /// As `value()`, for a block that was posted on a loop. One that was withdrawn leaves the loop.
    nonisolated(nonsending) func value(to block: UInt64?, of loop: Loop, in mode: Loop.Mode) async throws {
        do {
            try await value()
        } catch {
            if !reply.hasBegun { loop.discardAwaited(block, in: mode) }
            throw error
        }
    }
}

/// Where work stores its result. Written by the thread that runs the work, before the answer; read by the caller, after
/// it.
private final class WorkResult<Value>: @unchecked Sendable {
    @exclusivity(unchecked) var value: Value?
}

extension Reply.Errors {
    /// The errors of callers of a loop.
    fileprivate static func ofLoop(_ thread: String) -> Self {
        Self(
            name: thread, dropped: { Loop.NoAnswer.loopHasEnded(thread: $0) },
            exited: { Loop.NoAnswer.threadExited(thread: $0) })
    }
}
