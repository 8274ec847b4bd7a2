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
/// No task is lost: those that the loop drops, and those that are submitted when it has ended, run on a thread that
/// stands in for the loop's, as jobs of Swift concurrency do, which is reported as a mistake (`Loop.mistakeHandling`).
///
/// Any thread may call everything here. The event loop retains the loop, but not the `LoopThread`.
public final class LoopEventLoop: EventLoop {
    /// The loop that runs everything.
    public let loop: Loop

    /// Makes an event loop. Several of one loop are equivalent, except that SwiftNIO compares event loops by identity:
    /// keep one.
    public init(_ loop: Loop) { self.loop = loop }

    /// Whether the caller is on the loop's thread. Once the loop has ended: whether it stands in for that thread.
    public var inEventLoop: Bool { loop.isIsolatingCurrentContext() ?? false }

    /// Now, on the loop's clock: SwiftNIO's own, unless the loop runs in virtual time.
    public var now: NIODeadline { .uptimeNanoseconds(UInt64(max(0, loop.now.nanoseconds))) }

    /// Posts a task for the common modes.
    public func execute(_ task: @escaping @Sendable () -> Void) {
        let submission = Submission(task, for: loop)
        loop.perform(in: .common, label: "task of its EventLoop") { submission.run() }
    }

    /// Runs a task at a time of ``now``.
    public func scheduleTask<T>(
        deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T
    ) -> Scheduled<T> {
        scheduleTask(in: deadline - now, task)
    }

    /// Runs a task after a delay, by a timer. Cancelling it removes the timer. If the loop ends first, the task's
    /// future fails with `EventLoopError.shutdown`.
    public func scheduleTask<T>(in delay: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        let promise = makePromise(of: T.self)
        let answer = Answer(promise)
        let timer = Loop.Timer(after: .nanoseconds(delay.nanoseconds), label: "task of its EventLoop") { _ in
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

/// A task that runs once: in a block of the loop or, if the loop refuses or drops the block, as a job, which a loop
/// never does. SwiftNIO traps when a promise is deallocated and not completed.
private final class Submission: Sendable {
    private let task: @Sendable () -> Void
    private let loop: Loop
    /// Relaxed: releasing the last reference comes after all that other references did.
    private let hasRun = Atomic(false)

    init(_ task: @escaping @Sendable () -> Void, for loop: Loop) {
        self.task = task
        self.loop = loop
    }

    deinit {
        guard !hasRun.load(ordering: .relaxed) else { return }
        Task.detached(executorPreference: loop.taskExecutor) { [task] in task() }
    }

    func run() {
        hasRun.store(true, ordering: .relaxed)
        task()
    }
}
