import Foundation
import RunLoopKit

/// A caller hands one job to a thread that stays alive, and waits for it: how much that saves over a thread for each
/// job.
struct KeepaliveJob: Scenario {
    let name = "keepalive-job"
    let summary = "A job is handed to a worker and waited for, beside a thread for each job."

    func run(_ effort: Effort) throws -> Outcome {
        let subjects: [any OperationSubject] = [
            ResponderJobs(), try LoopThreadJobs(), try AwaitedJobs(), try AwaitedPoolJobs(), CFRunLoopJobs(),
            DispatchAsyncJobs(), DispatchSyncJobs(),
            ThreadJobs(),
        ]
        return Outcome(
            scenario: name,
            title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) jobs",
            rows: subjects.measured(name, effort), bare: "eventfd, edge",
            notes: ["Dispatch, sync: the calling thread does the job itself."])
    }
}

/// Runs one job at a time and waits for it.
private protocol JobSubject: OperationSubject {
    var tally: Tally { get }

    /// Returns when `tally` has counted another job, on whichever thread.
    func doJob()
}

extension JobSubject {
    func measure(_ count: Int) -> Int64 {
        let before = tally.jobs
        let start = monotonicNow()
        for _ in 0..<count { doJob() }
        let elapsed = monotonicNow() - start
        precondition(tally.jobs == before + count, "\(name) did not do its jobs")
        return elapsed
    }
}

/// The job: it counts. Its caller waits for it, so that no two jobs count at once.
private final class Tally: @unchecked Sendable {
    private(set) var jobs = 0

    func doJob() { jobs += 1 }
}

/// The lower bound: a thread that waits on an eventfd and answers on another one.
private final class ResponderJobs: JobSubject {
    let name = "eventfd, edge"
    let tally: Tally
    private let responder: Responder<EdgeSignal>

    init() {
        let tally = Tally()
        self.tally = tally
        responder = Responder { tally.doJob() }
    }

    func doJob() { responder.ask() }
}

private final class LoopThreadJobs: JobSubject {
    let name = Outcome.kit
    let tally = Tally()
    private let worker: LoopThread

    init() throws { worker = try LoopThread(name: "worker") }

    func doJob() { try! worker.performAndWait { [tally] in tally.doJob() } }
}

/// A task awaits the job.
private final class AwaitedJobs: OperationSubject {
    let name = "RunLoopKit, awaited"
    private let tally = Tally()
    private let worker: LoopThread

    init() throws { worker = try LoopThread(name: "worker") }

    func measure(_ count: Int) -> Int64 {
        measured { [worker, tally] in for _ in 0..<count { try! await worker.run { tally.doJob() } } }
    }
}

/// A task awaits the job of the least loaded of two threads.
private final class AwaitedPoolJobs: OperationSubject {
    let name = "RunLoopKit, pool"
    private let tally = Tally()
    private let pool: LoopThreadPool

    init() throws { pool = try LoopThreadPool(count: 2) }

    func measure(_ count: Int) -> Int64 {
        measured { [pool, tally] in for _ in 0..<count { try! await pool.run { tally.doJob() } } }
    }
}

private final class CFRunLoopJobs: JobSubject {
    let name = "CFRunLoop"
    let tally = Tally()
    private let worker = CFThread()
    private let isDone = DispatchSemaphore(value: 0)

    func doJob() {
        worker.perform { [tally, isDone] in
            tally.doJob()
            isDone.signal()
        }
        isDone.wait()
    }
}

private final class DispatchAsyncJobs: JobSubject {
    let name = "Dispatch, async"
    let tally = Tally()
    private let queue = DispatchQueue(label: "worker")
    private let isDone = DispatchSemaphore(value: 0)

    func doJob() {
        queue.async { [tally, isDone] in
            tally.doJob()
            isDone.signal()
        }
        isDone.wait()
    }
}

private final class DispatchSyncJobs: JobSubject {
    let name = "Dispatch, sync"
    let tally = Tally()
    private let queue = DispatchQueue(label: "worker")

    func doJob() { queue.sync { tally.doJob() } }
}

private final class ThreadJobs: JobSubject {
    let name = "a thread for each job"
    let tally = Tally()

    func doJob() { PlainThread { [tally] in tally.doJob() }.join() }
}
