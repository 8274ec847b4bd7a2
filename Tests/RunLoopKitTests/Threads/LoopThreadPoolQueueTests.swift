import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Work without a key waits for whichever worker is free first.
@Suite(.timeBound) struct LoopThreadPoolQueueTests {
    // MARK: Which worker

    @Test("Short pieces do not wait behind a long one while another worker is free")
    func shortBehindLong() throws {
        let pool = try makePool(2)
        let blockers = blockWorkers(of: pool)
        let (order, hasRunLast) = (Log<String>(), Gate())
        for number in 0..<5 { pool.perform { order.add("\(number) \(Kernel.threadName)") } }
        pool.perform { hasRunLast.open() }
        // The other one is stuck for as long as the test wants.
        blockers[1].release()
        hasRunLast.wait()
        #expect(order.entries == (0..<5).map { "\($0) pool-1" })
        #expect(pool.unfinished.first == 1)
        blockers[0].release()
        pool.drainAndWait()
    }

    @Test("A task's piece does not wait behind a long one either")
    func awaitedBehindLong() async throws {
        let pool = try makePool(2)
        let blockers = blockWorkers(of: pool)
        let tasks = (0..<4).map { number in Task { try await pool.run { "\(number) \(Kernel.threadName)" } } }
        await eventually(pool.unfinished.reduce(0, +) == 6)
        blockers[0].release()
        for (number, task) in tasks.enumerated() { #expect(try await task.value == "\(number) pool-0") }
        blockers[1].release()
        try await pool.drain()
    }

    @Test("Pieces of a key and pieces without one take turns on a worker, and neither waits for all of the other")
    func keysBesideTheQueue() throws {
        let pool = try makePool(1)
        let blockers = blockWorkers(of: pool)
        let order = Log<String>()
        for number in 0..<40 { pool.perform { order.add("\(number)") } }
        pool.perform(for: 1) { order.add("key") }
        blockers[0].release()
        pool.drainAndWait()
        #expect(order.entries.filter { $0 != "key" } == (0..<40).map { "\($0)" })
        #expect(order.entries.firstIndex(of: "key")! <= 1)
    }

    @Test("A worker's loop comes around while many pieces wait")
    func loopComesAround() throws {
        let pool = try makePool(1)
        let blockers = blockWorkers(of: pool)
        let (ran, ranBefore) = (Count(), Log<Int>())
        for _ in 0..<500 { pool.perform { ran.up() } }
        let source = Loop.Source0 { ranBefore.add(ran.value) }
        pool.loops[0].add(source, in: .common)
        source.signal()
        blockers[0].release()
        pool.drainAndWait()
        #expect(ranBefore.entries.count == 1 && ranBefore.entries[0] <= 64)
    }

    // MARK: Nested runs

    @Test("A piece that runs its loop nested gets pieces that are handed over meanwhile", arguments: [false, true])
    func nestedRun(_ hasKey: Bool) throws {
        let pool = try makePool(1)
        let (order, blockers) = (Log<String>(), blockWorkers(of: pool))
        let outer: @Sendable () -> Void = {
            order.add("outer begins")
            let isDone = Gate()
            pool.perform {
                order.add("inner")
                isDone.open()
            }
            while !isDone.isOpenNow { Loop.current.run(mode: .default, for: .milliseconds(10)) }
            order.add("outer ends")
        }
        // With the key, a call for the piece behind it is in the same step, hidden from the nested run.
        if hasKey { pool.perform(for: 1, outer) } else { pool.perform(outer) }
        pool.perform { order.add("behind") }
        blockers[0].release()
        pool.drainAndWait()
        #expect(order.entries == ["outer begins", "behind", "inner", "outer ends"])
    }

    @Test(
        "A block of the program's, or a piece that a task waits for, runs its loop nested and gets a later piece",
        arguments: [false, true])
    func nestedRunBeforeACall(_ isMonitored: Bool) async throws {
        let pool = try makePool(1)
        let loop = pool.loops[0]
        if isMonitored { loop.attach(Silent()) }
        let (order, blocker) = (Log<String>(), Blocker())
        loop.perform { blocker.block() }
        _ = blocker.awaitStart()
        let outer: @Sendable () -> Void = {
            let isDone = Gate()
            pool.perform {
                order.add("inner")
                isDone.open()
            }
            while !isDone.isOpenNow { Loop.current.run(mode: .default, for: .milliseconds(10)) }
            order.add("outer ends")
        }
        var task: Task<Void, any Error>?
        if isMonitored {
            task = Task { try await pool.run(outer) }
            await eventually(pool.unfinished == [1])
        } else {
            loop.perform(outer)
        }
        // The call for it is behind the outer block, in the same step of the loop.
        pool.perform { order.add("behind") }
        blocker.release()
        try await task?.value
        try await pool.drain()
        // A drain does not wait for the program's block.
        await eventually(order.entries.count == 3)
        #expect(order.entries == ["behind", "inner", "outer ends"])
    }

    @Test("Runs in a mode that performs no pieces do not collect calls")
    func nestedRunsInAnotherMode() throws {
        let pool = try makePool(1)
        let waiting = Log<Int>()
        pool.perform {
            let (loop, mode) = (Loop.current, Loop.Mode("LoopThreadPoolQueueTests"))
            loop.add(Loop.Timer(after: .seconds(1000)) { _ in }, in: mode)
            pool.perform {}
            for _ in 0..<10 { loop.run(mode: mode, for: .zero) }
            waiting.add(loop.waitingBlocks)
        }
        pool.drainAndWait()
        #expect(waiting.entries == [1])
    }

    /// A closed loop refuses the pieces as blocks of their own.
    @Test(
        "A stopped pool finishes each piece of its queue once, whoever watches, and answers drains then",
        arguments: [false, true], [false, true])
    func stoppedAndDrained(_ isMonitored: Bool, _ drainsFirst: Bool) async throws {
        let pool = try makePool(1)
        if isMonitored { pool.loops[0].attach(Silent()) }
        let blockers = blockWorkers(of: pool)
        let ran = Count()
        for _ in 0..<3 { pool.perform { ran.up() } }
        let before = drainsFirst ? Task.immediate { try await pool.drain() } : nil
        pool.stop()
        let after = Task.immediate {
            try await pool.drain()
            return ran.value
        }
        blockers[0].release()
        try await before?.value
        #expect(try await after.value == 3)
        try await pool.waitForEnd()
        #expect(ran.value == 3 && pool.unfinished == [0])
    }

    /// Makes the loop monitored.
    private final class Silent: LoopMonitor {}

    // MARK: Blocks of the loop

    @Test("A block that waits for a mode in which nothing runs does not interrupt the pieces")
    func blockOfAnotherMode() throws {
        let pool = try makePool(1)
        let blockers = blockWorkers(of: pool)
        pool.loops[0].perform(in: Loop.Mode("LoopThreadPoolQueueTests")) {}
        let (passes, ran) = (Count(), Count())
        let observer = Loop.Observer(.beforeTimers) { _, _ in passes.up() }
        pool.loops[0].add(observer, in: .common)
        for _ in 0..<96 { pool.perform { ran.up() } }
        blockers[0].release()
        pool.drainAndWait()
        #expect(ran.value == 96 && passes.value <= 8)
    }

    @Test("Each piece learns by itself that its loop is closing")
    func closing() throws {
        let pool = try makePool(1)
        let (results, blockers) = (Log<Loop.RunResult>(), blockWorkers(of: pool))
        for _ in 0..<2 {
            pool.perform { results.add(Loop.current.run(mode: .default, for: .milliseconds(1))) }
        }
        pool.stop()
        blockers[0].release()
        pool.join()
        #expect(results.entries == [.stopped, .stopped])
    }

    // MARK: The end

    @Test("A discarding stop drops what waits in the queue at once, and releases it")
    func discardingStop() throws {
        let pool = try makePool(2)
        let blockers = blockWorkers(of: pool)
        let (ran, released) = (Count(), Count())
        for _ in 0..<10 {
            let token = Token(released)
            #expect(pool.perform { withExtendedLifetime(token) { _ = ran.up() } })
        }
        pool.stop()
        #expect(!pool.perform {})
        #expect(pool.unfinished == [6, 6] && released.value == 0)
        pool.stop(discardingPending: true)
        #expect(pool.unfinished == [1, 1] && released.value == 10)
        for blocker in blockers { blocker.release() }
        pool.drainAndWait()
        pool.join()
        #expect(ran.value == 0)
    }

    @Test("A stopped pool does what waits although a worker is stuck")
    func stopWithAStuckWorker() throws {
        let pool = try makePool(2)
        let blockers = blockWorkers(of: pool)
        let ran = Count()
        for _ in 0..<100 { pool.perform { ran.up() } }
        pool.stop()
        blockers[1].release()
        // The last piece is finished a moment after it has run.
        spin(until: pool.unfinished == [1, 0])
        #expect(ran.value == 100)
        blockers[0].release()
        pool.join()
    }

    @Test("The last reference goes while pieces wait: they run", arguments: [1, 3])
    func lastReference(_ count: Int) throws {
        let ran = Count()
        var blockers: [Blocker] = []
        do {
            let pool = try makePool(count)
            blockers = blockWorkers(of: pool)
            for _ in 0..<50 { pool.perform { ran.up() } }
        }
        blockers[0].release()
        spin(until: ran.value == 50)
        for blocker in blockers { blocker.release() }
    }
}

/// Counts its end.
private final class Token: Sendable {
    let released: Count
    init(_ released: Count) { self.released = released }
    deinit { released.up() }
}

/// The queue of a pool, without threads.
@Suite(.timeBound) struct WorkloadQueueTests {
    private let place = Place("WorkloadQueueTests", 0)

