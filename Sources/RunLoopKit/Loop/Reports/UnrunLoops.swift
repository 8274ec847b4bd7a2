/// Loops that have work and have never run, and the thread that checks after two seconds whether they have run. The
/// thread exists only as long as there are such loops.
///
/// They are the loops of threads of Swift concurrency, with any work; and the main loop with a limiter's call, which a
/// program forgets to run most easily, since its leading actions do not need that.
final class UnrunLoops: @unchecked Sendable {
    private static let ofProcess = OnePerProcess { _ in UnrunLoops() }
    static var shared: UnrunLoops { ofProcess.object }

    /// How long a loop may have work before it first runs.
    static let patience: Int64 = 2_000_000_000

    /// Starts a thread, to be detached.
    typealias Start = @Sendable (_ body: @escaping @Sendable () -> Void) throws(LoopError) -> CThread

    init(
        start: @escaping Start = { body throws(LoopError) in try System.startThread(stackSize: nil, body) }
    ) {
        self.start = start
    }

    private struct Entry {
        @LightWeak var loop: Loop?
        let item: String
        var deadline: Int64
        /// The timer of the limiter's call that is watched, if one is; without the call it has no fire time.
        @LightWeak var timer: Loop.Timer?
        let isOfCall: Bool
    }

    private let start: Start
    private let lock = Lock(.leaf)
    // Guarded by `lock`.
    private var entries: [Entry] = []
    private var hasThread = false

    /// Looks at `loop` later, since it has got its first work. If the thread cannot be started, the next loop tries
    /// again, for all loops that wait.
    ///
    /// - Parameter timer: Acts on a limiter's call, if that is the work: it must have been due for two seconds.
    func watch(_ loop: Loop, for item: String, timer: Loop.Timer? = nil) {
        let needsThread = lock.withLock {
            entries.append(
                Entry(
                    loop: loop, item: item, deadline: System.monotonicNanoseconds() + UnrunLoops.patience,
                    timer: timer, isOfCall: timer != nil))
            defer { hasThread = true }
            return !hasThread
        }
        guard needsThread else { return }
        do throws(LoopError) {
            System.detach(try start { self.main() })
        } catch {
            lock.withLock { hasThread = false }
        }
    }

    private func main() {
        System.nameThread("unrun loops")
        while let deadline = nextDeadline() {
            System.sleep(until: deadline)
            check(at: System.monotonicNanoseconds())
        }
    }

    /// Nil if no loop is left: the thread then ends.
    private func nextDeadline() -> Int64? {
        lock.withLock {
            hasThread = !entries.isEmpty
            return entries.map(\.deadline).min()
        }
    }

    /// Reports the loops that have not run in time.
    func check(at now: Int64) {
        let due = lock.withLock { () -> [Entry] in
            defer { entries.removeAll { $0.deadline <= now } }
            return entries.filter { $0.deadline <= now }
        }
        for entry in due {
            guard let loop = entry.loop, !loop.hasEverRun, !loop.hasEnded else { continue }
            if entry.isOfCall, !waits(entry, in: loop, at: now) { continue }
            Mistakes.shared.report(
                loop.isMain ? .mainLoopThatNeverRuns(item: entry.item) : .loopThatNeverRuns(item: entry.item))
        }
    }

    /// Whether the call that is watched has been due for long enough. A call that has moved is watched on; one that has
    /// gone makes room for the next.
    private func waits(_ entry: Entry, in loop: Loop, at now: Int64) -> Bool {
        guard let time = entry.timer?.pendingTime else {
            loop.watchNextCall()
            return false
        }
        let deadline = time.addingSaturating(UnrunLoops.patience)
        if deadline <= now { return true }
        var entry = entry
        entry.deadline = deadline
        lock.withLock { entries.append(entry) }
        return false
    }
}

extension Loop.Timer {
    /// When it fires, on the monotonic clock; nil if it does not.
    fileprivate var pendingTime: Int64? { nextFireTime?.nanoseconds }
}

extension Loop {
    /// Whether a run has made the loop's descriptors.
    var hasEverRun: Bool { waker.descriptor >= 0 }

    /// Called when the loop has got work. `item` is evaluated for the first work only, of a loop that may never run.
    @inline(__always)
    func watchIfUnrun(_ item: @autoclosure () -> String) {
        if isOfTaskThread, isUnwatchedAndUnrun { watch(item()) }
    }

    /// The same for a limiter's call on the main loop, and the timer that acts on it, if one does: see `TimerPool`.
    @inline(__always)
    func watchCallIfUnrun(_ limiter: @autoclosure () -> String, timer: Timer?) {
        if isUnwatchedAndUnrun, isMain { watch(limiter(), timer) }
    }

    /// Whether the loop has never run, and is not watched for it. Relaxed, as in `watch`, which looks again.
    @inline(__always)
    private var isUnwatchedAndUnrun: Bool { !hasEverRun && !isWatchedAsUnrun.load(ordering: .relaxed) }

    @inline(never)
    private func watch(_ item: String, _ timer: Timer? = nil) {
        // Relaxed: the exchange decides which thread enters the loop.
        guard !isWatchedAsUnrun.exchange(true, ordering: .relaxed) else { return }
        UnrunLoops.shared.watch(self, for: item, timer: timer)
    }
}
