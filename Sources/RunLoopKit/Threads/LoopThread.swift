import Synchronization

/// A thread that stays alive and works for others: it runs a loop, kept alive by a port until ``stop()``. Any thread
/// may call everything here.
///
/// ```swift
/// let worker = try LoopThread(name: "worker")
/// worker.perform { print("on the worker") }
/// let sum = try await worker.run { (1...100).reduce(0, +) }
/// worker.stop()
/// ```
///
/// ``Options`` hold what the kernel does for the thread, such as a nice value or a realtime policy. For several threads
/// that share work, see ``LoopThreadPool``.
///
/// **Lifetime.** Dropping the last reference stops the thread, as `stop()` does; the thread does not keep its
/// ``LoopThread`` alive. So keep a reference for as long as the thread is to work. A thread that is dropped with items
/// on it is reported as ``Loop/Mistake/droppedThread(name:items:)``. A handler that captures the ``LoopThread``, or the
/// object that holds it, keeps the thread alive for ever: <doc:KeepingAThreadAlive>.
///
/// **A thread that exits** inside a block or a handler (`pthread_exit`) ends as if `stop(discardingPending: true)` had
/// stopped it, and all waiting callers get an answer. But Swift does not unwind the stack: what the abandoned functions
/// hold is never released.
///
/// Cocoa: an `NSThread` whose main method runs its run loop with a port in it, and `performSelector:onThread:`.
public final class LoopThread: Sendable, CustomStringConvertible {
    /// The error of a caller whose work did not run because the thread was stopped.
    public struct Stopped: Error, Equatable, Sendable, CustomStringConvertible {
        /// The thread's name.
        public let thread: String

        /// For an actor on the thread's loop that refuses calls after the end (<doc:SwiftConcurrency#The-end>), and for
        /// tests of callers that handle it.
        public init(thread: String) { self.thread = thread }

        /// The thread, and the consequence for the work.
        public var description: String {
            "the LoopThread \"\(thread.printable)\" has been stopped: the work was not run"
        }
    }

    /// The error of a caller whose work never returned because its thread exited in it (`pthread_exit`) or was
    /// cancelled in it (`pthread_cancel`).
    public struct Exited: Error, Equatable, Sendable, CustomStringConvertible {
        /// The thread's name.
        public let thread: String

        /// For tests of callers that handle it.
        public init(thread: String) { self.thread = thread }

        /// The thread, and the consequence for the work.
        public var description: String {
            "the LoopThread \"\(thread.printable)\" exited inside the work (pthread_exit, or pthread_cancel): it has "
                + "begun, and there is no result"
        }
    }

    /// The name, as given. The kernel and debuggers show its first 15 bytes.
    public let name: String

    /// The thread's loop, for timers, sources and observers. It ends with the thread. `loop.stop()` ends only its
    /// innermost run, and the thread begins another: to end the thread, call `stop()` here.
    public let loop: Loop

    /// The options that the kernel refused, if ``LoopThread/Options/onRefusal`` lets the thread run without them.
    public let refusedOptions: [LoopError]

    private let worker: Worker

    /// Starts a thread with options. When this returns, its loop accepts work, and the thread has applied the options.
    ///
    /// - Parameters:
    ///   - options: The thread's name, stack, scheduling and so on.
    ///   - clock: Makes the thread's loop run in virtual time.
    /// - Throws: ``LoopError``; nothing is left behind then. Besides the errors of ``init(name:stackSize:clock:)``:
    ///   EINVAL for an option that is valid nowhere; and the kernel's error for an option that it refuses, unless
    ///   `options.onRefusal` is `runAnyway`.
    public init(options: Options, clock: VirtualClock? = nil) throws(LoopError) {
        try options.validate()
        name = options.name
        worker = Worker(clock: clock.map { .virtual($0) } ?? .monotonic)
        (loop, refusedOptions) = try worker.start(options)
    }

    /// Reports what the end of a thread that was not stopped leaves undone. A limiter reports its call itself, as when
    /// it is deallocated. So the report does not depend on which of the two is deallocated first.
    private func reportItemsLeft() {
        guard !loop.isClosing, loop.process.isCurrent else { return }
        for listener in loop.allEndListeners { listener.threadIsDropped() }
        let items = loop.itemsThatWait
        // An actor on the loop holds this object. So it has been deallocated, and its items serve nothing any more.
        let names = Set(items.filter { $0.isolation != .actor }.map(\.name)).sorted()
        guard !names.isEmpty else { return }
        Mistakes.shared.report(.droppedThread(name: name, items: names))
    }

