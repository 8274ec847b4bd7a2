/// The unfinished pieces of work of a pool, and the callers that wait for them.
///
/// A piece either belongs to a worker from the beginning, or waits in one queue, from which a free worker takes it.
///
/// A worker takes from the queue when it is called, by a block on its loop (`PoolShift`).
///
/// 1. A thread that adds a piece calls a free worker, unless enough idle workers are called already. If no worker is
///    free, the thread calls every worker that is not called, since some of them may run their loops nested.
/// 2. A call begins and takes its first piece under one lock. So does a worker finish a piece and take the next one, or
///    leave. It leaves pieces behind only if it has been called again.
/// 3. A call counts only as long as every run of the loop may find it. A run that begins inside a block does not see
///    what was posted before the block (see `BlockStep`): the worker counts as not called from then on, and calls
///    itself if pieces wait.
/// 4. A called worker that gets a piece of its own may have it before the call: it is made up for as in 1.
///
/// Blocks on the workers' loops retain this, not the pool, so a pool is deallocated with its last reference even while
/// work runs.
final class Workload: @unchecked Sendable {
    /// A piece of work that belongs to a worker. It is finished once, when it has run or never will.
    struct Piece {
        let worker: Int
        fileprivate let number: UInt64
    }

    /// A piece of work in the queue.
    struct WaitingPiece {
        let number: UInt64
        let place: Place
        let body: @Sendable () -> Void
        /// Nil if the worker that runs the body finishes the piece.
        let ticket: Ticket?
    }

    /// A piece of the queue that is finished by its reply: it may be withdrawn while it waits.
    final class Ticket: @unchecked Sendable {
        // Guarded by the lock of the workload.
        /// 0 until the piece is in the queue.
        @exclusivity(unchecked) fileprivate var number: UInt64 = 0
        /// Nil until a worker takes it.
        @exclusivity(unchecked) fileprivate var worker: Int?
        @exclusivity(unchecked) fileprivate var isFinished = false
    }

    /// The workers to call after a change of the queue: the caller of the function that returns this calls them, once
    /// it does not hold the lock.
    enum Calls {
        case nobody
        case one(Int)
        case several([Int])
    }

    /// What a worker does next.
    struct Step {
        /// Nil if it leaves the queue.
        var piece: WaitingPiece?
        /// Those that its last piece has ended.
        fileprivate var drains: [Drain] = []
        /// Whether it calls itself, since it leaves pieces in the queue.
        var callsItself = false
        /// Whether the pool is stopped. Then the workers' loops take no pieces as blocks of their own.
        var isStopped = false

        /// Calls back. Not under the lock.
        @inline(__always)
        func answerDrains() { if !drains.isEmpty { for drain in drains { drain.answer() } } }
    }

    private struct Worker {
        /// The unfinished pieces that belong to it: those that it has taken from the queue, too.
        var load = 0
        /// Its calls that have not begun. Some are posted a moment later.
        var calls = 0
        /// Whether one of its calls is where every run of its loop finds it.
        var isCalled = false
        /// Its calls that run. More than one if a piece runs the loop nested.
        var shifts = 0
        /// Whether it has refused a piece or a call.
        var hasEnded = false

        var isFree: Bool { load == 0 && !isCalled && !hasEnded }

        /// Whether it is called, and has nothing else to do first.
        var isComing: Bool { load == 0 && isCalled && !hasEnded }
    }

    /// A caller that waits until all pieces up to number `limit` are finished.
    fileprivate struct Drain {
        let id: UInt64
        let limit: UInt64
        /// The number of unfinished pieces of each worker, and of those in the queue.
        var remaining: [Int]
        var waiting: Int

        var isOver: Bool { waiting == 0 && remaining.allSatisfy { $0 == 0 } }
        let answer: @Sendable () -> Void
    }

    /// How many pieces a worker takes in one block at most. So its loop comes around to its timers and sources.
    static let piecesPerShift = 32

