import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// Stopped pools and deallocated pools.
@Suite(.timeBound) struct LoopThreadPoolEndTests {
    private final class Weak: @unchecked Sendable {
        weak var loop: Loop?
        init(_ loop: Loop) { self.loop = loop }
    }

    @Test("A stop runs what was accepted and refuses the rest")
    func cleanStop() async throws {
        let pool = try makePool(2)
        let blockers = blockWorkers(of: pool)
        let ran = Count()
        for _ in 0..<20 { #expect(pool.perform { ran.up() }) }
        pool.stop()
        #expect(!pool.perform { ran.up() })
        #expect(!pool.perform(for: 1) { ran.up() })
        await #expect(throws: LoopThread.Stopped(thread: "pool")) { try await pool.run { ran.up() } }
        await #expect(throws: LoopThread.Stopped(thread: "pool")) { try await pool.run(for: 1) { ran.up() } }
        for blocker in blockers { blocker.release() }
        pool.joinBlocking()
        #expect(ran.value == 20 && pool.unfinished == [0, 0])
        pool.stop()
        pool.stop(discardingPending: true)
        pool.joinBlocking()
    }

    @Test("A discarding stop answers those that wait")
    func discardingStop() async throws {
        let pool = try makePool(1)
        let blocker = Blocker()
        pool.perform { blocker.block() }
        _ = blocker.awaitStart()
        let ran = Count()
        pool.perform { ran.up() }
        let waiting = Task { try await pool.run { ran.up() } }
        // Yields the thread, which the task may need.
        await eventually(pool.unfinished == [3])
        pool.stop(discardingPending: true)
        await #expect(throws: LoopThread.Stopped(thread: "pool")) { try await waiting.value }
        blocker.release()
        pool.joinBlocking()
        #expect(ran.value == 0)
    }

    @Test("Releasing the last reference stops the threads")
    func lastReference() throws {
        let blocker = Blocker()
        let ran = Count()
        let loops: [Weak]
        weak var remains: LoopThreadPool?
        do {
            let pool = try makePool(3)
            remains = pool
            loops = pool.loops.map { Weak($0) }
            pool.perform { blocker.block() }
            _ = blocker.awaitStart()
            for _ in 0..<9 { pool.perform { ran.up() } }
        }
        // Although work is in progress and queued.
        #expect(remains == nil)
        blocker.release()
        spin(until: loops.allSatisfy { $0.loop == nil })
        #expect(ran.value == 9)
    }

    @Test("A piece of work may release the last reference")
    func lastReferenceInAPiece() throws {
        let ran = Count()
        let loops: [Weak]
        let owner = Box<LoopThreadPool>()
        let isOnlyOwner = Gate()
        do {
            let pool = try makePool(2)
            owner.value = pool
            loops = pool.loops.map { Weak($0) }
            pool.perform {
                isOnlyOwner.wait()
                owner.value = nil
                ran.up()
            }
        }
        isOnlyOwner.open()
        spin(until: loops.allSatisfy { $0.loop == nil })
        #expect(ran.value == 1 && loops.count == 2)
    }
}
