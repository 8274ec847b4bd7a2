import Foundation
import RunLoopKit

/// An actor calls another one, each on an executor of its own: two hops from thread to thread.
///
/// Where an executor is a thread, each hop has to wake the thread: compare on one CPU.
struct ExecutorHop: Scenario {
    let name = "executor-hop"
    let summary = "Two actors call each other from executor to executor: a loop's, a queue's, the default one."

    func run(_ effort: Effort) throws -> Outcome {
        let subjects: [any OperationSubject] = [
            Hops("default executor", Shared(), Shared()), Hops(Outcome.kit, try KitHome(), try KitHome()),
            Hops("Dispatch queue", QueueHome(), QueueHome()),
        ]
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) calls",
            rows: subjects.measured(name, effort), bare: "default executor",
            notes: [
                "default executor: both actors run on the task's own thread, "
                    + "so no thread is woken and nothing enqueued."
            ])
    }
}

/// A task makes child tasks that prefer its executor: the cost of making them, handing them to the executor and running
/// them, without waking a thread.
struct ExecutorBurst: Scenario {
    let name = "executor-burst"
    let summary = "A task on an executor makes child tasks there, many at once, and awaits them."

    func run(_ effort: Effort) throws -> Outcome {
        let subjects: [any OperationSubject] = [
            Burst("default executor", Shared()), Burst(Outcome.kit, try KitHome()),
            Burst("Dispatch queue", QueueHome()),
        ]
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) child tasks",
            rows: subjects.measured(name, effort), bare: "default executor")
    }
}

// MARK: Executors

/// The owner of an actor's executor; nil for the default executor.
private protocol Home: Sendable {
    var executor: UnownedSerialExecutor? { get }
    var taskExecutor: (any TaskExecutor)? { get }
}

private struct Shared: Home {
    var executor: UnownedSerialExecutor? { nil }
    var taskExecutor: (any TaskExecutor)? { nil }
}

private struct KitHome: Home {
    let thread: LoopThread
    init() throws { thread = try LoopThread(name: "home") }
    var executor: UnownedSerialExecutor? { thread.loop.asUnownedSerialExecutor() }
    var taskExecutor: (any TaskExecutor)? { thread.loop.taskExecutor }
}

/// A typical executor on a Dispatch queue.
private final class QueueHome: Home, SerialExecutor {
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

private protocol Player: Actor {
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
    fileprivate func makePlayer() -> any Player { executor.map { Resident(self, $0) } ?? Plain() }
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

// MARK: Subjects

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

private final class Hops: OperationSubject {
    let name: String
    private let near: any Player
    private let far: any Player

    init(_ name: String, _ near: any Home, _ far: any Home) {
        self.name = name
        self.near = near.makePlayer()
        self.far = far.makePlayer()
    }

    func measure(_ count: Int) -> Int64 { measured { [near, far] in await near.call(far, count) } }
}

private final class Burst: OperationSubject {
    let name: String
    private let home: any Home

    init(_ name: String, _ home: any Home) {
        self.name = name
        self.home = home
    }

    func measure(_ count: Int) -> Int64 {
        measured(preferring: home.taskExecutor) {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<count { group.addTask {} }
                await group.waitForAll()
            }
        }
    }
}