    let policy: LoopThreadPool.Policy
    /// The workers' loops. They retain this by their blocks, which they drop when they end.
    let loops: [Loop]
    private let lock = Lock(.leaf)

    // Guarded by `lock`, and therefore without checks of exclusivity.
    @exclusivity(unchecked) private var workers: [Worker]
    /// The workers that have not ended.
    @exclusivity(unchecked) private var left: Int
    /// Those of them that have not been called.
    @exclusivity(unchecked) private var uncalled: Int
    /// The worker that was picked last; nil before the first.
    @exclusivity(unchecked) private var last: Int?
    @exclusivity(unchecked) private var queue = ChunkedQueue<WaitingPiece>()
    /// The unfinished pieces in the queue. Those that were withdrawn stay there until their turn, or until they are
    /// many.
    @exclusivity(unchecked) private var waiting = 0
    @exclusivity(unchecked) private var isStopped = false
    @exclusivity(unchecked) private var accepted: UInt64 = 0
    @exclusivity(unchecked) private var drains: [Drain] = []
    @exclusivity(unchecked) private var lastDrain: UInt64 = 0

    /// - Parameter loops: None in tests without threads.
    init(workers: Int, policy: LoopThreadPool.Policy, loops: [Loop] = []) {
        self.loops = loops
        self.workers = Array(repeating: Worker(), count: workers)
        (left, uncalled) = (workers, workers)
        self.policy = policy
    }

    // MARK: Pieces that belong to a worker

    /// Enters a piece for `worker`, or for the one that the policy picks.
    func begin(on worker: Int? = nil) -> Piece {
        let (piece, calls) = lock.withLock { enter(on: worker ?? pick()) }
        post(calls)
        return piece
    }

    /// Enters pieces for so many workers, at most all, as the policy picks them.
    func beginOnDifferentWorkers(_ count: Int) -> [Piece] {
        let entered = lock.withLock {
            (0..<count).reduce(into: [(piece: Piece, calls: Calls)]()) { entered, _ in
                entered.append(enter(on: pick(besides: entered.map(\.piece.worker))))
            }
        }
        for (_, calls) in entered { post(calls) }
        return entered.map(\.piece)
    }

    private func enter(on worker: Int) -> (piece: Piece, calls: Calls) {
        lock.assertHeld()
        let wasComing = workers[worker].isComing
        workers[worker].load += 1
        accepted += 1
        let calls = wasComing && !queue.isEmpty ? callsForQueue() : .nobody
        return (Piece(worker: worker, number: accepted), calls)
    }

    /// - Parameter picked: Workers that are picked again only if no other is left.
    private func pick(besides picked: [Int] = []) -> Int {
        let worker = nextPick(besides: picked)
        last = worker
        return worker
    }

    private func nextPick(besides picked: [Int]) -> Int {
        lock.assertHeld()
        let isOut = { [workers] worker in workers[worker].hasEnded || picked.contains(worker) }
        let next = last.map { ($0 + 1) % workers.count } ?? 0
        guard policy == .leastLoaded else {
            return workers.indices.lazy.map { (next + $0) % self.workers.count }
                .first { !isOut($0) } ?? next
        }
        if let last, workers[last].isFree { return last }
        if let free = workers.firstIndex(where: \.isFree) { return free }
        // Begins with the worker whose turn it is, so that equals take turns.
        var chosen = next
        for offset in 1..<max(workers.count, 2) {
            let worker = (next + offset) % workers.count
            if isOut(chosen) || !isOut(worker) && workers[worker].load < workers[chosen].load {
                chosen = worker
            }
        }
        return chosen
    }

    func finish(_ piece: Piece) {
        let done = lock.withLock { finish(piece.number, on: piece.worker) }
        for drain in done { drain.answer() }
    }

