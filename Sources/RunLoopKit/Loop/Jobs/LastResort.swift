/// The thread that runs the jobs of ended loops: one for the process, made when first needed. While it is busy, other
/// threads join it: a job that blocks must not delay the jobs of other loops.
///
/// Swift gives an executor no way to refuse a job, and dropping one would leave its task suspended for ever.
final class LastResort: @unchecked Sendable {
    private static let ofProcess = OnePerProcess { _ in LastResort() }
    static var shared: LastResort { ofProcess.object }

    private struct Orphans {
        let jobs: JobQueue
        /// Kept alive until its jobs have run. Nil if it was deallocated before.
        let loop: Loop?
    }

    private let lock = Lock(.leaf)
    private let changed = Condition()

    // Guarded by `lock`.
    @exclusivity(unchecked) private var waiting = RingQueue<Orphans>()
    /// Whether a thread waits for work. One is enough: others end.
    private var isIdle = false

    /// Runs the jobs that wait for a loop, and retains the loop, if it is alive, until they have run.
    func serve(_ jobs: JobQueue, of loop: Loop?) {
        if jobs.takeComplaint() { Mistakes.shared.report(.jobsOfEndedLoop(thread: loop?.threadName)) }
        let needsThread = lock.withLock {
            waiting.append(Orphans(jobs: jobs, loop: loop))
            defer { isIdle = false }
            return !isIdle
        }
        changed.broadcast()
        guard needsThread else { return }
        do throws(LoopError) {
            System.detach(try System.startThread(stackSize: nil) { self.main() })
        } catch {
            fatalError("RunLoopKit: there is no thread of last resort for the jobs of an ended loop: \(error)")
        }
    }

    private func main() {
        System.nameThread("last resort")
        let thread = ThreadLoops.current
        while let orphans = next() {
            thread.standsInFor = orphans.loop
            let hasMore = orphans.jobs.take(upTo: Loop.jobsPerDrain) { job in
                if let loop = orphans.loop { loop.runJob(job) } else { loopIsRunningAJob(job, of: nil) }
                return true
            }
            thread.standsInFor = nil
            // After the others. A queue either waits here or is with one thread, so its jobs run one after the other.
            if hasMore { lock.withLock { waiting.append(orphans) } }
        }
    }

    private func next() -> Orphans? {
        lock.withLock {
            while true {
                if !waiting.isEmpty { return waiting.removeFirst() }
                guard !isIdle else { return nil }
                isIdle = true
                while isIdle { changed.wait(with: lock) }
            }
        }
    }
}
