import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// Many threads hand over work while others stop or drain the pool.
@Suite(.timeBound) struct LoopThreadPoolStressTests {
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
            pool.joinBlocking()
            #expect(pool.unfinished == [0, 0])
        }
    }
}