    /// Starts a thread. Its loop accepts work when this returns, even if the thread has not begun to run. For more
    /// options, see ``init(options:clock:)``.
    ///
    /// - Parameters:
    ///   - name: For debuggers and `/proc`.
    ///   - stackSize: In bytes; nil means the system's default. Too small a size is an error.
    ///   - clock: Makes the thread's loop run in virtual time.
    /// - Throws: ``LoopError`` when the thread (`pthread_create`), its stack (`pthread_attr_setstacksize`) or its
    ///   descriptors (`eventfd`, `epoll_create1`) are not available. Nothing is left behind then.
    public convenience init(
        name: String = "RunLoopKit", stackSize: Int? = nil, clock: VirtualClock? = nil
    ) throws(LoopError) {
        try self.init(options: Options(name: name, stackSize: stackSize), clock: clock)
    }

    deinit {
        reportItemsLeft()
        stop()
        worker.detach()
    }

    /// The thread's name, and what its loop does, in one line. `loop.description` is the whole page.
    public var description: String { "LoopThread \"\(name.printable)\": \(loop.state)" }

    /// Whether the caller is on this thread. False in an actor of its loop after the end:
    /// <doc:SwiftConcurrency#The-end>.
    public var isCurrent: Bool { loop.isOnOwnThread }

    // MARK: Work

    /// Hands a block to the thread and returns. The thread runs blocks one after the other, in the order in which they
    /// were handed over. (If one runs the loop, see <doc:HowARunLoopWorks#Nested-runs>.)
    ///
    /// - Parameters:
    ///   - mode: The mode in which the block may run. ``Loop/Mode`` says why it is `common` here.
    ///   - label: What diagnostics call the block; nil to call it by the place where it was posted.
    ///   - file: The source file that posts the block, for diagnostics.
    ///   - line: The line in that file.
    ///   - block: Called on the thread.
    /// - Returns: Whether the block was accepted. It will run then, unless ``stop(discardingPending:)`` or an exit of
    ///   the thread drops it. False once the thread was stopped, which is reported as
    ///   ``Loop/Mistake/refusedBlock(block:thread:)``.
    ///
    /// Cocoa: `performSelector:onThread:withObject:waitUntilDone:NO`.
    @discardableResult
    public func perform(
        in mode: Loop.Mode = .common, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        _ block: @escaping @Sendable () -> Void
    ) -> Bool {
        loop.perform(in: mode, label: label, file: file, line: line, block)
    }

    /// Hands a block to the thread, which runs it after a delay. A block that is not due when the thread stops does not
    /// run.
    ///
    /// - Parameters:
    ///   - delay: How long to wait at least.
    ///   - mode: The mode in which the block may run.
    ///   - label: What diagnostics call the timer; nil to call it by the place where the block was posted.
    ///   - file: The source file that posts the block, for diagnostics.
    ///   - line: The line in that file.
    ///   - block: Called on the thread.
    /// - Returns: The timer that runs the block; invalidate it to cancel the block. Nil once the thread was stopped,
    ///   which is reported.
    ///
    /// Cocoa: `performSelector:withObject:afterDelay:`, and `cancelPreviousPerformRequests`.
    @discardableResult
    public func perform(
        after delay: Duration, in mode: Loop.Mode = .common, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line, _ block: @escaping @Sendable () -> Void
    ) -> Loop.Timer? {
        loop.perform(after: delay, in: mode, label: label, file: file, line: line, block)
    }

    /// Runs a block on the thread and waits for its result. On the thread itself the block runs at once, before blocks
    /// that were posted earlier, and whatever the mode.
    ///
    /// - Parameters:
    ///   - mode: The mode in which the block may run.
    ///   - limit: How long to wait at most, in real time even for a loop in virtual time; nil for no limit.
    ///   - label: What diagnostics call the block; nil to call it by the place where it was posted.
    ///   - file: The source file that posts the block, for diagnostics.
    ///   - line: The line in that file.
    ///   - block: Called on the thread.
    /// - Throws: What the block throws; ``Loop/NoAnswer/timeIsUp(thread:hasBegun:)``; and:
    ///   - ``LoopThread/Stopped`` if the block was refused or discarded, because the thread was stopped.
    ///   - ``LoopThread/Exited`` if the thread exits in the block.
    ///   - ``LoopThread/WaitRing`` if the thread waits for the caller's, directly or not. The block is not handed over
    ///     then.
    ///
    /// Cocoa: `performSelector:onThread:withObject:waitUntilDone:YES`.
    @available(*, noasync, message: "It would block a thread of the task: await run(in:_:).")
    @discardableResult
    public func performAndWait<Value: Sendable>(
        in mode: Loop.Mode = .common, for limit: Duration? = nil, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line, _ block: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        if isCurrent { return try block() }
        if let limit {
            return try loop.performAndWait(in: mode, for: limit, Place(label, file, line), .ofThread(name), block)
        }
        nonisolated(unsafe) let result = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        defer { result.deallocate() }
        try loop.waitForWork(in: mode, Place(label, file, line), .ofThread(name)) {
            result.initialize(to: try block())
        }
        return result.move()
    }

