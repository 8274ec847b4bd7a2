import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// As `PrintableTextTests`, of rules.
@Suite(.timeBound) struct PrintableRuleTests {
    @Test("Rules, saved rules and errors")
    func rules() throws {
        let scene = RuleScene()
        let method = LimitedMethod<RuleDocument, Int>(OddText.name, engine: scene.engine) { _, _ in }
        let rule = method.rule(for: RuleDraft.self, interval: .seconds(1), on: scene.loop, isPersistent: true)
        expectPrintable("\(rule)", "rule")
        try scene.engine.apply(rule)
        let snapshot = try scene.engine.snapshot()
        for saved in snapshot.rules { expectPrintable("\(saved)", "saved rule") }
        let error = #expect(throws: MethodRuleError.self) { try scene.engine.apply(rule) }
        expectPrintable("\(try #require(error))", "error")
    }
}