    @inline(__always)
    private func finish(_ number: UInt64, on worker: Int) -> [Drain] {
        lock.assertHeld()
        workers[worker].load -= 1
        assert(workers[worker].load >= 0, "a piece is finished twice")
        return drains.isEmpty ? [] : countInDrains(number) { $0.remaining[worker] -= 1 }
    }

    /// Changes the drains that wait for a piece. Returns those that are over then.
    @inline(never)
    private func countInDrains(_ number: UInt64, _ change: (inout Drain) -> Void) -> [Drain] {
        for index in drains.indices where number <= drains[index].limit { change(&drains[index]) }
        let done = drains.filter(\.isOver)
        drains.removeAll(where: \.isOver)
        return done
    }

    // MARK: The queue

    /// Adds a piece to the queue. Returns nil, and drops it, if the pool is stopped or has no worker left.
    func add(_ place: Place, ticket: Ticket? = nil, _ body: @escaping @Sendable () -> Void) -> Calls? {
        lock.lock()
        defer { lock.unlock() }
        guard !isStopped, left > 0 else { return nil }
        accepted += 1
        waiting += 1
        ticket?.number = accepted
        queue.append(WaitingPiece(number: accepted, place: place, body: body, ticket: ticket))
        return uncalled == 0 ? Calls.nobody : callsForQueue()
    }

    /// Decides who is called for what is in the queue, and counts these calls.
    private func callsForQueue() -> Calls {
        lock.assertHeld()
        // Those that come take a piece each.
        var (coming, free) = (0, Int?.none)
        for index in workers.indices {
            if workers[index].isComing { coming += 1 } else if free == nil, workers[index].isFree { free = index }
        }
        if coming >= queue.count { return .nobody }
        // It may not have gone to sleep yet.
        if let last, workers[last].isFree { free = last }
        if let free {
            last = free
            call(free)
            return .one(free)
        }
        let busy = workers.indices.filter { !workers[$0].isCalled && !workers[$0].hasEnded }
        for worker in busy { call(worker) }
        return .several(busy)
    }

    private func call(_ worker: Int) {
        workers[worker].calls += 1
        setCalled(worker, true)
    }

    private func setCalled(_ worker: Int, _ isCalled: Bool) {
        lock.assertHeld()
        guard workers[worker].isCalled != isCalled else { return }
        workers[worker].isCalled = isCalled
        if !workers[worker].hasEnded { uncalled += isCalled ? -1 : 1 }
    }

    /// A run of a worker's loop begins inside a block. Returns who is called for what is in the queue.
    func noteNestedRun(of worker: Int) -> Calls {
        lock.withLock {
            setCalled(worker, false)
            // A stopped loop accepts no call.
            if queue.isEmpty || isStopped || workers[worker].hasEnded { return .nobody }
            call(worker)
            return .one(worker)
        }
    }

    /// Finishes a worker's last piece, and gives it the next one of the queue, or lets it leave. The first step of a
    /// shift begins it.
    ///
    /// - Parameters:
    ///   - finished: The number of the last piece; 0 if there is none to finish.
    ///   - count: How many pieces it has taken in this shift.
    ///   - blocks: How many blocks wait on its loop and may run. Its calls are among them.
    @inline(__always)
    func next(for worker: Int, finished: UInt64, count: Int, blocks: Int) -> Step {
        lock.lock()
        defer { lock.unlock() }
        var step = Step(isStopped: isStopped)
        if count == 0 {
            workers[worker].calls -= 1
            setCalled(worker, false)
            workers[worker].shifts += 1
        }
        if finished != 0 { step.drains = finish(finished, on: worker) }
        let hasTime = count < Self.piecesPerShift && blocks <= workers[worker].calls
        // A stopped loop accepts no further call.
        if !queue.isEmpty, hasTime || count == 0 || isStopped {
            let piece = queue.removeFirst()
            // One that was withdrawn is finished already.
            if piece.ticket == nil || !piece.ticket!.isFinished { take(piece, worker) }
            step.piece = piece
        } else {
            workers[worker].shifts -= 1
            if !queue.isEmpty, !workers[worker].isCalled {
                call(worker)
                step.callsItself = true
            }
        }
        return step
    }

