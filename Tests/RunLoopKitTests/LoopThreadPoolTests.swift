import RunLoopKit
import TestSupport
import Testing

@Suite(.timeBound) struct LoopThreadPoolTests {
    private struct Failure: Error, Equatable {}

    /// A piece of work that blocks its worker.
    private final class Stone: Sendable {
        private let lies = Gate()
        private let lifted = Gate()
        private let thread = Log<String>()

        func hold() {
            thread.add(Kernel.threadName)
            lies.open()
            lifted.wait()
        }

        func awaitStart() -> String {
            lies.wait()
            return thread.entries[0]
        }

        func lift() { lifted.open() }
    }

    /// Blocks every worker, each with one piece of work.
    private func holdUp(_ pool: LoopThreadPool) -> [Stone] {
        (0..<pool.count).map { _ in
            let stone = Stone()
            pool.perform { stone.hold() }
            _ = stone.awaitStart()
            return stone
        }
    }

    private func makePool(_ count: Int, _ policy: LoopThreadPool.Policy = .leastLoaded) throws -> LoopThreadPool {
        try LoopThreadPool(count: count, policy: policy, options: .init(name: "pool"))
    }

    // MARK: Work

    /// As in the documentation.
    @Test("The documented example works")
    func example() async throws {
        let printed = Log<String>()
        let pool = try LoopThreadPool(count: 4, options: .init(name: "files"))
        let sizes = try await withThrowingTaskGroup(of: Int.self) { group in
            for text in ["one", "three"] { group.addTask { try await pool.run { text.utf8.count } } }
            return try await group.reduce(0, +)
        }
        pool.perform { printed.add("on files-0, -1, -2 or -3: \(sizes)") }
        try await pool.drain()
        pool.stop()
        #expect(printed.entries == ["on files-0, -1, -2 or -3: 8"])
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
        let stones = holdUp(pool)
        for number in 0..<50 {
            for key in ["red", "blue", "green"] {
                pool.perform(for: key) { order.add("\(key) \(number) \(Kernel.threadName)") }
            }
        }
        for stone in stones { stone.lift() }
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
        let stones = holdUp(pool)
        #expect(stones.map { $0.awaitStart() } == ["pool-0", "pool-1", "pool-2"])
        for round in 2...4 {
            for _ in 0..<3 { pool.perform {} }
            #expect(pool.unfinished == [round, round, round])
        }
        for stone in stones { stone.lift() }
        pool.drainAndWait()
        #expect(pool.unfinished == [0, 0, 0])
    }

    @Test("The least loaded worker is chosen")
    func leastLoaded() throws {
        let pool = try makePool(3)
        let stones = holdUp(pool)
        for _ in 0..<4 { pool.perform(for: "one key") {} }
        #expect(pool.unfinished.sorted() == [1, 1, 5])
        for _ in 0..<8 { pool.perform {} }
        #expect(pool.unfinished == [5, 5, 5])
        for stone in stones { stone.lift() }
        pool.drainAndWait()
    }

    @Test("Round robin ignores loads")
    func roundRobin() throws {
        let pool = try makePool(3, .roundRobin)
        let stones = holdUp(pool)
        let busy = try #require(pool.loops.firstIndex { $0 === pool.loop(for: "one key") })
        for _ in 0..<4 { pool.perform(for: "one key") {} }
        for _ in 0..<6 { pool.perform {} }
        #expect(pool.unfinished == (0..<3).map { $0 == busy ? 7 : 3 })
        for stone in stones { stone.lift() }
        pool.drainAndWait()
    }

    // MARK: A stuck worker

    @Test("leastLoaded avoids a stuck worker")
    func leastLoadedAvoidsStuck() async throws {
        let pool = try makePool(3)
        let stone = Stone()
        pool.perform { stone.hold() }
        let stuck = stone.awaitStart()
        for _ in 0..<100 {
            let name = try await pool.run { Kernel.threadName }
            #expect(name != stuck)
        }
        #expect(pool.unfinished == [1, 0, 0])
        stone.lift()
        try await pool.drain()
    }

    @Test("With round robin only the stuck worker's own work waits")
    func roundRobinWithStuck() throws {
        let pool = try makePool(3, .roundRobin)
        let stone = Stone()
        pool.perform { stone.hold() }
        let stuck = stone.awaitStart()
        let ran = Log<String>()
        for _ in 0..<30 { pool.perform { ran.add(Kernel.threadName) } }
        spin(until: pool.unfinished == [11, 0, 0])
        #expect(ran.entries.count == 20 && !ran.entries.contains(stuck))
        stone.lift()
        pool.drainAndWait()
        #expect(ran.entries.count == 30 && ran.entries.suffix(10).allSatisfy { $0 == stuck })
    }

