import Foundation
import RunLoopKit

/// The owner of an actor's executor; nil for the default executor.
protocol Home: Sendable {
    var executor: UnownedSerialExecutor? { get }
    var taskExecutor: (any TaskExecutor)? { get }
}

/// An executor of a peer that is not in the toolchain.
typealias PeerHome = (name: String, make: @Sendable () throws -> any Home)

struct Shared: Home {
    var executor: UnownedSerialExecutor? { nil }
    var taskExecutor: (any TaskExecutor)? { nil }
}

struct KitHome: Home {
    let thread: LoopThread

    init(spins: Bool = false) throws {
        thread = try LoopThread(name: "home")
        if spins { thread.loop.spinDuration = .microseconds(50) }
    }

    var executor: UnownedSerialExecutor? { thread.loop.asUnownedSerialExecutor() }
    var taskExecutor: (any TaskExecutor)? { thread.loop.taskExecutor }
}

/// A typical executor on a Dispatch queue.
final class QueueHome: Home, SerialExecutor {
    private let queue = DispatchQueue(label: "home")
    private let tasks: QueueTaskExecutor

    init() { tasks = QueueTaskExecutor(queue) }

    var executor: UnownedSerialExecutor? { asUnownedSerialExecutor() }
    var taskExecutor: (any TaskExecutor)? { tasks }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

private final class QueueTaskExecutor: TaskExecutor {
    private let queue: DispatchQueue
    init(_ queue: DispatchQueue) { self.queue = queue }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

// MARK: Actors

protocol Player: Actor {
    var calls: Int { get set }
}

private actor Plain: Player {
    var calls = 0
}

private actor Resident: Player {
    private let home: any Home
    nonisolated let unownedExecutor: UnownedSerialExecutor
    var calls = 0

    init(_ home: any Home, _ executor: UnownedSerialExecutor) {
        self.home = home
        unownedExecutor = executor
    }
}

extension Home {
    func makePlayer() -> any Player { executor.map { Resident(self, $0) } ?? Plain() }
}

extension Player {
    func call() { calls += 1 }

    /// Hops to the other actor and back. It accesses its own state each time, so that it has to come back.
    func call(_ other: any Player, _ count: Int) async {
        for _ in 0..<count {
            await other.call()
            calls += 1
        }
    }
}

// MARK: Tasks

/// Runs a task from an otherwise idle thread, and returns the duration that the task reports.
func measured(
    preferring executor: (any TaskExecutor)? = nil, _ body: @escaping @Sendable () async -> Void
) -> Int64 {
    final class Result: @unchecked Sendable { var elapsed: Int64 = 0 }
    let (result, isDone) = (Result(), DispatchSemaphore(value: 0))
    Task.detached(executorPreference: executor) {
        let start = monotonicNow()
        await body()
        result.elapsed = monotonicNow() - start
        isDone.signal()
    }
    isDone.wait()
    return result.elapsed
}
