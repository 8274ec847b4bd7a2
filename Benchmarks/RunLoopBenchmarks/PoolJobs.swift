import Foundation
import RunLoopKit
import Synchronization

/// Jobs handed to a pool with a thread for each CPU, as fast as one thread can, until all are done.
struct PoolJobs: Scenario {
    let name = "pool-jobs"
    let summary = "20,000 jobs handed to a pool of threads, until all are done."
    /// Peers that are not in the toolchain.
    let others: @Sendable () throws -> [any JobPool]

    init(others: @escaping @Sendable () throws -> [any JobPool] = { [] }) { self.others = others }

    func run(_ effort: Effort) throws -> Outcome {
        let effort = effort.pool
        let pools: [any JobPool] = [ListPool(), try KitPool(), DispatchPool()] + (try others())
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) jobs",
            rows: (pools.map { PoolOperation($0) as any OperationSubject } + [try MapOperation()])
                .measured(name, effort), bare: "list",
            notes: [
                "For each job, from the first one's handing over until the last one is done.",
                "list: a mutex, an array and a condition variable; a thread takes one job at a time.",
            ])
    }
}

protocol JobPool: AnyObject, Sendable {
    var name: String { get }
    func perform(_ job: @escaping @Sendable () -> Void)
}

extension Effort {
    fileprivate var pool: Effort {
        Effort(
            timerRounds: timerRounds, periodsPerRound: periodsPerRound, operationRounds: operationRounds / 2,
            operationsPerRound: operationsPerRound * 40)
    }
}

/// How many threads a pool has.
var poolSize: Int { allowedCPUs().count }

private final class PoolOperation: OperationSubject {
    let name: String
    private let pool: any JobPool
    private let left = Left()

    private final class Left: Sendable {
        let count = Atomic<Int>(0)
        let isNone = DispatchSemaphore(value: 0)

        func doJob() { if count.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { isNone.signal() } }
    }

    init(_ pool: any JobPool) { (name, self.pool) = (pool.name, pool) }

    func measure(_ count: Int) -> Int64 {
        left.count.store(count, ordering: .releasing)
        let job: @Sendable () -> Void = { [left] in left.doJob() }
        let start = monotonicNow()
        for _ in 0..<count { pool.perform(job) }
        left.isNone.wait()
        return monotonicNow() - start
    }
}

/// Each worker takes the next job when it has done one.
private final class MapOperation: OperationSubject {
    let name = "RunLoopKit, map"
    private let pool: LoopThreadPool

    init() throws { pool = try LoopThreadPool(count: poolSize, options: .init(name: "map")) }

    func measure(_ count: Int) -> Int64 {
        let isDone = DispatchSemaphore(value: 0)
        let jobs = Array(0..<count)
        let start = monotonicNow()
        Task { [pool] in
            _ = try! await pool.map(jobs) { $0 }
            isDone.signal()
        }
        isDone.wait()
        return monotonicNow() - start
    }
}

/// The least that a pool does.
private final class ListPool: JobPool, @unchecked Sendable {
    let name = "list"
    private let condition = NSCondition()
    private var jobs: [@Sendable () -> Void] = []
    private var isOver = false
    private var threads: [PlainThread] = []

    init() {
        threads = (0..<poolSize).map { _ in PlainThread { [unowned(unsafe) self] in while let job = next() { job() } } }
    }

    deinit {
        condition.lock()
        isOver = true
        condition.broadcast()
        condition.unlock()
        for thread in threads { thread.join() }
    }

    func perform(_ job: @escaping @Sendable () -> Void) {
        condition.lock()
        jobs.append(job)
        condition.signal()
        condition.unlock()
    }

    private func next() -> (@Sendable () -> Void)? {
        condition.lock()
        defer { condition.unlock() }
        while jobs.isEmpty, !isOver { condition.wait() }
        return jobs.popLast()
    }
}

private final class KitPool: JobPool {
    let name = Outcome.kit
    private let pool: LoopThreadPool

    init() throws { pool = try LoopThreadPool(count: poolSize) }

    func perform(_ job: @escaping @Sendable () -> Void) { pool.perform(job) }
}

private final class DispatchPool: JobPool {
    let name = "Dispatch"
    private let queue = DispatchQueue(label: "pool", attributes: .concurrent)

    func perform(_ job: @escaping @Sendable () -> Void) { queue.async(execute: job) }
}
