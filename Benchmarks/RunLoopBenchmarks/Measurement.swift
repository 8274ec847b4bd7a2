/// A measurement of several subjects that take turns.
protocol Scenario: Sendable {
    /// The word that selects it on the command line.
    var name: String { get }

    /// One line, for the help.
    var summary: String { get }

    /// On how many CPUs the program must be allowed to run.
    var neededCPUs: Int { get }

    func run(_ effort: Effort) throws -> Outcome
}

extension Scenario {
    var neededCPUs: Int { 1 }
}

/// One way to do what a scenario measures.
protocol Subject: AnyObject {
    /// The subject's name in tables and in JSON. It stays the same from release to release, so that figures can be
    /// compared.
    var name: String { get }
}

/// A subject that repeats one small operation.
protocol OperationSubject: Subject {
    /// Repeats the operation `count` times, and returns the duration in nanoseconds.
    func measure(_ count: Int) -> Int64
}

/// How much to measure. In each round every subject has its turn, and each round begins with a different subject, so
/// that a temporarily slow machine slows all of them down.
struct Effort {
    let timerRounds: Int
    let periodsPerRound: Int
    let operationRounds: Int
    let operationsPerRound: Int

    // Many short rounds: if other programs take the CPU for a moment, that affects few rounds and not the median.
    static let full = Effort(timerRounds: 6, periodsPerRound: 500, operationRounds: 60, operationsPerRound: 500)
    static let quick = Effort(timerRounds: 2, periodsPerRound: 100, operationRounds: 5, operationsPerRound: 100)

    /// For operations that fill a loop's queues: few rounds, of 100,000 blocks each.
    var flood: Effort {
        Effort(
            timerRounds: timerRounds, periodsPerRound: periodsPerRound, operationRounds: operationRounds / 5,
            operationsPerRound: operationsPerRound * 2)
    }

    /// For operations of tens of microseconds.
    var short: Effort {
        Effort(
            timerRounds: timerRounds, periodsPerRound: periodsPerRound, operationRounds: operationRounds,
            operationsPerRound: operationsPerRound / 10)
    }
}

extension Array {
    /// Calls `turn` for every element in each of `count` rounds; each round begins with a different element.
    func takingTurns(rounds count: Int, _ scenario: String, _ turn: (_ index: Int, Element) throws -> Void) rethrows {
        for round in 0..<count {
            Progress.show("\(scenario): round \(round + 1) of \(count)")
            for place in indices {
                let index = (place + round) % self.count
                try turn(index, self[index])
            }
        }
    }
}

extension [any OperationSubject] {
    /// The cost of one operation of each subject: the median of the rounds, each of which is the mean of its
    /// operations.
    func measured(_ scenario: String, _ effort: Effort) -> [Row] {
        // The first calls fill caches, bind symbols and start Dispatch's threads.
        for subject in self { _ = subject.measure(Swift.max(1, effort.operationsPerRound / 10)) }
        var costs = map { _ in [Int64]() }
        takingTurns(rounds: effort.operationRounds, scenario) { index, subject in
            costs[index].append(subject.measure(effort.operationsPerRound) / Int64(effort.operationsPerRound))
        }
        return zip(self, costs).map { subject, costs in
            let costs = Samples(costs)
            return Row(
                subject.name, [.time("p50", costs.median), .time("p10", costs.percentile(10)), .time("max", costs.max)])
        }
    }
}

// MARK: Results

/// A figure of a subject.
struct Figure {
    /// How to show it.
    enum Unit: String { case nanoseconds = "ns", count }

    let metric: String
    let unit: Unit
    let value: Int64

    static func time(_ metric: String, _ nanoseconds: Int64) -> Figure {
        Figure(metric: metric, unit: .nanoseconds, value: nanoseconds)
    }

    static func count(_ metric: String, _ count: Int) -> Figure {
        Figure(metric: metric, unit: .count, value: Int64(count))
    }
}

/// The results of a subject. The first figure is the one by which subjects are compared.
struct Row {
    let subject: String
    let figures: [Figure]

    init(_ subject: String, _ figures: [Figure]) {
        self.subject = subject
        self.figures = figures
    }
}

/// The results of a scenario. All rows have the same figures.
struct Outcome {
    let scenario: String
    /// What was measured, in a line.
    let title: String
    let rows: [Row]
    /// The subject whose cost is the lower bound for a loop.
    let bare: String
    /// Figures that only one subject has.
    var extras: [Row] = []
    /// What a reader of the table needs to know.
    var notes: [String] = []
    /// For a histogram.
    var distributions: [(subject: String, samples: Samples)] = []

    /// What RunLoopKit is called in every scenario.
    static let kit = "RunLoopKit"

    /// The cost of `row` as a multiple of the cost of `other`.
    func ratio(of row: Row, to other: String) -> Double {
        let reference = rows.first { $0.subject == other }!
        return Double(row.figures[0].value) / Double(reference.figures[0].value)
    }
}
