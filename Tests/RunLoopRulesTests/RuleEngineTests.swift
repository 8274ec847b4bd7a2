import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// Applying, discarding and listing rules.
@Suite(.timeBound) struct RuleEngineTests {
    // MARK: Targets

    @Test("A rule for an instance limits that instance only")
    func ruleForInstance() throws {
        let stage = RuleScene()
        let (limited, other) = (RuleDocument(), RuleDocument())
        try stage.limit(limited, 100, .firstly)
        for input in 1...2 {
            stage.saving(limited, input)
            stage.saving(other, input * 10)
        }
        #expect(stage.ran == [(0, 1), (0, 10), (0, 20)])
    }

    @Test("A rule for a class counts all its instances together")
    func ruleForClass() throws {
        let stage = RuleScene()
        try stage.limit(RuleDocument.self, 100, .last)
        let documents = (1...3).map { _ in RuleDocument() }
        for (index, document) in documents.enumerated() { stage.saving(document, index) }
        stage.scene.run()
        #expect(stage.ran == [(100, 2)])
    }

    @Test("A subclass counts with its class")
    func subclassCounts() throws {
        let stage = RuleScene()
        try stage.limit(RuleLetter.self, 100, .firstly)
        stage.saving(RuleLetter(), 1)
        stage.saving(RuleExpressLetter(), 2)
        #expect(stage.ran == [(0, 1)])
        // Neither a class above nor one beside it.
        stage.saving(RuleDocument(), 3)
        stage.saving(RuleDraft(), 4)
        #expect(stage.ran == [(0, 1), (0, 3), (0, 4)])
    }

    @Test("A type that is known at run time only can be a target")
    func typeKnownAtRunTime() throws {
        let stage = RuleScene()
        let type: RuleDocument.Type = type(of: RuleExpressLetter() as RuleDocument)
        try stage.limit(type, 100, .firstly)
        for input in 1...2 {
            stage.saving(RuleExpressLetter(), input)
            stage.saving(RuleLetter(), input * 10)
        }
        #expect(stage.ran.map(\.input) == [1, 10, 20])
    }

    @Test("A rule for a type limits its static methods")
    func ruleForType() throws {
        let stage = RuleScene()
        let rule = stage.purging.rule(for: RuleDocument.self, interval: .milliseconds(100), mode: .last, on: stage.loop)
        try stage.engine.apply(rule)
        stage.purging(RuleDocument.self, 1)
        stage.purging(RuleDraft.self, 2)
        // The class's methods of objects are independent.
        stage.saving(RuleDocument(), 3)
        stage.scene.run()
        #expect(stage.ran == [(0, 3), (100, 2)])
    }

    @Test("Static methods of a type that is no class can be limited")
    func staticMethodsOfEnum() throws {
        let stage = RuleScene()
        let method = LimitedMethod<RuleCache.Type, Int>("trim", engine: stage.engine) { _, input in
            stage.scene.write(input)
        }
        try stage.engine.apply(
            method.rule(for: RuleCache.self, interval: .seconds(1), mode: .firstly, on: stage.loop))
        method(RuleCache.self, 1)
        method(RuleCache.self, 2)
        #expect(stage.ran == [(0, 1)] && stage.engine.rules(for: RuleCache.self).count == 1)
    }

    @Test("An instance's rule takes precedence over its class's")
    func instanceRulePrecedence() throws {
        let stage = RuleScene()
        let own = RuleDocument()
        try stage.limit(RuleDocument.self, 1000, .firstly)
        let rule = try stage.limit(own, 10, .last)
        stage.saving(own, 1)
        stage.saving(RuleDocument(), 2)
        stage.saving(RuleDocument(), 3)
        stage.scene.run()
        #expect(stage.ran == [(0, 2), (10, 1)])
        // Without it the class's counts again, whose window has begun at 0.
        try stage.engine.discard(rule)
        stage.saving(own, 4)
        #expect(stage.ran == [(0, 2), (10, 1)])
    }