    /// Runs a block on the thread and suspends until it is done. In any task.
    ///
    /// Order, cancellation and limits are those of ``Loop/run(in:for:label:file:line:_:)``. The block keeps its order
    /// with those that the caller hands to ``perform(in:label:file:line:_:)``.
    ///
    /// - Parameters:
    ///   - mode: The mode in which the block may run.
    ///   - limit: How long to wait at most, in real time even for a loop in virtual time; nil for no limit.
    ///   - label: What diagnostics call the block; nil to call it by the place where it was posted.
    ///   - file: The source file that posts the block, for diagnostics.
    ///   - line: The line in that file.
    ///   - block: Called on the thread.
    /// - Throws: What the block throws; ``LoopThread/Stopped`` and ``LoopThread/Exited`` as `performAndWait` does;
    ///   ``Loop/NoAnswer/timeIsUp(thread:hasBegun:)``; `CancellationError`.
    @discardableResult
    public nonisolated(nonsending) func run<Value: Sendable>(
        in mode: Loop.Mode = .common, for limit: Duration? = nil, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line, _ block: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        if let limit {
            return try await loop.run(in: mode, for: limit, Place(label, file, line), .ofThread(name), block)
        }
        try Task.checkCancellation()
        nonisolated(unsafe) let result = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        defer { result.deallocate() }
        let reply = AwaitedReply({ result.initialize(to: try block()) }, .ofThread(name))
        let block = loop.performAwaited(in: mode, Place(label, file, line), reply.reply.makeBlock())
        try await reply.value(to: block, of: loop, in: mode)
        return result.move()
    }

    // MARK: The end

    /// Ends the thread after it has run the work that it has accepted. From now on it refuses work. Does not wait: see
    /// ``join()``. From any thread, but not in a Unix signal handler: see
    /// <doc:SignalsThreadsForkCancellation#Safe-where>.
    ///
    /// - *The pass in which the stop comes* goes on to its end, and may still serve what is due or ready.
    /// - *Accepted work* is blocks in any mode, and jobs. Neither timers nor sources are served any more, nor delayed
    ///   blocks, nor messages in ports. <doc:KeepingAThreadAlive#What-happens-at-the-end> says what to do about that.
    /// - *A handler that runs the loop nested* gets ``Loop/RunResult/stopped`` once, from its active run or from the
    ///   next that it begins. A later run of that handler serves and waits as usual, so the handler still gets an
    ///   answer that it waits for. But jobs of Swift concurrency that have not begun at the stop may wait until the
    ///   handler has returned. Then the thread ends.
    /// - *A stop before the thread has begun to run* is not lost. A later call does nothing.
    public func stop() { stop(discardingPending: false) }

    /// Ends the thread as ``stop()`` does, but drops the blocks that have not begun. Callers that wait for one get
    /// ``LoopThread/Stopped``. May follow a ``stop()`` that takes too long.
    ///
    /// - Parameter discardingPending: `false` makes it an ordinary `stop()`.
    public func stop(discardingPending: Bool) {
        // Closing ends every run, and no other begins: so it is not lost if it precedes the first.
        loop.close(discardingBlocks: discardingPending)
    }

    /// Suspends until the thread has ended: its blocks have run, its items have left the loop, its end handlers have
    /// returned and its descriptors are closed. Does not stop the thread. For any number of tasks, which must not block
    /// in ``join()``.
    ///
    /// ```swift
    /// worker.stop()
    /// try await worker.waitForEnd()
    /// // In a task that may be cancelled, as the body of Loop.runMain is by Loop.main.stop():
    /// try await Task { try await worker.waitForEnd() }.value
    /// ```
    ///
    /// - The wait keeps the ``LoopThread`` alive, so the thread does not end by itself: call ``stop()``, before or
    ///   later.
    /// - The kernel thread calls nothing of the program's any more: it has released the values of boxes (``LoopBound``)
    ///   and reported its mistakes. It exits a moment later; `join()` waits for that, too.
    /// - An actor on the thread's loop, or a task that prefers it, should not wait. It continues after the end, on the
    ///   thread of last resort, which is reported as ``Loop/Mistake/jobsOfEndedLoop(thread:)``.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before the end.
    public nonisolated(nonsending) func waitForEnd() async throws {
        let promise = Promise<Void>()
        guard let handler = loop.afterEnd({ promise.fulfil(.success(())) }) else { return }
        try await promise.value {
            if handler.withdraw() { promise.fulfil(.failure(CancellationError())) }
        }
    }

