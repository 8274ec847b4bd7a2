/// The unfinished pieces of work of a pool, and the callers that wait for them.
///
/// Blocks on the workers' loops retain this, not the pool, so a pool is deallocated with its last reference even while
/// work runs.
final class Workload: @unchecked Sendable {
    /// A piece of work. It is finished once, when it has run or never will.
    struct Piece {
        let worker: Int
        fileprivate let number: UInt64
    }

    /// A caller that waits until all pieces up to number `limit` are finished.
    private struct Drain {
        let id: UInt64
        let limit: UInt64
        /// The number of unfinished pieces of each worker.
        var remaining: [Int]

        var isOver: Bool { remaining.allSatisfy { $0 == 0 } }
        let answer: @Sendable () -> Void
    }

    private let policy: LoopThreadPool.Policy
    private let lock = Lock(.leaf)

    // Guarded by `lock`, and therefore without checks of exclusivity.
    /// The unfinished pieces of each worker.
    @exclusivity(unchecked) private var loads: [Int]
    /// The workers that have ended.
    @exclusivity(unchecked) private var hasEnded: [Bool]
    /// The worker that was picked last; nil before the first.
    @exclusivity(unchecked) private var last: Int?
    @exclusivity(unchecked) private var accepted: UInt64 = 0
    @exclusivity(unchecked) private var drains: [Drain] = []
    @exclusivity(unchecked) private var lastDrain: UInt64 = 0

    init(workers: Int, policy: LoopThreadPool.Policy) {
        loads = Array(repeating: 0, count: workers)
        hasEnded = Array(repeating: false, count: workers)
        self.policy = policy
    }

    /// Enters a piece for `worker`, or for the one that the policy picks.
    func begin(on worker: Int? = nil) -> Piece {
        lock.withLock {
            let chosen: Int
            if let worker {
                chosen = worker
            } else {
                chosen = pick()
                last = chosen
            }
            loads[chosen] += 1
            accepted += 1
            return Piece(worker: chosen, number: accepted)
        }
    }

    private func pick() -> Int {
        lock.assertHeld()
        let next = last.map { ($0 + 1) % loads.count } ?? 0
        guard policy == .leastLoaded else {
            return loads.indices.lazy.map { (next + $0) % self.loads.count }.first { !self.hasEnded[$0] } ?? next
        }
        if let last, isIdle(last) { return last }
        if let idle = loads.indices.first(where: isIdle) { return idle }
        // Begins with the worker whose turn it is, so that equals take turns.
        var chosen = next
        for offset in 1..<max(loads.count, 2) {
            let worker = (next + offset) % loads.count
            if hasEnded[chosen] || !hasEnded[worker] && loads[worker] < loads[chosen] { chosen = worker }
        }
        return chosen
    }

    private func isIdle(_ worker: Int) -> Bool { loads[worker] == 0 && !hasEnded[worker] }

    /// Passes over a worker from now on, since it has refused a piece: it has nothing to do, and so would get all.
    func noteEnd(of worker: Int) { lock.withLock { hasEnded[worker] = true } }

    func finish(_ piece: Piece) {
        let done = lock.withLock { () -> [Drain] in
            loads[piece.worker] -= 1
            guard !drains.isEmpty else { return [] }
            for index in drains.indices where piece.number <= drains[index].limit {
                drains[index].remaining[piece.worker] -= 1
            }
            let done = drains.filter(\.isOver)
            drains.removeAll(where: \.isOver)
            return done
        }
        for drain in done { drain.answer() }
    }

    /// The unfinished pieces of each worker.
    var unfinished: [Int] { lock.withLock { loads } }

    // MARK: Drains

    /// Calls `answer` once all pieces accepted so far are finished: before it returns if they are, on the thread of the
    /// last piece otherwise. Returns the drain's number for `giveUp(drain:)`.
    func whenFinished(_ answer: @escaping @Sendable () -> Void) -> UInt64 {
        let (id, isFinished) = lock.withLock {
            lastDrain += 1
            let drain = Drain(id: lastDrain, limit: accepted, remaining: loads, answer: answer)
            if !drain.isOver { drains.append(drain) }
            return (lastDrain, drain.isOver)
        }
        if isFinished { answer() }
        return id
    }

    /// The workers that a drain still waits for.
    func workers(awaitedBy drain: UInt64) -> [Int] {
        lock.withLock {
            guard let remaining = drains.first(where: { $0.id == drain })?.remaining else { return [] }
            return remaining.indices.filter { remaining[$0] > 0 }
        }
    }

    /// Gives up a drain. Returns whether it still waited: then its answer is not called.
    func giveUp(drain id: UInt64) -> Bool {
        lock.withLock { drains.firstIndex { $0.id == id }.map { drains.remove(at: $0) } } != nil
    }
}
