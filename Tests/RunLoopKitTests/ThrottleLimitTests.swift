import Testing

@testable import RunLoopKit

/// Limiting a message in one call, and what a rule does itself.
@Suite struct RuleLimitTests {
    @Test func aRuleIsAppliedAndDiscardedByItself() throws {
        let stage = RuleScene()
        let rule = stage.rule(for: RuleDocument.self, 100, .firstly)
        #expect { try rule.discard() } throws: { "\($0)".contains("is not applied") }
        try rule.apply()
        #expect(rule.isApplied && areSame(stage.engine.rules, [rule]))
        #expect { try rule.apply() } throws: { "\($0)".contains("is applied already") }
        for input in 1...2 { stage.saving(RuleDocument(), input) }
        try rule.discard()
        stage.saving(RuleDocument(), 3)
        #expect(stage.ran.map(\.input) == [1, 3] && !rule.isApplied && stage.engine.rules.isEmpty)
    }
}