    /// Waits until the thread has ended: its items have left the loop, its descriptors are closed and the kernel thread
    /// no longer exists. Does not stop the thread. In a task, which must not block a thread, await ``waitForEnd()``.
    ///
    /// - Precondition: Not called on the thread itself, nor on a thread that this one waits for in `join()`, or in
    ///   `performAndWait` without a time limit: both would wait forever. Traps there with a message.
    @available(*, noasync, message: "It would block a thread of the task: await waitForEnd().")
    public func join() {
        guard !isCurrent else {
            fatalError(
                "RunLoopKit: LoopThread.join() was called on the thread \"\(name.printable)\" itself, which would wait "
                    + "for ever.")
        }
        // A forked child does not have its parent's threads.
        guard loop.process.isCurrent else { return }
        WaitRings.shared.waitingOrTrapping("LoopThread.join()", for: .thread(waitTarget)) { worker.join() }
    }
}

extension Reply.Errors {
    /// The errors of callers of a `LoopThread`, or of a pool.
    static func ofThread(_ name: String) -> Self {
        Self(
            name: name, dropped: { LoopThread.Stopped(thread: $0) }, exited: { LoopThread.Exited(thread: $0) })
    }
}

/// The state that a thread shares with its `LoopThread`. The thread retains this and not the `LoopThread`, so that
/// dropping the owner stops the thread.
private final class Worker: @unchecked Sendable {
    private enum Handle { case none, running(CThread), joining, gone }

    private let clock: LoopTime
    private let process = ProcessMark.current
    private let lock = Lock(.leaf)
    private let changed = Condition()

    // Guarded by `lock`.
    /// The options that the kernel refused, once the thread has applied all of them.
    private var refusedOptions: [LoopError]?
    private var handle = Handle.none

    init(clock: LoopTime) { self.clock = clock }

    /// Makes the loop, and starts the thread that runs it.
    func start(_ options: LoopThread.Options) throws(LoopError) -> (loop: Loop, refusedOptions: [LoopError]) {
        let loop = Loop(
            clock: clock, owner: .makeForNewThread(), threadName: options.name, isOfLoopThread: true)
        do throws(LoopError) {
            // Keeps the loop's runs from finishing.
            loop.add(KeepAlivePort(), in: .common)
            try loop.prepareForNewThread()
            let thread = try System.startThread(stackSize: options.stackSize) { self.main(loop, options) }
            lock.withLock { handle = .running(thread) }
        } catch {
            loop.end(tellingSources: true)
            throw error
        }
        let refusedOptions = mustWait(for: options) ? waitForOptions() : []
        if let refusal = refusedOptions.first, options.onRefusal == .fail {
            join()
            throw refusal
        }
        return (loop, refusedOptions)
    }

    /// Whether a thread must have begun before its owner has it: the kernel may refuse an option, or a virtual clock
    /// must know that the thread is busy. Otherwise the owner need not wait for the thread's first turn on a processor.
    private func mustWait(for options: LoopThread.Options) -> Bool {
        options.mayBeRefused || clock.isVirtual
    }

    private func waitForOptions() -> [LoopError] {
        lock.withLock {
            while refusedOptions == nil { changed.wait(with: lock) }
            return refusedOptions!
        }
    }

    // MARK: On the thread

    private func main(_ loop: Loop, _ options: LoopThread.Options) {
        ThreadLoops.begin(with: loop)
        let refusedOptions = options.apply()
        if !refusedOptions.isEmpty, options.onRefusal == .fail {
            loop.end(tellingSources: true)
            return report(refusedOptions)
        }
        // The thread is busy until its loop sleeps, even before the first run and between two runs: the time must not
        // jump then.
        if case .virtual(let clock) = clock { clock.beginRun(of: loop) }
        defer { if case .virtual(let clock) = clock { clock.endRun(of: loop) } }
        if mustWait(for: options) { report(refusedOptions) }
        // A handler that stops the loop ends a run, not the thread.
        while !loop.isClosing { loop.run() }
        loop.runAcceptedWork()
        loop.end(tellingSources: true)
    }

    private func report(_ refusedOptions: [LoopError]) {
        lock.withLock { self.refusedOptions = refusedOptions }
        // Not under the lock, for which the woken thread would wait.
        changed.broadcast()
    }

    // MARK: From any thread

    func join() {
        let thread = lock.withLock { () -> CThread? in
            while case .joining = handle { changed.wait(with: lock) }
            guard case .running(let thread) = handle else { return nil }
            handle = .joining
            return thread
        }
        guard let thread else { return }
        System.join(thread)
        lock.withLock {
            handle = .gone
            changed.broadcast()
        }
    }

    func detach() {
        guard process.isCurrent else { return }
        lock.withLock {
            if case .running(let thread) = handle {
                System.detach(thread)
                handle = .gone
            }
        }
    }
}
