import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// Draining a pool, and pools with a stuck worker.
@Suite(.timeBound) struct LoopThreadPoolDrainTests {
    // MARK: A stuck worker

    @Test("leastLoaded avoids a stuck worker")
    func leastLoadedAvoidsStuck() async throws {
        let pool = try makePool(3)
        let blocker = Blocker()
        pool.perform { blocker.block() }
        let stuck = blocker.awaitStart()
        for _ in 0..<100 {
            let name = try await pool.run { Kernel.threadName }
            #expect(name != stuck)
        }
        #expect(pool.unfinished == [1, 0, 0])
        blocker.release()
        try await pool.drain()
    }

    @Test("With round robin only the stuck worker's own work waits")
    func roundRobinWithStuck() throws {
        let pool = try makePool(3, .roundRobin)
        let blocker = Blocker()
        pool.perform { blocker.block() }
        let stuck = blocker.awaitStart()
        let ran = Log<String>()
        for _ in 0..<30 { pool.perform { ran.add(Kernel.threadName) } }
        spin(until: pool.unfinished == [11, 0, 0])
        #expect(ran.entries.count == 20 && !ran.entries.contains(stuck))
        blocker.release()
        pool.drainAndWait()
        #expect(ran.entries.count == 30 && ran.entries.suffix(10).allSatisfy { $0 == stuck })
    }

    @Test("A stuck worker does not keep the others from ending")
    func stuckWorker() throws {
        let pool = try makePool(2, .roundRobin)
        let ended = Count()
        for loop in pool.loops { loop.add(Loop.Source0(cancel: { _, _ in ended.up() }, perform: {}), in: .common) }
        let blocker = Blocker()
        pool.perform { blocker.block() }
        _ = blocker.awaitStart()
        let ran = Count()
        for _ in 0..<4 { pool.perform { ran.up() } }
        pool.stop()
        spin(until: ended.value == 1)
        #expect(ran.value == 2 && pool.unfinished == [3, 0])
        blocker.release()
        pool.join()
        #expect(ran.value == 4 && ended.value == 2)
    }

    // MARK: Drain

    @Test("Draining an idle pool returns at once")
    func idleDrain() async throws {
        let pool = try makePool(2)
        try await pool.drain()
        pool.drainBlocking()
        pool.stop()
        pool.joinBlocking()
        try await pool.drain()
        pool.drainBlocking()
    }

    @Test("A drain with a limit tells whether everything was finished, and gives up without a trace", arguments: 0..<10)
    func limitedDrain(_ round: Int) throws {
        let pool = try makePool(2)
        #expect(pool.drainAndWait(for: .zero))
        let blocker = Blocker()
        pool.perform { blocker.block() }
        _ = blocker.awaitStart()
        #expect(!pool.drainAndWait(for: .seconds(-1)) && !pool.drainAndWait(for: .milliseconds(1)))
        #expect(pool.unfinished.reduce(0, +) == 1)
        blocker.release()
        // Either answer is right at this moment, and what is given up is answered by nobody.
        _ = pool.drainAndWait(for: .nanoseconds(round * 20_000))
        #expect(pool.drainAndWait(for: .seconds(Int64.max)))
        pool.stop()
        pool.join()
        #expect(pool.drainAndWait(for: .zero))
    }

    @Test("A drain can be cancelled")
    func cancelledDrain() async throws {
        let pool = try makePool(1)
        let blocker = Blocker()
        pool.perform { blocker.block() }
        let task = Task { try await pool.drain() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        blocker.release()
        try await pool.drain()
    }

    @Test("A drain ends when the work it waits for is discarded")
    func drainOfDiscardedWork() async throws {
        let pool = try makePool(1)
        let blocker = Blocker()
        pool.perform { blocker.block() }
        _ = blocker.awaitStart()
        let ran = Count()
        for _ in 0..<5 { pool.perform { ran.up() } }
        let waiting = Task { try await pool.drain() }
        pool.stop(discardingPending: true)
        #expect(pool.unfinished == [1])
        blocker.release()
        try await waiting.value
        #expect(ran.value == 0)
    }

    @Test("A cancelled piece of work is finished")
    func cancelledPiece() async throws {
        let pool = try makePool(1)
        let blocker = Blocker()
        pool.perform { blocker.block() }
        _ = blocker.awaitStart()
        let ran = Count()
        let task = Task { try await pool.run { ran.up() } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(pool.unfinished == [1])
        blocker.release()
        try await pool.drain()
        #expect(ran.value == 0)
    }
}