    @Test("A stuck worker does not keep the others from ending")
    func stuckWorker() throws {
        let pool = try makePool(2, .roundRobin)
        let ended = Count()
        for loop in pool.loops { loop.add(Loop.Source0(cancel: { _, _ in ended.up() }, perform: {}), in: .common) }
        let stone = Stone()
        pool.perform { stone.hold() }
        _ = stone.awaitStart()
        let ran = Count()
        for _ in 0..<4 { pool.perform { ran.up() } }
        pool.stop()
        spin(until: ended.value == 1)
        #expect(ran.value == 2 && pool.unfinished == [3, 0])
        stone.lift()
        pool.join()
        #expect(ran.value == 4 && ended.value == 2)
    }

    private final class Weak: @unchecked Sendable {
        weak var loop: Loop?
        init(_ loop: Loop) { self.loop = loop }
    }

    // MARK: Drain

    @Test("Draining an idle pool returns at once")
    func idleDrain() async throws {
        let pool = try makePool(2)
        try await pool.drain()
        pool.drainAndWait()
        pool.stop()
        pool.join()
        try await pool.drain()
        pool.drainAndWait()
    }

    @Test("A drain can be cancelled")
    func cancelledDrain() async throws {
        let pool = try makePool(1)
        let stone = Stone()
        pool.perform { stone.hold() }
        let task = Task { try await pool.drain() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        stone.lift()
        try await pool.drain()
    }

    @Test("A drain ends when the work it waits for is discarded")
    func drainOfDiscardedWork() async throws {
        let pool = try makePool(1)
        let stone = Stone()
        pool.perform { stone.hold() }
        _ = stone.awaitStart()
        let ran = Count()
        for _ in 0..<5 { pool.perform { ran.up() } }
        let waiting = Task { try await pool.drain() }
        pool.stop(discardingPending: true)
        #expect(pool.unfinished == [1])
        stone.lift()
        try await waiting.value
        #expect(ran.value == 0)
    }

    @Test("A cancelled piece of work is finished")
    func cancelledPiece() async throws {
        let pool = try makePool(1)
        let stone = Stone()
        pool.perform { stone.hold() }
        _ = stone.awaitStart()
        let ran = Count()
        let task = Task { try await pool.run { ran.up() } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(pool.unfinished == [1])
        stone.lift()
        try await pool.drain()
        #expect(ran.value == 0)
    }

    @Test("Waiting for the own thread traps and says so", arguments: ["drainAndWait()", "join()"])
    func waitingForOneself(_ call: String) async {
        let result: ExitTest.Result?
        if call == "join()" {
            result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let pool = try! LoopThreadPool(count: 2, options: .init(name: "own"))
                try! await pool.run { pool.join() }
            }
        } else {
            result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let pool = try! LoopThreadPool(count: 2, options: .init(name: "own"))
                try! await pool.run { pool.drainAndWait() }
            }
        }
        expect(result, says: ["LoopThreadPool.\(call) was called on the pool's own thread \"own-0\""])
    }

    // MARK: The end

