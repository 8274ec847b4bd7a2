import Operations

/// Calls of a limiter that keeps a state for each key.
struct KeyedCall: Scenario {
    let name = "keyed-call"
    let summary = "100 calls of a keyed debounce, for keys in a burst and for new keys."

    func run(_ effort: Effort) throws -> Outcome {
        let repetitions = 100
        // A new key stays, so that rounds are short.
        let effort = effort.short
        let subjects: [any OperationSubject] = [
            try ThreadOperation("clock_gettime", repetitions: repetitions) {
                { count in for _ in 0..<count { _ = monotonicNow() } }
            },
            try ThreadOperation(Outcome.kit, .named("keyed-debounce-known-key"), repetitions: repetitions),
            try ThreadOperation(
                "RunLoopKit, of 100,000 keys", .named("keyed-debounce-known-keys@100000"), repetitions: repetitions),
            try ThreadOperation(
                "RunLoopKit, new key", .named("keyed-debounce-new-key"), repetitions: repetitions),
        ]
        return Outcome(
            scenario: name,
            title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) times \(repetitions) calls",
            rows: subjects.measured(name, effort), bare: "clock_gettime",
            notes: ["Every figure is for \(repetitions) calls."])
    }
}
