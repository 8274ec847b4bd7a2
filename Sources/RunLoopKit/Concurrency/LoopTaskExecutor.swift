/// Where a task's code runs that belongs to no actor, when the task prefers a loop: on the loop's thread.
///
/// ```swift
/// let worker = try LoopThread(name: "worker")
/// await withTaskExecutorPreference(worker.loop.taskExecutor) {
///     print(worker.isCurrent)  // true
/// }
/// ```
///
/// Functions of actors that have no executor of their own run there too, for this task. Jobs of a task executor and of
/// actors on the same loop are one queue: see the loop's conformance to `SerialExecutor`, also for what happens when
/// the loop ends.
///
/// *With an actor on the loop.* Swift enqueues a task that prefers any executor again at every `await` inside an actor with
/// an executor of its own, also if both are the same loop, and also at `withCheckedContinuation`: other jobs of the
/// actor may run before its body does. What belongs together must not have an `await` in between.
///
/// Get it from `Loop.taskExecutor`. It does not retain its loop; Swift retains it for as long as a task prefers it. The
/// loop's thread is kept going by its `LoopThread` alone.
public final class LoopTaskExecutor: TaskExecutor {
    // A type of its own, since one that is both kinds of executor costs an enqueue for every call that leaves an actor.

    // Weak, or a task that waits for a loop would keep it alive, also when nobody is left who could run it.
    private weak let loop: Loop?
    private let jobs: JobQueue

    fileprivate init(_ loop: Loop) {
        self.loop = loop
        jobs = loop.jobs
    }

    /// Takes a job of a task that prefers the loop. Called by Swift, from any thread; never refused.
    public func enqueue(_ job: consuming ExecutorJob) {
        // As in Loop.accept(_:): the job may be over, and this object gone, before this thread has left the lock.
        let kept = retained()
        defer { release(kept) }
        switch jobs.add(UnownedJob(job), for: self) {
        // Most often: so the loop is not looked for before.
        case .nothing: break
        // Without a loop the job is for its deinit, which has not come to its jobs yet.
        case .postADrain: loop?.postDrain()
        case .callTheLastResort: LastResort.shared.serve(jobs, of: loop)
        }
    }

    // Not inlined: see Loop.retained().
    @inline(never)
    private func retained() -> Unmanaged<LoopTaskExecutor> { .passRetained(self) }
}

@inline(never)
private func release(_ executor: Unmanaged<LoopTaskExecutor>) { executor.release() }

extension Loop {
    /// The loop as a task's preferred executor: for `withTaskExecutorPreference` and `Task(executorPreference:)`. Always
    /// the same object. From any thread.
    public var taskExecutor: LoopTaskExecutor {
        lock.withLock {
            if let madeTaskExecutor { return madeTaskExecutor }
            let made = LoopTaskExecutor(self)
            madeTaskExecutor = made
            return made
        }
    }
}
