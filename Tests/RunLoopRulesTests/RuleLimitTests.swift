import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// Limiting a method in one call, and a rule's own functions.
@Suite(.timeBound) struct RuleLimitTests {
    @Test("One call limits an object")
    func limitObject() throws {
        let stage = RuleScene()
        let document = RuleDocument()
        let rule = try stage.saving.limit(for: document, every: .milliseconds(100), mode: .last, on: stage.loop)
        #expect(rule.isApplied && areSame(stage.engine.rules, [rule]))
        stage.send(0, 50, to: document)
        #expect(stage.ran == [(100, 50)])
        stage.send(200, to: RuleDocument())
        #expect(stage.ran == [(100, 50), (200, 200)])
    }

    @Test(
        "A call that the class's rule delays runs before those that come under the object's own rule",
        arguments: [0, 100] as [Int64])
    func limitObjectOfClass(_ interval: Int64) throws {
        let stage = RuleScene()
        let (own, other) = (RuleDraft(), RuleDocument())
        try stage.limit(RuleDocument.self, 1000, .last)
        stage.saving(own, 1)
        try stage.limit(own, interval, .last)
        stage.saving(own, 2)
        stage.scene.run()
        #expect(stage.ran == [(0, 1), (interval, 2)])
        // A call on another object stays.
        stage.saving(other, 3)
        try stage.limit(RuleDocument(), interval, .last)
        try stage.limit(own, 1000, .last)
        #expect(stage.ran.count == 2)
        stage.scene.run()
        #expect(stage.ran.map(\.input) == [1, 2, 3])
    }

    @Test("A rule says whether it holds a call back", arguments: [AnyMethodRule.Mode.last, .debounce], [false, true])
    func isPending(_ mode: AnyMethodRule.Mode, _ merges: Bool) throws {
        let stage = RuleScene()
        let document = RuleDocument()
        let rule = try stage.saving.limit(for: document, every: .milliseconds(100), mode: mode, on: stage.loop)
        if merges { rule.merging = { $0 + $1 } }
        #expect(!rule.isPending)
        stage.saving(document, 1)
        #expect(rule.isPending)
        rule.flush()
        #expect(!rule.isPending)
        stage.saving(document, 2)
        stage.saving(document, 3)
        #expect(rule.isPending)
        try rule.discard()
        #expect(!rule.isPending)
    }

    @Test("One call limits a class or a type")
    func limitClassOrType() throws {
        let stage = RuleScene()
        try stage.saving.limit(for: RuleDraft.self, every: .milliseconds(100), mode: .firstly, on: stage.loop)
        try stage.purging.limit(for: RuleDocument.self, every: .milliseconds(100), mode: .firstly, on: stage.loop)
        for input in 1...2 {
            stage.saving(RuleDraft(), input)
            stage.purging(RuleDraft.self, input * 10)
        }
        #expect(stage.ran.map(\.input) == [1, 10])
    }

    @Test("The defaults are those of rules")
    func limitDefaults() throws {
        let stage = RuleScene()
        let document = RuleDocument()
        let rules = [
            try stage.saving.limit(for: document, every: .seconds(1)),
            try stage.saving.limit(for: RuleDocument.self, every: .seconds(1)),
        ]
        for rule in rules {
            #expect(rule.mode == .debounce && rule.loop === Loop.main && rule.interval == .seconds(1))
            #expect(rule.alwaysRun == nil && rule.merging == nil && !rule.isPersistent)
            try rule.discard()
        }
    }

    @Test("limit takes exceptions and merging")
    func limitWithExceptions() throws {
        let stage = RuleScene()
        let document = RuleDocument()
        try stage.saving.limit(
            for: document, every: .milliseconds(100), mode: .last, on: stage.loop,
            alwaysRun: { _, input in input == 20 }, merging: { $0 + $1 })
        stage.send(10, 20, 30, to: document)
        #expect(stage.ran == [(20, 20), (110, 40)])
    }

    @Test("limit throws and replaces like apply")
    func limitLikeApply() throws {
        let stage = RuleScene()
        let first = try stage.saving.limit(for: RuleDocument.self, every: .seconds(1), on: stage.loop)
        #expect { try stage.saving.limit(for: RuleDraft.self, every: .seconds(1)) } throws: {
            "\($0)".contains("there is a rule in the class hierarchy already")
        }
        #expect(areSame(stage.engine.rules, [first]))
        let second = try stage.saving.limit(for: RuleDocument.self, every: .seconds(2), on: stage.loop)
        #expect(!first.isApplied && areSame(stage.engine.rules, [second]))
    }

    // MARK: The rule itself

    @Test("A rule can apply and discard itself")
    func ruleAppliesItself() throws {
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

    // MARK: Persistence

    /// MessageThrottle's convenience call keeps the rules of classes that are `firstly` and longer than five seconds.
    @Test("The rules that MessageThrottle keeps are persistent")
    func keepsSameRules() throws {
        for mode in AnyMethodRule.Mode.allCases {
            for (interval, isLong) in [(.seconds(5), false), (.nanoseconds(5_000_000_001), true), (.seconds(60), true)]
                as [(Duration, Bool)]
            {
                let stage = RuleScene()
                let document = RuleDocument()
                let rules: [AnyMethodRule] = [
                    try stage.saving.limit(for: document, every: interval, mode: mode, on: stage.loop),
                    try stage.saving.limit(for: RuleDraft.self, every: interval, mode: mode, on: stage.loop),
                    try stage.purging.limit(for: RuleDocument.self, every: interval, mode: mode, on: stage.loop),
                ]
                let isKept = isLong && mode == .firstly
                #expect(rules.map(\.isPersistent) == [false, isKept, isKept])
                #expect(try stage.engine.snapshot().rules.count == (isKept ? 2 : 0))
            }
        }
    }

    @Test("A rule made without limit is persistent only on request")
    func persistentOnRequest() throws {
        let stage = RuleScene()
        let rule = stage.saving.rule(for: RuleDocument.self, interval: .seconds(60), mode: .firstly, on: stage.loop)
        try rule.apply()
        #expect(try !rule.isPersistent && stage.engine.snapshot().rules.isEmpty)
        // And settings do not change it.
        let limit = try stage.purging.limit(for: RuleDraft.self, every: .seconds(60), mode: .firstly, on: stage.loop)
        limit.interval = .seconds(1)
        #expect(limit.isPersistent)
        limit.isPersistent = false
        limit.interval = .seconds(60)
        #expect(try stage.engine.snapshot().rules.isEmpty)
    }

    /// Persistence was not requested, so nothing may fail for it.
    @Test("A rule that cannot be saved is not made persistent")
    func unsavableRule() throws {
        final class Local: Sendable {}
        let engine = RuleEngine()
        let method = LimitedMethod<Local, Int>("save", engine: engine) { _, _ in }
        let rule = try method.limit(for: Local.self, every: .seconds(60), mode: .firstly, on: Loop.inVirtualTime().0)
        #expect(try !rule.isPersistent && engine.snapshot().rules.isEmpty)
    }
}