    private func called(_ calls: Workload.Calls?) -> [Int]? {
        switch calls {
        case nil: nil
        case .nobody: []
        case .one(let worker): [worker]
        case .several(let workers): workers
        }
    }

    /// A worker's step without other blocks on its loop.
    private func step(_ workload: Workload, _ worker: Int, finished: UInt64 = 0, count: Int = 0) -> Workload.Step {
        let step = workload.next(for: worker, finished: finished, count: count, blocks: 0)
        step.answerDrains()
        return step
    }

    @Test("Free workers are called first, then all that are busy, each once")
    func whoIsCalled() {
        let workload = Workload(workers: 3, policy: .leastLoaded)
        #expect((0..<5).map { _ in called(workload.add(place) {}) } == [[0], [1], [2], [], []])
        #expect(workload.unfinished == [2, 2, 1])
        for worker in 0..<3 {
            #expect(step(workload, worker).piece?.number == UInt64(worker + 1))
        }
        #expect(called(workload.add(place) {}) == [0, 1, 2])
        #expect(called(workload.add(place) {}) == [])
        #expect(workload.unfinished == [3, 2, 2])
        #expect(step(workload, 1, finished: 2, count: 1).piece?.number == 4)
        #expect(workload.unfinished == [2, 2, 2])
    }

