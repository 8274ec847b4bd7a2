/// Loops of threads of Swift concurrency that have work and have never run, and the thread that checks after two
/// seconds whether they have run. The thread exists only as long as there are such loops.
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
        let deadline: Int64
    }

    private let start: Start
    private let lock = Lock(.leaf)
    // Guarded by `lock`.
    private var entries: [Entry] = []
    private var hasThread = false

    /// Looks at `loop` later, since it has got its first work. If the thread cannot be started, the next loop tries
    /// again, for all loops that wait.
    func watch(_ loop: Loop, for item: String) {
        let needsThread = lock.withLock {
            entries.append(
                Entry(loop: loop, item: item, deadline: System.monotonicNanoseconds() + UnrunLoops.patience))
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
            Mistakes.shared.report(.loopThatNeverRuns(item: entry.item))
        }
    }
}

extension Loop {
    /// Whether a run has made the loop's descriptors.
    var hasEverRun: Bool { waker.descriptor >= 0 }

    /// Called when the loop has got work. `item` is evaluated for the first work only, of a loop that may never run.
    @inline(__always)
    func watchIfUnrun(_ item: @autoclosure () -> String) {
        if isOfTaskThread, !hasEverRun { watch(item()) }
    }

    @inline(never)
    private func watch(_ item: String) {
        // Relaxed: the exchange decides which thread enters the loop.
        guard !isWatchedAsUnrun.exchange(true, ordering: .relaxed) else { return }
        UnrunLoops.shared.watch(self, for: item)
    }
}
