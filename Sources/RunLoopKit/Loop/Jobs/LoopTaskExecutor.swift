/// Runs the code of a task that prefers a loop on the loop's thread, except that of actors with an executor of their
/// own. Get it from ``Loop/taskExecutor``, on any thread.
///
/// ```swift
/// let worker = try LoopThread(name: "worker")
/// await withTaskExecutorPreference(worker.loop.taskExecutor) {
///     print(worker.isCurrent)  // true
/// }
/// ```
///
/// Functions of actors without an executor of their own run there too, for this task. Its jobs share one queue with
/// those of actors on the loop: ``Loop/asUnownedSerialExecutor()`` has the order, and the end.
///
/// *With an actor on the loop.* At every `await` inside an actor with an executor of its own, Swift enqueues a task
/// that prefers any executor again. It does so even if both are the same loop, and even at `withCheckedContinuation`.
/// Other jobs of the actor may run before the body. So put no `await` between statements that belong together.
///
/// *Lifetime.* The executor does not retain its loop. Swift retains it while a task prefers it. Only the ``LoopThread``
/// keeps the loop's thread running. When that has ended, the task continues on a thread of last resort:
/// ``Loop/Mistake/jobsOfEndedLoop(thread:)``.
public final class LoopTaskExecutor: TaskExecutor, @unchecked Sendable {
    // A separate type, since one that is both kinds of executor costs an enqueue for every call that leaves an actor.

    // Weak, or a task that waits for a loop would keep it alive when no thread can run it any more. A variable, since a
    // property with a wrapper must be one. Only the initializer sets it, so the class is `Sendable` unchecked.
    @LightWeak private var loop: Loop?
    private let jobs: JobQueue

    fileprivate init(_ loop: Loop) {
        self.loop = loop
        jobs = loop.jobs
    }

    /// Enqueues a job of a task that prefers the loop. Swift calls it, on any thread. No job is ever refused: see
    /// ``Loop/asUnownedSerialExecutor()``.
    public func enqueue(_ job: consuming ExecutorJob) {
        // As in Loop.accept(_:): the job may end, and this object be deallocated, before this thread has left the lock.
        let kept = retained()
        defer { release(kept) }
        switch jobs.add(UnownedJob(job), for: self) {
        // The common case: needs no loop.
        case .nothing: break
        // Without a loop its deinit is under way, and hands over the jobs later.
        case .postADrain: loop?.postDrain()
        case .callTheLastResort: LastResort.shared.serve(jobs, of: loop)
        }
    }

    // Not inlined: see JobQueue.retained().
    @inline(never)
    private func retained() -> Unmanaged<LoopTaskExecutor> { .passRetained(self) }
}

@inline(never)
private func release(_ executor: Unmanaged<LoopTaskExecutor>) { executor.release() }

extension Loop {
    /// The loop as a task's preferred executor: for `withTaskExecutorPreference` and `Task(executorPreference:)`.
    /// Always the same object. On any thread.
    public var taskExecutor: LoopTaskExecutor {
        lock.withLock {
            if let madeTaskExecutor { return madeTaskExecutor }
            let made = LoopTaskExecutor(self)
            madeTaskExecutor = made
            return made
        }
    }
}
