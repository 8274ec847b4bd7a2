import RunLoopKit
import Synchronization

/// As `WakeRoundTrip`, but the two threads are kept on two CPUs: what it costs to wake an idle one, and what spinning
/// saves. Where the threads choose for themselves, the scheduler may put both on one, and a loop that spins there only
/// keeps the other thread from running.
struct RoundTripBetweenCPUs: Scenario {
    let name = "wake-round-trip-2-cpus"
    let summary = "Two threads on different CPUs wake each other in turn."
    let neededCPUs = 2

    func run(_ effort: Effort) throws -> Outcome {
        let effort = effort.short
        let cpus = Array(allowedCPUs().prefix(2))
        let subjects: [any OperationSubject] = [
            PinnedRoundTrip<EdgeSignal>("eventfd, edge", cpus), PinnedRoundTrip<WordSignal>("futex word", cpus),
            PinnedRoundTrip<SpunWord>("word, spun on", cpus), try KitBlockRally(cpus: cpus),
            try KitBlockRally(spins: true, cpus: cpus),
        ]
        return Outcome(
            scenario: name,
            title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) round trips",
            rows: subjects.measured(name, effort), bare: "eventfd, edge",
            notes: ["word, spun on: two threads that never sleep. RunLoopKit, spinning: for 50 µs before each sleep."])
    }
}

/// A thread and one that answers, each on a CPU of its own.
private final class PinnedRoundTrip<Channel: Signal>: OperationSubject {
    let name: String
    private let cpus: [Int]

    init(_ name: String, _ cpus: [Int]) { (self.name, self.cpus) = (name, cpus) }

    func measure(_ count: Int) -> Int64 {
        let elapsed = Atomic<Int64>(0)
        PlainThread { [cpus] in
            pin(to: cpus[0])
            let responder = Responder<Channel>(begin: { pin(to: cpus[1]) })
            responder.ask()
            let start = monotonicNow()
            for _ in 0..<count { responder.ask() }
            elapsed.store(monotonicNow() - start, ordering: .relaxed)
        }.join()
        return elapsed.load(ordering: .relaxed)
    }
}
