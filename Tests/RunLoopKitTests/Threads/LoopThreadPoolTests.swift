import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// Pools run work on their threads; equal keys have one worker.
@Suite(.timeBound) struct LoopThreadPoolTests {
    private struct Failure: Error, Equatable {}

    // MARK: Work

    /// As in the documentation.
    @Test("The documented example works")
    func example() async throws {
        let printed = Log<String>()
        let pool = try LoopThreadPool(count: 4, options: .init(name: "files"))
        let size = try await pool.run { "one".utf8.count }
        let sizes = try await pool.map(["two", "three"]) { text in text.utf8.count }
        pool.perform { printed.add("on files-0, -1, -2 or -3: \(size), \(sizes)") }
        try await pool.drain()
        pool.stop()
        #expect(printed.entries == ["on files-0, -1, -2 or -3: 3, [3, 5]"])
    }

    @Test("The threads have numbered names and the options")
    func namesAndOptions() throws {
        let pool = try LoopThreadPool(count: 3, policy: .roundRobin, options: .init(name: "crew", nice: 19))
        #expect(pool.name == "crew" && pool.count == 3 && pool.loops.count == 3)
        let seen = Log<String>()
        for _ in 0..<3 { pool.perform { seen.add("\(Kernel.threadName) \(KernelThread.current.nice)") } }
        pool.drainAndWait()
        #expect(seen.entries.sorted() == ["crew-0 19", "crew-1 19", "crew-2 19"])
        #expect(pool.refusedOptions.isEmpty)
    }

    @Test("The loops are the workers' own")
    func loopsOfWorkers() async throws {
        let pool = try makePool(2, .roundRobin)
        let first = try await pool.run { ObjectIdentifier(Loop.current) }
        let second = try await pool.run { ObjectIdentifier(Loop.current) }
        #expect(pool.loops.map { ObjectIdentifier($0) } == [first, second])
        #expect(!pool.isCurrent)
        #expect(try await pool.run { pool.isCurrent })
    }

    @Test("run returns and throws what the block does")
    func runReturnsAndThrows() async throws {
        let pool = try makePool(2)
        #expect(try await pool.run { 42 } == 42)
        await #expect(throws: Failure.self) { try await pool.run { throw Failure() } }
        #expect(pool.unfinished == [0, 0])
    }

    @Test("One worker runs its work in order")
    func orderOfOneWorker() async throws {
        let pool = try makePool(1)
        let order = Log<Int>()
        for number in 0..<500 { pool.perform { order.add(number) } }
        try await pool.drain()
        #expect(order.entries == Array(0..<500))
    }

    @Test("Equal keys have one worker and keep their order")
    func keys() async throws {
        let pool = try makePool(4)
        let order = Log<String>()
        let blockers = blockWorkers(of: pool)
        for number in 0..<50 {
            for key in ["red", "blue", "green"] {
                pool.perform(for: key) { order.add("\(key) \(number) \(Kernel.threadName)") }
            }
        }
        for blocker in blockers { blocker.release() }
        try await pool.drain()
        for key in ["red", "blue", "green"] {
            let name = try await pool.run(for: key) { Kernel.threadName }
            #expect(try await pool.run(for: key) { Loop.current === pool.loop(for: key) })
            #expect(
                order.entries.filter { $0.hasPrefix(key) } == (0..<50).map { "\(key) \($0) \(name)" })
        }
    }

    @Test("Pools run in virtual time")
    func virtualTime() throws {
        let clock = VirtualClock(.manual)
        let pool = try LoopThreadPool(count: 2, clock: clock)
        let fired = Count()
        for loop in pool.loops { loop.add(Loop.Timer(after: .seconds(3600)) { _ in fired.up() }, in: .common) }
        clock.advance(by: .seconds(3599))
        #expect(fired.value == 0)
        clock.advance(by: .seconds(1))
        #expect(fired.value == 2)
    }

    // MARK: Choice of the worker

    @Test("Equally loaded workers take turns")
    func equalLoads() throws {
        let pool = try makePool(3)
        let blockers = blockWorkers(of: pool)
        #expect(blockers.map { $0.awaitStart() } == ["pool-0", "pool-1", "pool-2"])
        for round in 2...4 {
            for _ in 0..<3 { pool.perform {} }
            #expect(pool.unfinished == [round, round, round])
        }
        for blocker in blockers { blocker.release() }
        pool.drainAndWait()
        #expect(pool.unfinished == [0, 0, 0])
    }

    @Test("The least loaded worker is chosen")
    func leastLoaded() throws {
        let pool = try makePool(3)
        let blockers = blockWorkers(of: pool)
        for _ in 0..<4 { pool.perform(for: "one key") {} }
        #expect(pool.unfinished.sorted() == [1, 1, 5])
        for _ in 0..<8 { pool.perform {} }
        #expect(pool.unfinished == [5, 5, 5])
        for blocker in blockers { blocker.release() }
        pool.drainAndWait()
    }

    @Test("Round robin ignores loads")
    func roundRobin() throws {
        let pool = try makePool(3, .roundRobin)
        let blockers = blockWorkers(of: pool)
        let busy = try #require(pool.loops.firstIndex { $0 === pool.loop(for: "one key") })
        for _ in 0..<4 { pool.perform(for: "one key") {} }
        for _ in 0..<6 { pool.perform {} }
        #expect(pool.unfinished == (0..<3).map { $0 == busy ? 7 : 3 })
        for blocker in blockers { blocker.release() }
        pool.drainAndWait()
    }

    // MARK: Creation

    @Test("A pool has at least one thread", arguments: [0, -1, .min])
    func atLeastOneThread(_ count: Int) {
        do throws(LoopError) {
            _ = try LoopThreadPool(count: count)
            Issue.record("made a pool of \(count)")
        } catch {
            #expect(
                "\(error)"
                    == "LoopThreadPool(count: \(count)): Invalid argument (EINVAL); a pool has at least one thread")
        }
    }

    @Test("Refused options are thrown or collected")
    func refusedOptions() throws {
        #expect(throws: LoopError.self) { try LoopThreadPool(count: 2, options: .init(cpus: [8191])) }
        let pool = try LoopThreadPool(count: 2, options: .init(cpus: [8191], onRefusal: .runAnyway))
        #expect(pool.refusedOptions.map(\.call) == Array(repeating: "sched_setaffinity(CPU 8191)", count: 2))
    }
}
