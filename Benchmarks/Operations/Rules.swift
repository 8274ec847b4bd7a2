import RunLoopKit
import RunLoopRules

extension Operation {
    /// Calls of a method that rules can limit, inside a rule's window.
    static let rules = [
        Operation("method-without-rule") { loop in
            let counter = Counter()
            return counter.call
        },
        Operation("rule-class-firstly") { loop in
            let counter = Counter()
            try counter.addition.limit(for: Counter.self, every: .anHour, mode: .firstly, on: loop)
            return counter.call
        },
        Operation("rule-object-debounce") { loop in
            let counter = Counter()
            try counter.addition.limit(for: counter, every: .anHour, mode: .debounce, on: loop)
            return counter.call
        },
    ]
}

private final class Counter: @unchecked Sendable {
    let addition = LimitedMethod<Counter, Int>("add", engine: RuleEngine()) { $0.sum &+= $1 }
    private var sum = 0

    func call(_ count: Int) { for number in 0..<count { addition(self, number) } }
}
