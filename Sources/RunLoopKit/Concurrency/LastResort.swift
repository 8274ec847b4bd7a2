/// The thread that runs the jobs of loops that have ended: one for the process, made when first needed.
///
/// Swift gives an executor no way to refuse a job, and dropping one would leave its task suspended for ever.
final class LastResort: @unchecked Sendable {
    static let shared = LastResort()

    private let lock = Lock()
    private let changed = Condition()

    // Guarded by `lock`.
    private var waiting = FirstInFirstOut<Loop>()
    private var hasThread = false

    /// Runs the jobs that wait for a loop, which stays alive until then.
    func serve(_ loop: Loop) {
        if loop.jobs.takeComplaint() {
            System.complain(
                "RunLoopKit: jobs of Swift concurrency were handed to a loop that has ended; they run on a thread of last resort, not on "
                    + "the loop's. An actor on a loop has to hold its LoopThread, and is done before that is stopped. (Said once "
                    + "for each loop.)")
        }
        let needsThread = lock.withLock {
            waiting.append(loop)
            defer { hasThread = true }
            return !hasThread
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
        while true {
            let loop = next()
            thread.standsInFor = loop
            let hasMore = loop.runJobs(upTo: Loop.jobsPerDrain)
            thread.standsInFor = nil
            if hasMore { lock.withLock { waiting.append(loop) } }
        }
    }

    private func next() -> Loop {
        lock.withLock {
            while true {
                if let loop = waiting.takeFirst() { return loop }
                changed.wait(with: lock)
            }
        }
    }
}
