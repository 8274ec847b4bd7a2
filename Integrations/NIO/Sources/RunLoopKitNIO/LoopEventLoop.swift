public import Dispatch
public import NIOCore
public import RunLoopKit
import Synchronization

/// A loop as an `EventLoop` of SwiftNIO, for futures and scheduled tasks that belong to the loop's thread.
///
/// ```swift
/// let worker = try LoopThread(name: "worker")
/// let loop = LoopEventLoop(worker.loop)
/// channel.closeFuture.hop(to: loop).whenComplete { _ in print("on the worker: \(worker.isCurrent)") }
/// let promise = loop.makePromise(of: Int.self)  // its callbacks run on the worker
/// ```
///
/// Everything runs in the loop's common modes, between its timers and sources, in the order of submission. A promise
/// that is completed on the loop's thread calls its callbacks at once; a promise of another event loop takes one hop.
/// Tasks are scheduled on timers of the loop, so in the virtual time of a `VirtualClock` they do not wait.
///
/// No channel can be registered with it: a channel belongs to the selector of a NIO event loop.
///
/// **The end.** The loop ends with its thread, not by `shutdownGracefully`. Shut down first what completes its futures.
/// No task is lost: those that the loop drops, and those that are submitted when it has ended, run in their order on a
/// thread that stands in for the loop's, as jobs of Swift concurrency do, which is reported as a mistake
/// (`Loop.mistakeHandling`). Scheduled tasks fail, and scheduled callbacks are cancelled.
///
/// Any thread may call everything here. The event loop retains the loop, but not the `LoopThread`.
public final class LoopEventLoop: EventLoop {
    /// The loop that runs everything.
    public let loop: Loop

    private static let label = "task of its EventLoop"

    /// The number of the last task that was submitted. Relaxed: only the order of one thread's tasks counts.
    private let lastNumber = Atomic<UInt64>(0)
    private let orphans = Mutex<[Orphan]>([])

    /// The scheduled callbacks by their numbers: nil until the task of one is scheduled.
    private let callbacks = Mutex<(last: UInt64, waiting: [UInt64: Scheduled<Void>?])>((0, [:]))

    /// Makes an event loop. Several of one loop are equivalent, except that SwiftNIO compares event loops by identity:
    /// keep one.
    public init(_ loop: Loop) { self.loop = loop }

    /// Whether the caller is on the loop's thread. Once the loop has ended: whether it stands in for that thread.
    public var inEventLoop: Bool { loop.isIsolatingCurrentContext() ?? false }

    /// Now, on the loop's clock: SwiftNIO's own, unless the loop runs in virtual time.
    public var now: NIODeadline { .uptimeNanoseconds(UInt64(max(0, loop.now.nanoseconds))) }

    /// Posts a task for the common modes.
    public func execute(_ task: @escaping @Sendable () -> Void) {
        let submission = Submission(task, lastNumber.wrappingAdd(1, ordering: .relaxed).newValue, to: self)
        // Refused, it runs as a job, which is reported.
        _ = loop.performCancellable(in: .common, label: LoopEventLoop.label) { submission.run() }
    }

    /// Runs a task at a time of ``now``. Tasks run in the order of their deadlines.
    public func scheduleTask<T>(
        deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T
    ) -> Scheduled<T> {
        schedule(task) {
            // Not after the difference to `now`, which would be counted from a later moment.
            Loop.Timer(
                at: Loop.Instant(nanoseconds: Int64(deadline.uptimeNanoseconds)), label: LoopEventLoop.label,
                handler: $0)
        }
    }

    /// Runs a task after a delay, by a timer. Cancelling it removes the timer. If the loop ends first, the task's
    /// future fails with `EventLoopError.shutdown`.
    public func scheduleTask<T>(in delay: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        schedule(task) { Loop.Timer(after: .nanoseconds(delay.nanoseconds), label: LoopEventLoop.label, handler: $0) }
    }

    private func schedule<T>(
        _ task: @escaping @Sendable () throws -> T,
        by makeTimer: (_ handler: @escaping @Sendable (Loop.Timer.Firing) -> Void) -> Loop.Timer
    ) -> Scheduled<T> {
        let promise = makePromise(of: T.self)
        let answer = Answer(promise)
        let timer = makeTimer { _ in
            let result = Result(catching: task)
            // On the event loop.
            answer.take().assumeIsolatedUnsafeUnchecked().completeWith(result)
        }
        loop.add(timer, in: .common)
        // The loop alone retains the timer, and releases it when it ends.
        return Scheduled(promise: promise) { [weak answer, weak timer] in
            answer?.take()
            timer?.invalidate()
        }
    }

