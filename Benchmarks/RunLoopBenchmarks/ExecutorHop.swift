import Foundation
import RunLoopKit

/// An actor calls another one, each on an executor of its own: two hops from thread to thread.
///
/// Where an executor is a thread, each hop has to wake the thread: compare on one CPU.
struct ExecutorHop: Scenario {
    let name = "executor-hop"
    let summary = "Two actors call each other from executor to executor: a loop's, a queue's, the default one."
    var others: [PeerHome] = []

    func run(_ effort: Effort) throws -> Outcome {
        let subjects: [any OperationSubject] =
            [
                Hops("default executor", Shared(), Shared()), Hops(Outcome.kit, try KitHome(), try KitHome()),
                Hops("RunLoopKit, spinning", try KitHome(spins: true), try KitHome(spins: true)),
                Hops("Dispatch queue", QueueHome(), QueueHome()),
            ] + (try others.map { Hops($0.name, try $0.make(), try $0.make()) })
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
    var others: [PeerHome] = []

    func run(_ effort: Effort) throws -> Outcome {
        let subjects: [any OperationSubject] =
            [
                Burst("default executor", Shared()), Burst(Outcome.kit, try KitHome()),
                Burst("Dispatch queue", QueueHome()),
            ] + (try others.map { Burst($0.name, try $0.make()) })
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) child tasks",
            rows: subjects.measured(name, effort), bare: "default executor")
    }
}

// MARK: Subjects

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
