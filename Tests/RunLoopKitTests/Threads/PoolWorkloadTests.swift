import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// The load counts of a pool, without threads.
@Suite(.timeBound) struct WorkloadTests {
    @Test("A drain waits for what was accepted before it and for nothing else")
    func acceptedBefore() {
        let workload = Workload(workers: 2, policy: .roundRobin)
        let (first, second) = (workload.begin(), workload.begin())
        let drained = Log<String>()
        _ = workload.whenFinished { drained.add("one") }
        let later = workload.begin()
        _ = workload.whenFinished { drained.add("two") }
        workload.finish(first)
        #expect(drained.entries == [])
        workload.finish(second)
        #expect(drained.entries == ["one"])
        let last = workload.begin()
        workload.finish(last)
        #expect(drained.entries == ["one"])
        workload.finish(later)
        #expect(drained.entries == ["one", "two"])
        #expect(workload.unfinished == [0, 0])
    }

    @Test("Later work does not count although it finishes first")
    func laterWork() {
        let workload = Workload(workers: 1, policy: .leastLoaded)
        let first = workload.begin()
        let drained = Count()
        _ = workload.whenFinished { drained.up() }
        for _ in 0..<3 { workload.finish(workload.begin()) }
        #expect(drained.value == 0)
        workload.finish(first)
        #expect(drained.value == 1)
    }

    @Test("A drain of nothing is answered at once")
    func emptyDrain() {
        let drained = Count()
        _ = Workload(workers: 1, policy: .leastLoaded).whenFinished { drained.up() }
        #expect(drained.value == 1)
    }

    @Test("A drain is answered or given up, never both")
    func answeredOrGivenUp() {
        let workload = Workload(workers: 1, policy: .leastLoaded)
        let piece = workload.begin()
        let drained = Log<Int>()
        let drains = (0..<3).map { number in workload.whenFinished { drained.add(number) } }
        #expect(workload.giveUp(drain: drains[1]))
        #expect(!workload.giveUp(drain: drains[1]))
        workload.finish(piece)
        #expect(drained.entries == [0, 2])
        #expect(!workload.giveUp(drain: drains[0]))
    }

    @Test("The policy picks, and named workers count")
    func policyPicks() {
        let least = Workload(workers: 4, policy: .leastLoaded)
        #expect((0..<4).map { _ in least.begin().worker } == [0, 1, 2, 3])
        let third = least.begin(on: 2)
        #expect((0..<3).map { _ in least.begin().worker } == [0, 1, 3])
        least.finish(third)
        // After 3 it is the turn of 0, but 2 has less load.
        #expect(least.begin().worker == 2)
        #expect(least.begin().worker == 3)
        let turns = Workload(workers: 3, policy: .roundRobin)
        #expect((0..<7).map { _ in turns.begin().worker } == [0, 1, 2, 0, 1, 2, 0])
        #expect(turns.begin(on: 2).worker == 2)
        #expect(turns.begin().worker == 1)
    }

    @Test("A worker that has ended is passed over, unless all have")
    func endedWorkers() {
        let workload = Workload(workers: 3, policy: .leastLoaded)
        #expect(workload.begin().worker == 0)
        workload.noteEnd(of: 1)
        #expect((0..<5).map { _ in workload.begin().worker } == [2, 0, 2, 0, 2])
        workload.noteEnd(of: 0)
        workload.noteEnd(of: 2)
        #expect((0..<3).contains(workload.begin().worker))
        let turns = Workload(workers: 3, policy: .roundRobin)
        turns.noteEnd(of: 1)
        #expect((0..<4).map { _ in turns.begin().worker } == [0, 2, 0, 2])
        turns.noteEnd(of: 0)
        turns.noteEnd(of: 2)
        #expect((0..<3).contains(turns.begin().worker))
    }

    /// The policy in three lines, compared for any sequence of operations: pick a worker, use a named worker, finish.
    @Test(
        "An idle worker is picked, first the last one; else the least loaded, among equals the next in turn",
        arguments: [1, 2, 3, 8], 0..<20 as Range<UInt64>)
    func leastLoaded(_ workers: Int, _ seed: UInt64) {
        var random = SplitMix(seed)
        let workload = Workload(workers: workers, policy: .leastLoaded)
        var (pieces, last) = ([Workload.Piece](), Int?.none)
        for _ in 0..<200 {
            let loads = workload.unfinished
            switch Int.random(in: 0..<4, using: &random) {
            case 0: pieces.append(workload.begin(on: .random(in: 0..<workers, using: &random)))
            case 1:
                if !pieces.isEmpty { workload.finish(pieces.remove(at: .random(in: pieces.indices, using: &random))) }
            default:
                let piece = workload.begin()
                let idle = [last].compactMap { $0 }.first { loads[$0] == 0 } ?? loads.firstIndex(of: 0)
                let fromTheTurn = (1...workers).map { ((last ?? -1) + $0) % workers }
                #expect(piece.worker == idle ?? fromTheTurn.first { loads[$0] == loads.min() })
                last = piece.worker
                pieces.append(piece)
            }
        }
    }

    private final class Tracked: Sendable {
        let count: Count
        init(_ count: Count) {
            self.count = count
            count.up()
        }
        deinit { count.upBy(-1) }
    }

    @Test("Pieces that are withdrawn while no worker comes pile up nowhere")
    func withdrawnPieces() {
        let workload = Workload(workers: 1, policy: .leastLoaded)
        let captured = Count()
        let stays = Workload.Ticket()
        #expect(workload.add(.unknown, ticket: stays, {}) != nil)
        for _ in 0..<1_000 {
            let (ticket, tracked) = (Workload.Ticket(), Tracked(captured))
            #expect(workload.add(.unknown, ticket: ticket, { withExtendedLifetime(tracked) {} }) != nil)
            workload.finish(ticket)
        }
        #expect(captured.value < 100 && workload.unfinished == [1])
        var step = workload.next(for: 0, finished: 0, count: 0, blocks: 1)
        while let piece = step.piece, piece.ticket !== stays {
            step = workload.next(for: 0, finished: 0, count: 1, blocks: 0)
        }
        #expect(step.piece?.ticket === stays)
    }
}
