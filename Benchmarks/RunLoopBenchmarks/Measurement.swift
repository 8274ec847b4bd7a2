/// Something to be measured, by several subjects that take turns.
protocol Scenario: Sendable {
    /// What is typed for it.
    var name: String { get }

    /// One line, for the help.
    var summary: String { get }

    func run(_ effort: Effort) throws -> Outcome
}

/// One way to do what a scenario measures.
protocol Subject: AnyObject {
    /// How the subject is called in tables and in JSON. The same from release to release, so that figures can be
    /// compared.
    var name: String { get }
}

/// A subject that does one small thing again and again.
protocol OperationSubject: Subject {
    /// Does it `count` times, and says how many nanoseconds that took.
    func measure(_ count: Int) -> Int64
}

/// How much to do. In rounds: in each round every subject has its turn, each time another one being the first, so that
/// a machine that is slow for a while is slow for all of them.
struct Effort {
    let timerRounds: Int
    let periodsPerRound: Int
    let operationRounds: Int
    let operationsPerRound: Int

    // Many short rounds: if others take the machine for a moment, that is a few rounds, and the median does not see
    // them.
    static let full = Effort(timerRounds: 6, periodsPerRound: 500, operationRounds: 60, operationsPerRound: 500)
    static let quick = Effort(timerRounds: 2, periodsPerRound: 100, operationRounds: 5, operationsPerRound: 100)
}

extension Array {
    /// Calls `turn` for every element in each of `count` rounds, another element being the first each time.
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
    /// What one operation costs each subject: the median of the rounds, each being the mean of its operations.
    func measured(_ scenario: String, _ effort: Effort) -> [Row] {
        // The first calls find nothing in place: caches, lazily bound symbols, Dispatch's threads.
        for subject in self { _ = subject.measure(effort.operationsPerRound / 10) }
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

// MARK: What comes out

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

/// What was found out about a subject. The first figure is the one that subjects are compared by.
struct Row {
    let subject: String
    let figures: [Figure]

    init(_ subject: String, _ figures: [Figure]) {
        self.subject = subject
        self.figures = figures
    }
}

/// What a scenario found out. All rows have the same figures.
struct Outcome {
    let scenario: String
    /// What was done, in a line.
    let title: String
    let rows: [Row]
    /// The subject whose costs are the limit of what a loop can do.
    let bare: String
    /// Figures that only one subject has.
    var extras: [Row] = []
    /// What a reader of the table needs to know.
    var notes: [String] = []
    /// For a histogram.
    var distributions: [(subject: String, samples: Samples)] = []

    /// What RunLoopKit is called in every scenario.
    static let kit = "RunLoopKit"

    /// How many times what `other` costs `row` costs.
    func ratio(of row: Row, to other: String) -> Double {
        let reference = rows.first { $0.subject == other }!
        return Double(row.figures[0].value) / Double(reference.figures[0].value)
    }
}
