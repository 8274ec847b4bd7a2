#if DEBUG && !PLAIN_ATOMICS
    import ScheduleSeam

    @testable import RunLoopKit

    /// A thread that takes part, and runs tasks: one job after the other, in the order in which they come.
    ///
    /// Its threads run one at a time, so nothing here needs a lock. A job that comes is a point where threads meet.
    final class TaskThread: TaskExecutor, @unchecked Sendable {
        private var jobs: [UnownedJob] = []
        /// How many of its tasks have not ended.
        private(set) var rest = 0
        /// Whether more tasks may come.
        private var isKept = false
        /// Called on this thread when its last task ends.
        var whenIdle: () -> Void = {}
        /// Changes when a job comes.
        private let word = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
        private var isOver = false

        init() { word.initialize(to: 0) }

        deinit { word.deallocate() }

        /// Whether tasks can be played: where the mutexes of the runtime can be seen.
        static var isPlayable: Bool { schedule_seam_is_there() }

        /// What a process does before its first play. A task that waits for a mutex of the runtime lets others go on.
        static func prepare() {
            schedule_seam_set(
                { mutex in _ = Schedule.wait(at: mutex, while: mutex.load(as: UInt32.self)) },
                { mutex in Schedule.wake(at: mutex, atMost: .max) },
                { Findings.current?.found("A job has left for Swift's own threads.") })
        }

        /// Makes a task, which this thread runs.
        @discardableResult
        func task<Value: Sendable>(
            _ body: @escaping @Sendable () async throws -> Value
        ) -> Task<Value, any Error> {
            rest += 1
            return Task.detached(executorPreference: self) { [self] in
                defer {
                    rest -= 1
                    if rest == 0 { whenIdle() }
                }
                return try await body()
            }
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            Schedule.reach(.change(word))
            if isOver { Findings.current?.found("A job comes to a thread whose tasks have ended.") }
            jobs.append(job)
            word.pointee &+= 1
            Schedule.wake(at: word, atMost: 1)
        }

        /// Runs jobs even while it has no task, such as those of a limiter's action.
        func keep() { isKept = true }

        func letGo() {
            isKept = false
            word.pointee &+= 1
            Schedule.wake(at: word, atMost: 1)
        }

        /// Runs the jobs, on the calling thread, until all tasks have ended.
        func run() {
            while true {
                Schedule.reach(.load(word))
                if !jobs.isEmpty {
                    jobs.removeFirst().runSynchronously(on: asUnownedTaskExecutor())
                } else if rest == 0, !isKept {
                    return isOver = true
                } else {
                    _ = Schedule.wait(at: word, while: word.pointee)
                }
            }
        }
    }

    /// How a task's wait has ended, in words that can be compared.
    func outcome<Value>(_ wait: () async throws -> Value) async -> String {
        do {
            let value = try await wait()
            return "\(value)"
        } catch is CancellationError {
            return "cancelled"
        } catch {
            return "\(type(of: error))"
        }
    }
#endif