    @Test("Rules for different methods are independent")
    func independentMethods() throws {
        let stage = RuleScene()
        let printing = LimitedMethod<RuleDocument, Int>("print", engine: stage.engine) { _, input in
            stage.scene.write(input)
        }
        let document = RuleDocument()
        try stage.limit(document, 100, .firstly)
        try stage.engine.apply(printing.rule(for: RuleDocument.self, interval: .zero, on: stage.loop))
        for input in 1...2 {
            stage.saving(document, input)
            printing(document, input * 10)
        }
        #expect(stage.ran.map(\.input) == [1, 10, 20])
    }

    // MARK: Apply

    @Test("Applying an applied rule is an error")
    func applyTwice() throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 100)
        let text =
            #""save" of class RuleDocument: the rule is applied already; change its settings, or discard it first"#
        #expect { try stage.engine.apply(rule) } throws: { "\($0)" == text }
        #expect(rule.isApplied && stage.engine.rules.count == 1)
    }

    @Test("A method has one rule in a class hierarchy")
    func oneRulePerHierarchy() throws {
        for (standing, other) in [
            (RuleDocument.self, RuleExpressLetter.self), (RuleExpressLetter.self, RuleDocument.self),
        ]
            as [(RuleDocument.Type, RuleDocument.Type)]
        {
            let stage = RuleScene()
            let first = try stage.limit(standing, 1000, .last)
            let second = stage.rule(for: other, 100)
            do throws(MethodRuleError) {
                try stage.engine.apply(second)
                Issue.record("applied")
            } catch {
                guard case .conflict(let rule, let inTheWay) = error else { throw error }
                #expect(rule === second && inTheWay === first)
                #expect(
                    "\(error)" == "\"save\" of class \(other): there is a rule in the class hierarchy already "
                        + "(\"save\" of class \(standing): last, 1.0 seconds); discard that one first")
            }
            #expect(!second.isApplied && first.isApplied && stage.engine.rules.count == 1)
            try stage.engine.discard(first)
            try stage.engine.apply(second)
            #expect(second.isApplied)
        }
    }

    @Test("Sibling classes and instances do not conflict")
    func siblingClasses() throws {
        let stage = RuleScene()
        try stage.limit(RuleDraft.self, 100)
        try stage.limit(RuleLetter.self, 100)
        let (draft, letter) = (RuleDraft(), RuleExpressLetter())
        try stage.limit(draft, 100)
        try stage.limit(letter, 100)
        // Static methods are independent too.
        try stage.engine.apply(stage.purging.rule(for: RuleDocument.self, interval: .seconds(1), on: stage.loop))
        #expect(stage.engine.rules.count == 5)
        withExtendedLifetime((draft, letter)) {}
    }

    @Test("Static methods have one rule in a class hierarchy")
    func oneStaticRulePerHierarchy() throws {
        let stage = RuleScene()
        let letter = stage.purging.rule(
            for: RuleLetter.self as RuleDocument.Type, interval: .seconds(1), on: stage.loop)
        try stage.engine.apply(letter)
        let document = stage.purging.rule(for: RuleDocument.self, interval: .seconds(1), on: stage.loop)
        #expect(throws: MethodRuleError.self) { try stage.engine.apply(document) }
    }

    @Test("Applying a rule for the same target and method replaces the settings")
    func replacesSettings() throws {
        let stage = RuleScene()
        let document = RuleDocument()
        for makeRule in [{ stage.rule(for: RuleDocument.self, $0, $1) }, { stage.rule(for: document, $0, $1) }]
            as [(Int64, AnyMethodRule.Mode) -> MethodRule<RuleDocument, Int>]
        {
            let old = makeRule(1000, .last)
            try stage.engine.apply(old)
            let new = makeRule(50, .debounce)
            try stage.engine.apply(new)
            #expect(!old.isApplied && new.isApplied)
            #expect(
                stage.engine.rules.filter { $0 === old || $0 === new }.map(ObjectIdentifier.init) == [
                    ObjectIdentifier(new)
                ])
            // Changing the old rule has no effect.
            old.interval = .zero
            #expect(new.interval == .milliseconds(50))
        }
    }

    @Test("A rule takes over the window and the delayed calls of the rule it replaces")
    func replacedRuleHandsOver() throws {
        let firstly = RuleScene()
        try firstly.limit(RuleDocument.self, 100, .firstly)
        firstly.saving(RuleDocument(), 1)
        try firstly.limit(RuleDocument.self, 100, .firstly)
        firstly.saving(RuleDocument(), 2)
        #expect(firstly.ran == [(0, 1)])

        let last = RuleScene()
        try last.limit(RuleDocument.self, 100, .last)
        last.saving(RuleDocument(), 1)
        try last.limit(RuleDocument.self, 30, .debounce)
        #expect(last.ran == [])
        last.scene.run()
        #expect(last.ran == [(100, 1)])
    }

    @Test("A replaced rule that is applied again starts a new window")
    func replacedRuleAppliedAgain() throws {
        let stage = RuleScene()
        let first = try stage.limit(RuleDocument.self, 100, .firstly)
        stage.saving(RuleDocument(), 1)
        let second = try stage.limit(RuleDocument.self, 100, .firstly)
        try stage.engine.discard(second)
        try stage.engine.apply(first)
        for input in 2...3 { stage.saving(RuleDocument(), input) }
        #expect(stage.ran.map(\.input) == [1, 2])
    }

    @Test("A rule of another engine is refused")
    func otherEngine() throws {
        let (stage, other) = (RuleScene(), RuleScene())
        let rule = stage.rule(for: RuleDocument.self, 100)
        for use in [other.engine.apply, other.engine.discard] {
            #expect { try use(rule) } throws: { "\($0)".contains("another engine") }
        }
        #expect(!rule.isApplied)
    }

    // MARK: Discard

    @Test("Discarding a rule that is not applied is an error")
    func discardUnapplied() throws {
        let stage = RuleScene()
        let rule = stage.rule(for: RuleDocument.self, 100)
        let discard = { try stage.engine.discard(rule) }
        #expect { try discard() } throws: { "\($0)".contains("is not applied") }
        try stage.engine.apply(rule)
        try discard()
        #expect { try discard() } throws: { "\($0)".contains("is not applied") }
        // So is a replaced rule; the rule that replaced it stays.
        try stage.engine.apply(rule)
        let new = try stage.limit(RuleDocument.self, 10)
        #expect { try discard() } throws: { "\($0)".contains("is not applied") }
        #expect(new.isApplied)
    }

    @Test("A discarded rule limits nothing and can be applied again")
    func discardedRule() throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 100, .firstly)
        for input in 1...2 { stage.saving(RuleDocument(), input) }
        try stage.engine.discard(rule)
        for input in 3...4 { stage.saving(RuleDocument(), input) }
        try stage.engine.apply(rule)
        // It starts a new window.
        for input in 5...6 { stage.saving(RuleDocument(), input) }
        #expect(stage.ran.map(\.input) == [1, 3, 4, 5])
    }

    @Test("A discarded rule's delayed call still runs", arguments: [AnyMethodRule.Mode.last, .debounce])
    func discardedRuleRunsDelayedCall(_ mode: AnyMethodRule.Mode) throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 100, mode)
        stage.scene.at(30) { try! stage.engine.discard(rule) }
        stage.send(0, 10, 40, to: RuleDocument())
        #expect(stage.ran == [(30, 10), (40, 40)])
    }

    @Test("A discarded rule's delayed call runs on the rule's loop")
    func discardedRuleRunsDelayedCallOnLoop() throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let engine = RuleEngine()
        let log = Log<Bool>()
        let method = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, _ in
            log.add(thread.loop.isOnOwnThread)
        }
        let rule = method.rule(for: RuleDocument.self, interval: .seconds(1), on: thread.loop)
        try engine.apply(rule)
        method(RuleDocument(), 1)
        try engine.discard(rule)
        try thread.performAndWait {}
        #expect(log.entries == [true])
    }

    // MARK: Lists

    @Test("The engine lists all rules in the order in which they were applied")
    func listsRulesInOrder() throws {
        let stage = RuleScene()
        #expect(stage.engine.rules.isEmpty)
        let document = RuleDocument()
        let purge = stage.purging.rule(for: RuleDraft.self as RuleDocument.Type, interval: .zero, on: stage.loop)
        try stage.engine.apply(purge)
        let rules: [AnyMethodRule] = [
            purge, try stage.limit(document, 1), try stage.limit(RuleDraft.self, 1),
            try stage.limit(RuleLetter.self, 1),
        ]
        #expect(areSame(stage.engine.rules, rules))
        try stage.engine.discard(rules[1])
        #expect(areSame(stage.engine.rules, [rules[0], rules[2], rules[3]]))
    }

    @Test("A rule that replaces another is listed in its place")
    func replacementKeepsPlace() throws {
        let stage = RuleScene()
        try stage.limit(RuleDraft.self, 1)
        let second = try stage.limit(RuleLetter.self, 1)
        let first = try stage.limit(RuleDraft.self, 2)
        #expect(areSame(stage.engine.rules, [first, second]))
    }

    @Test("The engine lists an object's own rules and its classes'")
    func listsRulesOfObject() throws {
        let stage = RuleScene()
        let printing = LimitedMethod<RuleDraft, Int>("print", engine: stage.engine) { _, _ in }
        let (draft, other) = (RuleDraft(), RuleDraft())
        let base = try stage.limit(RuleDocument.self, 1)
        let own = try stage.limit(draft, 1)
        let draftClass = printing.rule(for: RuleDraft.self, interval: .zero, on: stage.loop)
        try stage.engine.apply(draftClass)
        let purge = stage.purging.rule(for: RuleDocument.self, interval: .zero, on: stage.loop)
        try stage.engine.apply(purge)
        #expect(areSame(stage.engine.rules(for: draft), [base, own, draftClass]))
        #expect(areSame(stage.engine.rules(for: other), [base, draftClass]))
        #expect(areSame(stage.engine.rules(for: RuleDocument()), [base]))
        #expect(areSame(stage.engine.rules(for: RuleDraft.self), [base, draftClass, purge]))
        #expect(areSame(stage.engine.rules(for: RuleDocument.self), [base, purge]))
        #expect(stage.engine.rules(for: Count()).isEmpty && stage.engine.rules(for: Int.self).isEmpty)
    }

    @Test("A rule describes what it limits")
    func ruleDescription() {
        let stage = RuleScene()
        #expect("\(stage.rule(for: RuleDraft.self, 1500))" == #""save" of class RuleDraft: debounce, 1.5 seconds"#)
        let draft = RuleDraft()
        #expect("\(stage.rule(for: draft, 10, .last))" == #""save" of one RuleDraft: last, 0.01 seconds"#)
        let purge = stage.purging.rule(for: RuleDocument.self, interval: .zero, mode: .firstly, on: stage.loop)
        #expect("\(purge)" == #""purge" of type RuleDocument: firstly, 0.0 seconds"#)
    }

    // MARK: Methods

    @Test("A deallocated method takes its rules along")
    func deallocatedMethod() throws {
        let engine = RuleEngine()
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let (rule, own): (MethodRule<RuleDocument, Int>, MethodRule<RuleDocument, Int>)
        let document = RuleDocument()
        do {
            let method = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, input in log.add(input) }
            rule = method.rule(for: RuleDocument.self, interval: .seconds(1), on: loop)
            own = method.rule(for: document, interval: .seconds(1), on: loop)
            try engine.apply(rule)
            try engine.apply(own)
            method(RuleDocument(), 1)
            method(document, 2)
        }
        #expect(log.entries.sorted() == [1, 2] && !rule.isApplied && !own.isApplied && engine.rules.isEmpty)
        #expect { try engine.apply(rule) } throws: { "\($0)".contains("is deallocated") }
        #expect(!rule.isApplied)
    }
}