    @inline(__always)
    private func take(_ piece: WaitingPiece, _ worker: Int) {
        waiting -= 1
        workers[worker].load += 1
        piece.ticket?.worker = worker
        guard !drains.isEmpty else { return }
        let ended = countInDrains(piece.number) {
            $0.waiting -= 1
            $0.remaining[worker] += 1
        }
        assert(ended.isEmpty, "a piece that begins ends no drain")
    }

    /// The piece of the queue that a worker has taken, as one that belongs to it.
    func piece(_ taken: WaitingPiece, of worker: Int) -> Piece { Piece(worker: worker, number: taken.number) }

    /// Finishes a piece that is in the queue, or was taken from there; does nothing if it never came there.
    func finish(_ ticket: Ticket) {
        var withdrawn: [WaitingPiece] = []
        let done = lock.withLock { () -> [Drain] in
            guard ticket.number != 0, !ticket.isFinished else { return [] }
            ticket.isFinished = true
            if let worker = ticket.worker { return finish(ticket.number, on: worker) }
            let done = finishWaiting(ticket.number)
            // Else they would pile up while every worker is stuck, and each caller gives up.
            if queue.count > 2 * waiting + Self.piecesPerShift { takeWithdrawn(into: &withdrawn) }
            return done
        }
        // What they have captured is released without the lock.
        withdrawn.removeAll()
        for drain in done { drain.answer() }
    }

    private func takeWithdrawn(into withdrawn: inout [WaitingPiece]) {
        lock.assertHeld()
        for _ in 0..<queue.count {
            let piece = queue.removeFirst()
            if piece.ticket?.isFinished == true { withdrawn.append(piece) } else { queue.append(piece) }
        }
    }

    private func finishWaiting(_ number: UInt64) -> [Drain] {
        lock.assertHeld()
        waiting -= 1
        return drains.isEmpty ? [] : countInDrains(number) { $0.waiting -= 1 }
    }

    // MARK: The end

    /// Passes over a worker from now on, since it has refused a piece: it has nothing to do, and so would get all.
    func noteEnd(of worker: Int) { lock.withLock { setEnded(worker) } }

    private func setEnded(_ worker: Int) {
        lock.assertHeld()
        guard !workers[worker].hasEnded else { return }
        workers[worker].hasEnded = true
        left -= 1
        if !workers[worker].isCalled { uncalled -= 1 }
    }

    /// Refuses pieces for the queue from now on.
    ///
    /// - Parameter discards: Whether to drop the pieces in the queue.
    /// - Returns: The workers to call before their loops are closed. They do what is in the queue.
    func stop(discarding discards: Bool) -> Calls {
        var dropped: [WaitingPiece] = []
        let calls = lock.withLock { () -> Calls in
            isStopped = true
            if queue.isEmpty { return .nobody }
            if discards {
                takeAll(into: &dropped)
                return .nobody
            }
            for worker in workers.indices { call(worker) }
            return .several(Array(workers.indices))
        }
        drop(&dropped)
        return calls
    }

    /// A call will never begin, since the worker's loop has refused or dropped it. Returns who is called instead.
    func noteLostCall(of worker: Int) -> Calls { noteLoss(of: worker) { $0.calls -= 1 } }

    /// The worker's thread has exited in a piece. Returns who is called instead.
    ///
    /// - Parameter number: The number of the piece, if it is to be finished; 0 otherwise.
    func noteLostShift(of worker: Int, in number: UInt64) -> Calls {
        if number != 0 { finish(Piece(worker: worker, number: number)) }
        return noteLoss(of: worker) { $0.shifts -= 1 }
    }

