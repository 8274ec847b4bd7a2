import Synchronization

/// The jobs that Swift concurrency has enqueued on a loop and that have not begun.
///
/// Jobs of higher priority come first, those of one priority in the order of their arrival. The first job posts a
/// drain, and no other job does until a drain has found the queue empty. So a burst of jobs costs one block and at most
/// one wake-up.
final class JobQueue: @unchecked Sendable {
    struct Job {
        let job: UnownedJob
        /// Nil for a job of an actor on the loop. Retained, since the job can outlive the task that holds the only
        /// other reference.
        let taskExecutor: LoopTaskExecutor?
        let turn: UInt64
        /// The number of the handover; 0 if no monitor is notified of it.
        let number: UInt64
    }

    /// What the caller must do about a job that it has added.
    enum Consequence { case nothing, postADrain, callTheLastResort }

    /// The loop's: an executor may outlive the loop.
    private let waker: Waker
    private let lock = Lock(.leaf)

    /// The block that is posted as a drain. Set once, by the loop that owns the queue.
    @exclusivity(unchecked) var drainBlock: @Sendable () -> Void = {}

    /// Changed with the lock held. Relaxed: a thread that has added a job, or learned of that, counts it.
    private let jobCount = Atomic<Int>(0)

    // Guarded by `lock`, and therefore without checks of exclusivity.

    /// The jobs of each priority, the highest first.
    @exclusivity(unchecked) private var levels = InlineArray<5, RingQueue<Job>> { _ in RingQueue() }
    /// A bit for each level that is not empty, the lowest for the highest priority.
    @exclusivity(unchecked) private var presentLevels: UInt8 = 0
    @exclusivity(unchecked) private var lastTurn: UInt64 = 0
    @exclusivity(unchecked) private var actorsJobs = 0
    /// The number of jobs taken since the queue was last empty.
    @exclusivity(unchecked) private var takenInARow = 0
    /// Whether a drain is posted that a run may see, or runs; for an ended loop, whether the queue waits for the last
    /// resort.
    @exclusivity(unchecked) private var isScheduled = false
    @exclusivity(unchecked) private var hasComplained = false
    @exclusivity(unchecked) private var isOrphaned = false

    /// Whether the loop has ended, so that its thread no longer runs its jobs.
    var hasLostItsThread: Bool { lock.withLock { isOrphaned } }

    init(of waker: Waker) { self.waker = waker }

    // MARK: Adding and taking

    /// - Parameter willHaveConsequence: Called if the caller has to do something, while no thread can take the job.
    @inline(__always)
    func add(
        _ job: UnownedJob, for taskExecutor: LoopTaskExecutor?, _ willHaveConsequence: () -> Void = {}
    ) -> Consequence {
        let level = JobQueue.level(of: job.priority)
        let number = Monitors.areAttached && waker.monitors.wantHandovers ? waker.turns.next() : 0
        // Before the job can run.
        if number != 0 { waker.monitors.notify { $0.handedOver(Handover(ofJob: number)) } }
        lock.lock()
        defer { lock.unlock() }
        lastTurn += 1
        if taskExecutor == nil { actorsJobs += 1 }
        levels[level].append(Job(job: job, taskExecutor: taskExecutor, turn: lastTurn, number: number))
        countJobs(1)
        presentLevels |= 1 << level
        guard !isScheduled else { return .nothing }
        isScheduled = true
        willHaveConsequence()
        return isOrphaned ? .callTheLastResort : .postADrain
    }

    /// The next job; nil when there is none, which ends the drain.
    func take() -> Job? {
        lock.lock()
        defer { lock.unlock() }
        guard presentLevels != 0 else {
            isScheduled = false
            takenInARow = 0
            return nil
        }
        takenInARow += 1
        // Every so often the oldest job runs, whatever its priority.
        let isForTheOldest = takenInARow % Loop.jobsPerDrain == 0
        return remove(from: isForTheOldest ? levelOfOldest : presentLevels.trailingZeroBitCount)
    }

    @inline(__always)
    private func remove(from level: Int) -> Job {
        lock.assertHeld()
        let job = levels[level].removeFirst()
        if levels[level].isEmpty { presentLevels &= ~(1 << level) }
        countJobs(-1)
        if job.taskExecutor == nil { actorsJobs -= 1 }
        return job
    }

    /// Forgets a posted drain that the innermost run does not see: the next job posts another. Returns whether jobs
    /// wait already, for which the caller posts one.
    func forgetDrain() -> Bool {
        lock.withLock {
            guard isScheduled, !isOrphaned else { return false }
            isScheduled = presentLevels != 0
            return isScheduled
        }
    }

    /// The turn of the job that arrived last.
    var turnOfLast: UInt64 { lock.withLock { lastTurn } }

    /// The next of the jobs that had arrived by a turn, by priority; nil when there is none.
    func take(arrivedBy last: UInt64) -> Job? {
        lock.withLock {
            for level in levels.indices where !levels[level].isEmpty && levels[level].first.turn <= last {
                return remove(from: level)
            }
            return nil
        }
    }

    /// The number of jobs in the queue. From any thread, without the lock.
    var count: Int { jobCount.load(ordering: .relaxed) }

    // MARK: The end

    /// Hands the present and all future jobs to the last resort. Returns the number of present ones; 0 in later calls.
    func orphan() -> Int {
        lock.withLock {
            guard !isOrphaned else { return 0 }
            isOrphaned = true
            // The loop's end has dropped a posted drain.
            isScheduled = count > 0
            return count
        }
    }

    /// Whether jobs of actors on the loop wait. Only the loop may run them.
    var hasActorsJobs: Bool { lock.withLock { actorsJobs > 0 } }

    /// Whether the use of the last resort is still to be reported. True once.
    func takeComplaint() -> Bool {
        lock.withLock {
            defer { hasComplained = true }
            return !hasComplained
        }
    }

    // MARK: Inside

    private func countJobs(_ change: Int) {
        lock.assertHeld()
        jobCount.store(jobCount.load(ordering: .relaxed) + change, ordering: .relaxed)
    }

    /// The level of the job that arrived first. The queue is not empty.
    private var levelOfOldest: Int {
        lock.assertHeld()
        var (oldest, firstTurn) = (0, UInt64.max)
        for level in levels.indices where !levels[level].isEmpty && levels[level].first.turn < firstTurn {
            (oldest, firstTurn) = (level, levels[level].first.turn)
        }
        return oldest
    }

    /// The named priorities, highest first. A value between two counts as the lower one.
    private static func level(of priority: JobPriority) -> Int {
        switch priority.rawValue {
        case 33...: 0  // user-interactive
        case 25...: 1  // user-initiated, high
        case 21..., 0: 2  // medium, unspecified
        case 17...: 3  // utility, low
        default: 4  // background
        }
    }
}
