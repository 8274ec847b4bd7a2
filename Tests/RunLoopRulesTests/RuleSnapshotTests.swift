import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// Persistent rules: what is saved, and what it does at the next start, which is another engine here.
@Suite(.timeBound) struct RuleSnapshotTests {
    typealias Snapshot = RuleEngine.Snapshot

    @Test("Persistent rules are applied again at the next start")
    func persistentRules() throws {
        let first = RuleScene()
        try first.limit(RuleDraft.self, 250, .last, isPersistent: true)
        try first.limit(RuleLetter.self, 100, .firstly)  // not persistent
        try first.engine.apply(
            first.purging.rule(
                for: RuleDocument.self, interval: .seconds(6), mode: .firstly, on: first.loop, isPersistent: true))
        let data = try JSONEncoder().encode(first.engine.snapshot())

        let second = RuleScene()
        try second.engine.apply(try JSONDecoder().decode(Snapshot.self, from: data), on: second.loop)
        #expect(
            second.engine.rules.map(\.description) == [
                #""save" of class RuleDraft: last, 0.25 seconds"#,
                #""purge" of type RuleDocument: firstly, 6.0 seconds"#,
            ])
        #expect(second.engine.rules.allSatisfy { $0.isPersistent && $0.loop === second.loop })
        second.send(0, 10, to: RuleDraft())
        #expect(second.ran == [(250, 10)])
        #expect(try second.engine.snapshot() == first.engine.snapshot())
    }

    @Test("A snapshot contains the persistent rules")
    func snapshotContents() throws {
        let stage = RuleScene()
        #expect(try stage.engine.snapshot() == decode(#"{"version":1,"rules":[]}"#))
        let rule = try stage.limit(RuleDraft.self, 250, .last)
        #expect(try stage.engine.snapshot().rules.isEmpty)
        rule.isPersistent = true
        #expect(try stage.engine.snapshot() == decode(snapshot(entry(target: draft))))
        #expect(try stage.engine.snapshot().version == 1)
    }

    @Test("An object's rule is never persistent")
    func objectRuleNotPersistent() throws {
        let stage = RuleScene()
        let document = RuleDocument()
        let rule = try stage.limit(document, 100)
        rule.isPersistent = true
        #expect(!rule.isPersistent)
        #expect(try stage.engine.snapshot().rules.isEmpty)
    }

    @Test("A persistent rule for a private type cannot be saved")
    func privateTypeCannotBeSaved() throws {
        let stage = RuleScene()
        let method = LimitedMethod<Hidden, Int>("save", engine: stage.engine) { _, _ in }
        let rule = method.rule(for: Hidden.self, interval: .seconds(1), on: stage.loop, isPersistent: true)
        #expect { try stage.engine.apply(rule) } throws: { "\($0)".contains("private or local type") }
        #expect(stage.engine.rules.isEmpty)
        rule.isPersistent = false
        try stage.engine.apply(rule)
        // Too late for an error at the application.
        rule.isPersistent = true
        #expect { try stage.engine.snapshot() } throws: { "\($0)".contains("private or local type") }
        rule.isPersistent = false
        #expect(try stage.engine.snapshot().rules.isEmpty)
    }

    private final class Hidden: Sendable {}

    // MARK: Methods that are declared later

    @Test("A rule for a method that is declared later takes effect then")
    func methodDeclaredLater() throws {
        let engine = RuleEngine()
        let (loop, _) = Loop.inVirtualTime()
        let saved = try decode(snapshot(entry(target: draft)))
        try engine.apply(saved, on: loop)
        #expect(engine.rules.isEmpty && engine.waitingRules == saved.rules)
        // Saving now loses nothing.
        #expect(try engine.snapshot() == saved)

        let log = Log<Int>()
        let otherName = LimitedMethod<RuleDocument, Int>("print", engine: engine) { _, _ in }
        let otherKind = LimitedMethod<RuleDocument.Type, Int>("save", engine: engine) { _, _ in }
        let otherType = LimitedMethod<RuleDraft, Int>("save", engine: engine) { _, _ in }
        #expect(engine.rules.isEmpty)
        let saving = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, input in log.add(input) }
        #expect(engine.rules.count == 1 && engine.waitingRules.isEmpty)
        saving(RuleDraft(), 1)
        saving(RuleDraft(), 2)
        #expect(log.entries == [])
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(log.entries == [2])
        withExtendedLifetime((otherName, otherKind, otherType)) {}
    }

    /// As declared in a program: Swift makes the constant at its first use.
    @Test("A lazy constant finds its rule at its first use")
    func lazyConstantFindsRule() throws {
        let json = """
            {"version":1,"rules":[{"message":"ring","type":"\(name(of: RuleBell.self))","isStatic":false,\
            "target":"\(name(of: RuleBell.self))","intervalNanoseconds":3600000000000,"mode":"firstly"}]}
            """
        let (loop, _) = Loop.inVirtualTime()
        try RuleEngine.shared.apply(try decode(json), on: loop)
        let bell = RuleBell()
        for _ in 1...3 { bell.ring() }
        #expect(bell.rings.value == 1)
        let rules = RuleEngine.shared.rules(for: bell)
        #expect(rules.count == 1)
        for rule in rules { try RuleEngine.shared.discard(rule) }
        bell.ring()
        #expect(bell.rings.value == 2)
    }

    @Test("A rule for a missing type waits")
    func ruleForMissingTypeWaits() throws {
        let stage = RuleScene()
        let saved = try decode(snapshot(entry(target: "7Nowhere4GoneC"), entry(target: draft)))
        try stage.engine.apply(saved, on: stage.loop)
        #expect(stage.engine.rules.count == 1 && stage.engine.waitingRules == [saved.rules[0]])
        #expect("\(saved.rules[0])" == #""save" of class 7Nowhere4GoneC: last, 0.25 seconds"#)
        stage.engine.discardWaitingRules()
        #expect(stage.engine.waitingRules.isEmpty && stage.engine.rules.count == 1)
    }

    @Test("Applying a snapshot twice replaces its rules")
    func snapshotAppliedTwice() throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDraft.self, 1, .firstly)
        rule.alwaysRun = { _, input in input == 7 }
        let saved = try decode(snapshot(entry(target: draft), entry(target: "7Nowhere4GoneC")))
        for _ in 1...2 { try stage.engine.apply(saved) }
        // The rule in force is the same, with its loop and its predicate.
        #expect(areSame(stage.engine.rules, [rule]) && stage.engine.waitingRules.count == 1)
        #expect(rule.interval == .milliseconds(250) && rule.mode == .last && rule.isPersistent)
        #expect(rule.loop === stage.loop && rule.alwaysRun != nil)
    }

    // MARK: What makes no sense

    @Test("An unknown version is an error, whatever else the snapshot contains")
    func unknownVersion() {
        for json in [#"{"version":2,"rules":[]}"#, #"{"version":2,"rules":"in another form"}"#, #"{"version":-1}"#] {
            #expect {
                try decode(json)
            } throws: {
                "\($0)".hasPrefix("snapshot of rules: unknown version") && "\($0)".hasSuffix("knows version 1")
            }
        }
    }

    @Test("A snapshot that conflicts with a rule changes nothing")
    func conflictingSnapshot() throws {
        let stage = RuleScene()
        let standing = try stage.limit(RuleLetter.self, 77, .firstly)
        // The rules before the invalid one are not applied either.
        for target in [document, name(of: RuleExpressLetter.self)] {
            let other = entry(target: draft).replacing("save", with: "print")
            #expect {
                try stage.engine.apply(try decode(snapshot(other, entry(target: target))))
            } throws: {
                "\($0)".contains("class RuleLetter: firstly, 0.077 seconds); discard that one first")
            }
            #expect(areSame(stage.engine.rules, [standing]) && stage.engine.waitingRules.isEmpty)
        }
    }

    // MARK: Helpers

    private var document: String { name(of: RuleDocument.self) }
    private var draft: String { name(of: RuleDraft.self) }

    private func name(of type: Any.Type) -> String { RuleEntry.name(of: type) }

    private func entry(target: String) -> String { RuleEntry(target: target).json }

    private func snapshot(_ entries: String...) -> String { RuleEntry.snapshot(entries) }

    @discardableResult
    private func decode(_ json: String) throws -> Snapshot { try RuleEntry.decode(json) }
}

/// Used by one test only, so that its method is not declared before.
final class RuleBell: Sendable {
    let rings = Count()
    private static let ringing = LimitedMethod<RuleBell, Void>("ring") { bell, _ in bell.rings.up() }
    func ring() { RuleBell.ringing(self) }
}
