import RunLoopKit
import RunLoopRules

extension GrowingOperation {
    static let waitingRules = GrowingOperation(
        "rule-apply-beside-waiting", "A rule is applied and discarded, beside so many of a snapshot that wait.",
        count: 200
    ) { loop, size in
        let saved = RuleEngine()
        let methods = (0..<size).map { LimitedMethod<LimitedTarget, Int>("method \($0)", engine: saved) { _, _ in } }
        for method in methods {
            try method.limit(for: LimitedTarget.self, every: .anHour, mode: .debounce, on: loop).isPersistent = true
        }
        let engine = RuleEngine()
        let declared = LimitedMethod<LimitedTarget, Int>("declared", engine: engine) { _, _ in }
        // Their methods are declared by nobody here.
        try engine.apply(saved.snapshot(), on: loop)
        return { count in
            for _ in 0..<count {
                try? declared.limit(for: LimitedTarget.self, every: .anHour, mode: .debounce, on: loop).discard()
            }
        }
    }
}

/// Not private: such a type's rules are not kept.
final class LimitedTarget: Sendable {}
