import RunLoopKit
import RunLoopRules

/// What it costs that a method can be limited: it is called directly, and as a `LimitedMethod`, without a rule and
/// inside a rule's window.
struct MethodCall: Scenario {
    let name = "method-call"
    let summary = "A method that rules can limit is called: without a rule, and inside a rule's window."

    func run(_ effort: Effort) throws -> Outcome {
        // Each operation is a thousand calls. A round takes a millisecond at most, and there are more rounds than
        // usual, so that few of them share the CPU with other programs.
        let effort = Effort(
            timerRounds: 0, periodsPerRound: 0, operationRounds: 2 * effort.operationRounds,
            operationsPerRound: effort.operationsPerRound / 100)
        let subjects: [any OperationSubject] = [
            DirectCalls(), ThrottledCalls(Outcome.kit),
            try ThrottledCalls("another object's rule") { counter in (Counter(), .firstly) },
            try ThrottledCalls("rule, firstly") { ($0, .firstly) },
            try ThrottledCalls("rule, last") { ($0, .last) },
            try ThrottledCalls("rule, debounce") { ($0, .debounce) },
            try ThrottledCalls("class's rule, firstly") { _ in (nil, .firstly) },
            try ThrottledCalls("class's rule, debounce") { _ in (nil, .debounce) },
            LimiterCalls("Throttle, leading", Throttle(interval: .seconds(3600)) { _ in }),
            LimiterCalls("Debounce", Debounce(interval: .seconds(3600)) { _ in }), ClockReads(),
        ]
        return Outcome(
            scenario: name,
            title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) times 1,000 calls",
            rows: subjects.measured(name, effort), bare: "direct",
            notes: [
                "The times are for 1,000 calls: microseconds here are nanoseconds for one.",
                "\(Outcome.kit): no rule for the method. Other objects' rules make it look for one, in vain.",
                "A rule's calls come inside its window: they are ignored or held back.",
                "Throttle, Debounce, clock_gettime: for comparison.",
            ])
    }
}

/// Has a method that does next to nothing, twice.
private final class Counter: @unchecked Sendable {
    private(set) var sum = 0

    @inline(never)
    func addDirectly(_ number: Int) { sum &+= number }

    static func addition(_ engine: RuleEngine) -> LimitedMethod<Counter, Int> {
        LimitedMethod("add", engine: engine) { counter, number in counter.sum &+= number }
    }
}

private final class DirectCalls: OperationSubject {
    let name = "direct"
    private let counter = Counter()

    func measure(_ count: Int) -> Int64 {
        let start = monotonicNow()
        for number in 0..<(1000 * count) { counter.addDirectly(number) }
        return monotonicNow() - start
    }
}

private final class ThrottledCalls: OperationSubject {
    let name: String
    private let counter = Counter()
    private let engine = RuleEngine()
    private let addition: LimitedMethod<Counter, Int>
    /// An object keeps no rule alive, nor a rule its object.
    private var target: Counter?

    init(_ name: String) {
        self.name = name
        addition = Counter.addition(engine)
    }

    /// - Parameter rule: The object that the rule is for, nil for the class's rule, and the rule's mode.
    convenience init(_ name: String, rule: (Counter) -> (Counter?, AnyMethodRule.Mode)) throws {
        self.init(name)
        let (target, mode) = rule(counter)
        self.target = target
        let made =
            if let target {
                addition.rule(for: target, interval: .seconds(3600), mode: mode, on: .current)
            } else {
                addition.rule(for: Counter.self, interval: .seconds(3600), mode: mode, on: .current)
            }
        try engine.apply(made)
    }

    func measure(_ count: Int) -> Int64 {
        let start = monotonicNow()
        for number in 0..<(1000 * count) { addition(counter, number) }
        return monotonicNow() - start
    }
}

/// A limiter inside a burst: the work of a rule except finding it and retaining the target.
private final class LimiterCalls: OperationSubject {
    let name: String
    private let limiter: Limiter<Int>

    init(_ name: String, _ limiter: Limiter<Int>) {
        (self.name, self.limiter) = (name, limiter)
        _ = limiter(0)
    }

    func measure(_ count: Int) -> Int64 {
        let start = monotonicNow()
        for number in 0..<(1000 * count) { limiter(number) }
        return monotonicNow() - start
    }
}

private final class ClockReads: OperationSubject {
    let name = "clock_gettime"

    func measure(_ count: Int) -> Int64 {
        let start = monotonicNow()
        var sum: Int64 = 0
        for _ in 0..<(1000 * count) { sum &+= monotonicNow() }
        precondition(sum >= 0)
        return monotonicNow() - start
    }
}