    @Test("A stop runs what was accepted and refuses the rest")
    func cleanStop() async throws {
        let pool = try makePool(2)
        let stones = holdUp(pool)
        let ran = Count()
        for _ in 0..<20 { #expect(pool.perform { ran.up() }) }
        pool.stop()
        #expect(!pool.perform { ran.up() })
        #expect(!pool.perform(for: 1) { ran.up() })
        await #expect(throws: LoopThread.Stopped(thread: "pool")) { try await pool.run { ran.up() } }
        await #expect(throws: LoopThread.Stopped(thread: "pool")) { try await pool.run(for: 1) { ran.up() } }
        for stone in stones { stone.lift() }
        pool.join()
        #expect(ran.value == 20 && pool.unfinished == [0, 0])
        pool.stop()
        pool.stop(discardingPending: true)
        pool.join()
    }

    @Test("A discarding stop answers those that wait")
    func discardingStop() async throws {
        let pool = try makePool(1)
        let stone = Stone()
        pool.perform { stone.hold() }
        _ = stone.awaitStart()
        let ran = Count()
        pool.perform { ran.up() }
        let waiting = Task { try await pool.run { ran.up() } }
        // Yields the thread, which the task may need.
        while pool.unfinished != [3] { await Task.yield() }
        pool.stop(discardingPending: true)
        await #expect(throws: LoopThread.Stopped(thread: "pool")) { try await waiting.value }
        stone.lift()
        pool.join()
        #expect(ran.value == 0)
    }

    @Test("Releasing the last reference stops the threads")
    func lastReference() throws {
        let stone = Stone()
        let ran = Count()
        let loops: [Weak]
        weak var remains: LoopThreadPool?
        do {
            let pool = try makePool(3)
            remains = pool
            loops = pool.loops.map { Weak($0) }
            pool.perform { stone.hold() }
            _ = stone.awaitStart()
            for _ in 0..<9 { pool.perform { ran.up() } }
        }
        // Although work is in progress and queued.
        #expect(remains == nil)
        stone.lift()
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

    // MARK: Stress

    /// Pieces of work that count how often they ran.
    private final class Pieces: Sendable {
        private let runs: [Count]
        private let accepted: [Count]
        init(_ count: Int) {
            runs = (0..<count).map { _ in Count() }
            accepted = (0..<count).map { _ in Count() }
        }
        func run(_ index: Int) { runs[index].up() }
        func accept(_ index: Int) { accepted[index].up() }
        var haveAllAcceptedRunOnce: Bool { zip(runs, accepted).allSatisfy { $0.value == $1.value && $0.value <= 1 } }
        var haveOnlyAcceptedRun: Bool { zip(runs, accepted).allSatisfy { $0.value <= $1.value } }
        var acceptedCount: Int { accepted.reduce(0) { $0 + $1.value } }
    }

    @Test(
        "Every accepted piece runs once, whichever thread stops the pool",
        arguments: [LoopThreadPool.Policy.leastLoaded, .roundRobin], [false, true])
    func everyPieceRunsOnce(_ policy: LoopThreadPool.Policy, _ discards: Bool) throws {
        let (posters, each) = (3, 400)
        for round in 0..<20 {
            let pool = try makePool(3, policy)
            let pieces = Pieces(posters * each)
            let posted = Count()
            let threads = try (0..<posters).map { poster in
                let thread = try LoopThread()
                thread.perform {
                    for index in poster * each..<(poster + 1) * each {
                        let isAccepted =
                            index % 3 == 0
                            ? pool.perform(for: index) { pieces.run(index) } : pool.perform { pieces.run(index) }
                        if isAccepted { pieces.accept(index) }
                        posted.up()
                    }
                }
                return thread
            }
            // A different moment in every round; in the last ones almost everything has been handed over.
            spin(until: posted.value >= round * posters * each / 20)
            pool.stop(discardingPending: discards)
            pool.join()
            for thread in threads {
                thread.stop()
                thread.join()
            }
            #expect(discards ? pieces.haveOnlyAcceptedRun : pieces.haveAllAcceptedRunOnce)
            #expect(pool.unfinished == [0, 0, 0])
            #expect(pieces.acceptedCount >= round * posters * each / 20)
        }
    }

    @Test("A drain sees all work that its thread handed over")
    func drainSeesEarlierWork() throws {
        let pool = try makePool(3)
        let threads = try (0..<3).map { _ in
            let thread = try LoopThread()
            thread.perform {
                for _ in 0..<100 {
                    let ran = Count()
                    for _ in 0..<5 { pool.perform { ran.up() } }
                    pool.drainAndWait()
                    precondition(ran.value == 5, "a drain returned after \(ran.value) of 5")
                }
            }
            return thread
        }
        for thread in threads {
            thread.stop()
            thread.join()
        }
        #expect(pool.unfinished == [0, 0, 0])
    }

    @Test("Every waiting task gets an answer")
    func everyTaskIsAnswered() async throws {
        for round in 0..<20 {
            let pool = try makePool(2)
            let answers = await withTaskGroup(of: Int.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        do {
                            return try await pool.run { number } == number ? 1 : 0
                        } catch { return error is LoopThread.Stopped || error is CancellationError ? 1 : 0 }
                    }
                    if number == round * 3 { pool.stop(discardingPending: round % 2 == 0) }
                    if number == 50, round % 3 == 0 { group.cancelAll() }
                }
                return await group.reduce(0, +)
            }
            #expect(answers == 60)
            pool.stop()
            pool.join()
            #expect(pool.unfinished == [0, 0])
        }
    }
}