    // MARK: Scheduled callbacks

    // Not NIO's own: it counts a delay on NIO's clock, and tells no handler that the event loop has ended.

    /// Calls a handler at a time of ``now``; or its `didCancelScheduledCallback`, if it is cancelled or the loop ends
    /// before. Never both.
    @discardableResult
    public func scheduleCallback(
        at deadline: NIODeadline, handler: some (NIOScheduledCallbackHandler & Sendable)
    ) -> NIOScheduledCallback {
        let number = callbacks.withLock { callbacks in
            callbacks.last += 1
            callbacks.waiting[callbacks.last] = .some(nil)
            return callbacks.last
        }
        let scheduled = scheduleTask(deadline: deadline) {
            guard self.takeCallback(number) != nil else { throw EventLoopError.cancelled }
            handler.handleScheduledCallback(eventLoop: self)
        }
        callbacks.withLock { if $0.waiting[number] != nil { $0.waiting[number] = scheduled } }
        scheduled.futureResult.whenFailure { _ in
            _ = self.takeCallback(number)
            handler.didCancelScheduledCallback(eventLoop: self)
        }
        return NIOScheduledCallback(self, id: number)
    }

    /// Calls a handler after a delay, on the loop's clock: see ``scheduleCallback(at:handler:)``.
    @discardableResult
    public func scheduleCallback(
        in amount: TimeAmount, handler: some (NIOScheduledCallbackHandler & Sendable)
    ) -> NIOScheduledCallback {
        scheduleCallback(at: now + amount, handler: handler)
    }

    /// Cancels a callback, unless it has begun.
    public func cancelScheduledCallback(_ callback: NIOScheduledCallback) {
        guard let number = callback.customCallbackID, let taken = takeCallback(number) else { return }
        taken?.cancel()
    }

    /// Nil if another has taken it. Inside, nil if its task is not scheduled yet.
    private func takeCallback(_ number: UInt64) -> Scheduled<Void>?? {
        callbacks.withLock { $0.waiting.removeValue(forKey: number) }
    }

    // MARK: The end

    /// Runs a task that the loop has refused or dropped: as a job, which a loop never does. SwiftNIO traps when a
    /// promise is deallocated and not completed.
    ///
    /// Several threads may drop tasks, later ones first. The job runs when the loop has ended, and so has dropped all.
    fileprivate func runInAJob(_ orphan: Orphan) {
        let needsJob = orphans.withLock { orphans in
            orphans.append(orphan)
            return orphans.count == 1
        }
        if needsJob { Task.detached(executorPreference: loop.taskExecutor) { self.runOrphans() } }
    }

    private func runOrphans() {
        let taken = orphans.withLock { orphans in
            defer { orphans = [] }
            return orphans
        }
        for orphan in taken.sorted(by: { $0.number < $1.number }) { orphan.task() }
    }

    // MARK: Swift concurrency

    /// The loop itself: actors on the loop and on this event loop share an executor.
    public var executor: any SerialExecutor { loop }

    /// Enqueues a job on the loop.
    public func enqueue(_ job: consuming ExecutorJob) { loop.enqueue(job) }

    // MARK: EventLoopGroup

    /// The event loop itself.
    public func next() -> any EventLoop { self }

    /// The event loop alone.
    public func makeIterator() -> EventLoopIterator { EventLoopIterator([self]) }

    /// Calls back with `EventLoopError.unsupportedOperation`: the loop ends with its thread, by `LoopThread.stop()`.
    public func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        queue.async { callback(EventLoopError.unsupportedOperation) }
    }
}

/// A task that the loop does not run, and its number in the order of submission.
private typealias Orphan = (number: UInt64, task: @Sendable () -> Void)

/// A task that runs once: in a block of the loop or, if the loop refuses or drops the block, as a job.
private final class Submission: Sendable {
    private let task: @Sendable () -> Void
    private let number: UInt64
    private let eventLoop: LoopEventLoop
    /// Relaxed: releasing the last reference comes after all that other references did.
    private let hasRun = Atomic(false)

    init(_ task: @escaping @Sendable () -> Void, _ number: UInt64, to eventLoop: LoopEventLoop) {
        self.task = task
        self.number = number
        self.eventLoop = eventLoop
    }

    deinit { if !hasRun.load(ordering: .relaxed) { eventLoop.runInAJob((number, task)) } }

    func run() {
        hasRun.store(true, ordering: .relaxed)
        task()
    }
}
