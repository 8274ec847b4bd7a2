/// A task calls an actor that has the same executor: two hops, and no other thread takes part.
struct ActorAndTask: Scenario {
    let name = "actor-and-task"
    let summary = "A task calls an actor on its own executor: a loop's, a queue's, the default one."

    func run(_ effort: Effort) throws -> Outcome {
        let subjects: [any OperationSubject] = [
            Calls("default executor", Shared()), Calls(Outcome.kit, try KitHome()),
            Calls("Dispatch queue", QueueHome()),
        ]
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) calls",
            rows: subjects.measured(name, effort), bare: "default executor")
    }
}

private final class Calls: OperationSubject {
    let name: String
    private let home: any Home
    private let player: any Player

    init(_ name: String, _ home: any Home) {
        self.name = name
        self.home = home
        player = home.makePlayer()
    }

    func measure(_ count: Int) -> Int64 {
        measured(preferring: home.taskExecutor) { [player] in for _ in 0..<count { await player.call() } }
    }
}
