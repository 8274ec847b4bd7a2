import Foundation

/// Lets a few tests run at a time, each on a thread that it may block.
///
/// Swift Testing starts all tests at once, on as many threads as there are processors. There a test that waits for a
/// program or for time keeps a processor idle, and one that awaits goes on behind all others. So a test waits for its
/// turn before it begins, and has threads beside those of the pool.
package final class TestTurns: @unchecked Sendable {
    /// The turns of the trait `timeBound`: enough to keep two processors busy while some tests wait.
    /// `RUNLOOPKIT_TEST_TURNS` has another number for a step of `scripts/check`.
    package static let shared = TestTurns(
        ProcessInfo.processInfo.environment["RUNLOOPKIT_TEST_TURNS"].flatMap { Int($0) } ?? 5)

    /// Whether the task has a turn already.
    @TaskLocal private static var hasTurn = false

    // Not Synchronization's Mutex, for which ThreadSanitizer reports false races.
    private let lock = NSLock()

    // Guarded by `lock`.
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    private let threads = BlockingThreads()

    /// - Parameter count: How many tests may run at a time.
    package init(_ count: Int) { free = count }

    /// Runs a test when its turn has come, or at once.
    package func run(atOnce: Bool = false, _ test: @Sendable () async throws -> Void) async throws {
        // Of a test with the trait twice, from its suite and from one around that.
        if Self.hasTurn { return try await test() }
        if !atOnce { await begin() }
        defer { if !atOnce { end() } }
        try await Self.$hasTurn.withValue(true) {
            try await withTaskExecutorPreference(threads) { try await test() }
        }
    }

    private func begin() async {
        await withCheckedContinuation { continuation in
            let isFree = lock.withLock { () -> Bool in
                guard free == 0 else {
                    free -= 1
                    return true
                }
                waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    private func end() {
        let next = lock.withLock { () -> CheckedContinuation<Void, Never>? in
            if waiting.isEmpty { free += 1 }
            return waiting.isEmpty ? nil : waiting.removeFirst()
        }
        next?.resume()
    }
}

/// Runs each job of a task on a thread that no other job has, so that jobs may block, even for each other.
private final class BlockingThreads: TaskExecutor, @unchecked Sendable {
    private let condition = NSCondition()

    // Guarded by `condition`.
    private var jobs: [UnownedJob] = []
    private var idle = 0

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        condition.lock()
        defer { condition.unlock() }
        jobs.append(job)
        if idle >= jobs.count { condition.signal() } else { Thread.detachNewThread { self.serve() } }
    }

    /// Runs jobs for ever.
    private func serve() -> Never {
        condition.lock()
        while true {
            while jobs.isEmpty {
                idle += 1
                condition.wait()
                idle -= 1
            }
            let job = jobs.removeFirst()
            condition.unlock()
            job.runSynchronously(on: asUnownedTaskExecutor())
            condition.lock()
        }
    }
}