    private func noteLoss(of worker: Int, _ count: (inout Worker) -> Void) -> Calls {
        var dropped: [WaitingPiece] = []
        let calls = lock.withLock { () -> Calls in
            count(&workers[worker])
            // A pool that is stopped has called all its workers, and their loops refuse further calls.
            if !isStopped { setEnded(worker) }
            if queue.isEmpty { return .nobody }
            let hasOthers = isStopped ? workers.contains { $0.calls + $0.shifts > 0 } : left > 0
            if !hasOthers { takeAll(into: &dropped) }
            return !hasOthers || isStopped || uncalled == 0 ? .nobody : callsForQueue()
        }
        drop(&dropped)
        return calls
    }

    private func takeAll(into taken: inout [WaitingPiece]) {
        lock.assertHeld()
        taken.reserveCapacity(queue.count)
        while !queue.isEmpty { taken.append(queue.removeFirst()) }
    }

    /// Releases what the pieces have captured, and then finishes them: who waits for a piece may use that. The caller
    /// has the only reference to the array.
    private func drop(_ pieces: inout [WaitingPiece]) {
        guard !pieces.isEmpty else { return }
        // A ticket's piece is finished by its reply, as its body is released.
        let finished = pieces.filter { $0.ticket == nil }.map(\.number)
        pieces.removeAll()
        for number in finished { for drain in lock.withLock({ finishWaiting(number) }) { drain.answer() } }
    }

    // MARK: Asking

    /// The unfinished pieces of each worker. Those in the queue count where the fewest are.
    var unfinished: [Int] {
        var (loads, ended, left) = lock.withLock { (workers.map(\.load), workers.map(\.hasEnded), waiting) }
        guard left > 0 else { return loads }
        var order = loads.indices.filter { !ended[$0] }
        if order.isEmpty { order = Array(loads.indices) }
        order.sort { (loads[$0], $0) < (loads[$1], $1) }
        // Those with the fewest get as many as those with the next more have, as long as there are enough.
        for (place, worker) in order.enumerated().dropFirst() {
            let level = loads[order[0]]
            let step = min(loads[worker] - level, left / place)
            for lower in order[..<place] { loads[lower] += step }
            left -= step * place
            if loads[order[0]] < loads[worker] {
                order = Array(order[..<place])
                break
            }
        }
        for (place, worker) in order.sorted().enumerated() {
            loads[worker] += left / order.count + (place < left % order.count ? 1 : 0)
        }
        return loads
    }

    // MARK: Drains

    /// Calls `answer` once all pieces accepted so far are finished: before it returns if they are, on the thread of the
    /// last piece otherwise. Returns the drain's number for `giveUp(drain:)`.
    func whenFinished(_ answer: @escaping @Sendable () -> Void) -> UInt64 {
        let (id, isFinished) = lock.withLock {
            lastDrain += 1
            let drain = Drain(
                id: lastDrain, limit: accepted, remaining: workers.map(\.load), waiting: waiting, answer: answer)
            if !drain.isOver { drains.append(drain) }
            return (lastDrain, drain.isOver)
        }
        if isFinished { answer() }
        return id
    }

    /// The workers that a drain still waits for: all of some, and any of others, which come to the queue.
    func workers(awaitedBy drain: UInt64) -> (all: [Int], any: [Int]) {
        lock.withLock {
            guard let drain = drains.first(where: { $0.id == drain }) else { return ([], []) }
            let all = drain.remaining.indices.filter { drain.remaining[$0] > 0 }
            let comes = workers.indices.filter { workers[$0].calls + workers[$0].shifts > 0 }
            return (all, drain.waiting == 0 ? [] : comes)
        }
    }

    /// Gives up a drain. Returns whether it still waited: then its answer is not called.
    func giveUp(drain id: UInt64) -> Bool {
        lock.withLock { drains.firstIndex { $0.id == id }.map { drains.remove(at: $0) } } != nil
    }
}