    @Test("A worker that was called and gets a piece of its own is made up for by a free one")
    func calledWorkerGetsAnother() {
        let workload = Workload(workers: 2, policy: .leastLoaded)
        #expect(called(workload.add(place) {}) == [0])
        _ = workload.begin(on: 0)
        // Worker 1 has been called already.
        #expect(called(workload.add(place) {}) == [])
        #expect(step(workload, 1).piece?.number == 1)
        #expect(called(workload.add(place) {}) == [1])
    }

    @Test("A run that begins in a block hides earlier calls: the worker is called again for what waits, and for more")
    func nestedRun() {
        let workload = Workload(workers: 1, policy: .leastLoaded)
        #expect(called(workload.noteNestedRun(of: 0)) == [])
        #expect(called(workload.add(place) {}) == [0])
        #expect(called(workload.noteNestedRun(of: 0)) == [0])
        #expect(called(workload.add(place) {}) == [])
        for number in 1...2 { #expect(step(workload, 0).piece?.number == UInt64(number)) }
        #expect(called(workload.noteNestedRun(of: 0)) == [])
        #expect(called(workload.add(place) {}) == [0])
    }

    @Test("Pieces are released before those who wait for them are answered that they were dropped")
    func releasedFirst() {
        let workload = Workload(workers: 2, policy: .leastLoaded)
        let (released, answers) = (Count(), Log<Int>())
        for _ in 0..<3 {
            let token = Token(released)
            _ = workload.add(place) { withExtendedLifetime(token) {} }
        }
        _ = workload.whenFinished { answers.add(released.value) }
        _ = workload.stop(discarding: true)
        #expect(answers.entries == [3])
    }

    @Test("A worker that leaves pieces behind calls itself, unless it is called already")
    func callsItself() {
        let workload = Workload(workers: 1, policy: .leastLoaded)
        for _ in 0..<2 { _ = workload.add(place) {} }
        #expect(step(workload, 0).piece?.number == 1)
        var left = workload.next(for: 0, finished: 1, count: 1, blocks: 1)
        #expect(left.piece == nil && left.callsItself)
        #expect(step(workload, 0).piece?.number == 2)
        #expect(called(workload.add(place) {}) == [0])
        left = workload.next(for: 0, finished: 2, count: 1, blocks: 2)
        #expect(left.piece == nil && !left.callsItself)
    }

    @Test("A drain waits for pieces in the queue, whoever takes them, and for no later ones")
    func drains() {
        let workload = Workload(workers: 2, policy: .leastLoaded)
        let drained = Count()
        _ = workload.add(place) {}
        let ticket = Workload.Ticket()
        _ = workload.add(place, ticket: ticket) {}
        let drain = workload.whenFinished { drained.up() }
        _ = workload.add(place) {}
        #expect(workload.workers(awaitedBy: drain).all == [] && workload.workers(awaitedBy: drain).any == [0, 1])
        #expect(step(workload, 1).piece?.number == 1)
        #expect(workload.workers(awaitedBy: drain).all == [1] && workload.workers(awaitedBy: drain).any == [0, 1])
        workload.finish(ticket)
        workload.finish(ticket)
        #expect(workload.workers(awaitedBy: drain).any == [])
        #expect(drained.value == 0 && workload.unfinished.reduce(0, +) == 2)
        // The withdrawn one is still in the queue, and counts no more.
        #expect(step(workload, 1, finished: 1, count: 1).piece?.number == 2)
        #expect(drained.value == 1 && workload.unfinished == [1, 0])
        #expect(step(workload, 1, count: 2).piece?.number == 3)
        #expect(step(workload, 1, finished: 3, count: 3).piece == nil)
        #expect(workload.unfinished == [0, 0])
    }

    @Test("A lost call is made up for by another worker, and with the last one the pieces are dropped")
    func lostCalls() {
        let workload = Workload(workers: 2, policy: .leastLoaded)
        let drained = Count()
        #expect(called(workload.add(place) {}) == [0])
        _ = workload.whenFinished { drained.up() }
        #expect(called(workload.noteLostCall(of: 0)) == [1])
        #expect(drained.value == 0)
        #expect(step(workload, 1).piece?.number == 1)
        #expect(called(workload.add(place) {}) == [1])
        #expect(called(workload.noteLostShift(of: 1, in: 1)) == [])
        #expect(drained.value == 1 && workload.unfinished == [0, 0])
        #expect(called(workload.add(place) {}) == nil)
    }

    @Test("A stop calls all workers for what is in the queue; the pieces are dropped when all calls are lost")
    func stop() {
        let workload = Workload(workers: 2, policy: .leastLoaded)
        #expect(called(workload.add(place) {}) == [0])
        #expect(called(workload.stop(discarding: false)) == [0, 1])
        #expect(called(workload.add(place) {}) == nil)
        for worker in [0, 1] { #expect(called(workload.noteLostCall(of: worker)) == []) }
        #expect(workload.unfinished.reduce(0, +) == 1)
        #expect(called(workload.noteLostCall(of: 0)) == [])
        #expect(workload.unfinished == [0, 0])
        #expect(called(workload.stop(discarding: true)) == [])
    }

    @Test("Pieces in the queue count where the fewest are", arguments: 0..<40)
    func unfinished(_ waiting: Int) {
        let workload = Workload(workers: 4, policy: .leastLoaded)
        for (worker, load) in [3, 0, 7, 3].enumerated() { for _ in 0..<load { _ = workload.begin(on: worker) } }
        var expected = [3, 0, 7, 3]
        for _ in 0..<waiting {
            _ = workload.add(place) {}
            expected[expected.firstIndex(of: expected.min()!)!] += 1
        }
        #expect(workload.unfinished == expected)
    }
}
