import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// Rules from a snapshot, and the types that they name: the engine knows those that the program has shown it.
@Suite(.timeBound) struct RuleTypeTests {
    private let engine = RuleEngine()
    private let loop = Loop.inVirtualTime().0
    private let log = Log<Int>()

    private static let hour = 3_600_000_000_000

    /// A rule that runs the first call of an hour.
    private func apply(_ entries: RuleEntry...) throws {
        let json = RuleEntry.snapshot(entries.map(\.json)).replacing("250000000", with: "\(RuleTypeTests.hour)")
        try engine.apply(try RuleEntry.decode(json.replacing("\"last\"", with: "\"firstly\"")), on: loop)
    }

    private func declareSaving() -> LimitedMethod<RuleDocument, Int> {
        LimitedMethod("save", engine: engine) { [log] _, input in log.add(input) }
    }

    // MARK: Waiting

    @Test("A subclass's rule takes effect before the first call that it limits")
    func firstCall() throws {
        try apply(RuleEntry(target: RuleEntry.name(of: RuleDraft.self)))
        let saving = declareSaving()
        for input in 1...2 { saving(RuleDocument(), input) }
        #expect(engine.rules.isEmpty && engine.waitingRules.count == 1)
        for input in 3...4 { saving(RuleDraft(), input) }
        #expect(log.entries == [1, 2, 3])
        #expect(engine.rules.map(\.subject) == [#""save" of class RuleDraft"#] && engine.waitingRules.isEmpty)
    }

    @Test("A call on an object of a class below makes the rule's class known")
    func classBelow() throws {
        try apply(RuleEntry(target: RuleEntry.name(of: RuleLetter.self)))
        let saving = declareSaving()
        for input in 1...2 { saving(RuleExpressLetter(), input) }
        #expect(log.entries == [1] && engine.rules.map(\.subject) == [#""save" of class RuleLetter"#])
    }

    @Test("A call of a static method on a subclass makes that class known")
    func staticMethod() throws {
        try apply(RuleEntry(method: "purge", isStatic: true, target: RuleEntry.name(of: RuleDraft.self)))
        let purging = LimitedMethod<RuleDocument.Type, Int>("purge", engine: engine) { [log] _, input in
            log.add(input)
        }
        for input in 1...2 { purging(RuleDocument.self, input) }
        for input in 3...4 { purging(RuleDraft.self, input) }
        #expect(log.entries == [1, 2, 3])
    }

    @Test("A class that declares a method of its own is known")
    func ownMethod() throws {
        engine.show(RuleDraft.self)
        let saving = declareSaving()
        try apply(RuleEntry(target: RuleEntry.name(of: RuleDraft.self)))
        #expect(engine.rules.count == 1 && engine.waitingRules.isEmpty)
        engine.discardWaitingRules()
        withExtendedLifetime(saving) {}
    }

    @Test("A program's rule for a class comes after the snapshot's, which has waited for that class")
    func ruleAfterSnapshot() throws {
        try apply(RuleEntry(target: RuleEntry.name(of: RuleDraft.self)))
        let saving = declareSaving()
        let rule = try saving.limit(for: RuleDraft.self, every: .seconds(7), on: loop)
        #expect(areSame(engine.rules, [rule]) && engine.waitingRules.isEmpty && rule.interval == .seconds(7))
    }

    @Test("A question makes no class known")
    func questions() throws {
        try apply(RuleEntry(target: RuleEntry.name(of: RuleDraft.self)))
        let saving = declareSaving()
        #expect(engine.rules(for: RuleDraft()).isEmpty && engine.rules(for: RuleDraft.self).isEmpty)
        _ = saving.rule(for: RuleDraft.self, interval: .seconds(1), on: loop)
        #expect(engine.waitingRuleFaults.isEmpty && engine.waitingRules.count == 1)
    }

    @Test("Rules that are discarded while they wait take no effect")
    func discarded() throws {
        try apply(RuleEntry(target: RuleEntry.name(of: RuleDraft.self)))
        let saving = declareSaving()
        engine.discardWaitingRules()
        for input in 1...2 { saving(RuleDraft(), input) }
        #expect(log.entries == [1, 2] && engine.rules.isEmpty)
        let hasRules = saving.book.hasRules.load(ordering: .relaxed)
        #expect(!hasRules, "a call has nothing to look for any more")
    }

    /// Rules of known classes only, so that they take effect or wait, and never conflict.
    @Test("Whether the engine knew the classes changes no call", arguments: 1...60 as ClosedRange<UInt64>)
    func knowledgeChangesNoCall(_ seed: UInt64) throws {
        func play(knows: Bool) throws -> [RateLimitEntry] {
            var random = SplitMix(seed)
            let scene = RateLimitScene()
            let engine = RuleEngine()
            if knows { engine.showTestClasses() }
            let sets: [[Any.Type]] = [
                [RuleDraft.self, RuleLetter.self], [RuleExpressLetter.self, RuleDraft.self], [RuleDocument.self],
                [RuleLetter.self], [RuleExpressLetter.self],
            ]
            let rules = [("save", false), ("purge", true)].flatMap { method, isStatic in
                random.pick(sets).map { type in
                    RuleEntry(method: method, isStatic: isStatic, target: RuleEntry.name(of: type)).json
                        .replacing("250000000", with: "\(random.below(20) * 1_000_000)")
                        .replacing("\"last\"", with: "\"\(random.pick(AnyMethodRule.Mode.allCases).rawValue)\"")
                }
            }
            let snapshot = try RuleEntry.decode(RuleEntry.snapshot(rules))
            let isDeclaredFirst = random.once(in: 2)
            if !isDeclaredFirst { try engine.apply(snapshot, on: scene.loop) }
            let saving = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, input in scene.write(input) }
            let purging = LimitedMethod<RuleDocument.Type, Int>("purge", engine: engine) { _, input in
                scene.write(input)
            }
            if isDeclaredFirst { try engine.apply(snapshot, on: scene.loop) }
            let targets = [RuleDocument(), RuleDraft(), RuleLetter(), RuleExpressLetter(), RuleExpressLetter()]
            for input in 1...40 {
                let (time, target) = (Int64(random.below(100)), random.pick(targets))
                let isStatic = random.once(in: 3)
                scene.at(time) { if isStatic { purging(type(of: target), input) } else { saving(target, input) } }
            }
            scene.run()
            return scene.log.entries
        }
        let entries = try play(knows: false)
        #expect(try entries == play(knows: true))
        #expect(!entries.isEmpty)
    }

    // MARK: Names that no type has

    private static let issued = ["$5_", "$", "$94", "$n", "Say$5_G", "Si_$SSt"]

    /// The runtime's look-up crashes for the first six, and for many more; others name no class.
    @Test("A name that no known type has waits, and is never looked up")
    func oddNames() throws {
        let document = RuleEntry.name(of: RuleDocument.self)
        let odd =
            RuleTypeTests.issued + [
                " ", "\u{0}", "\u{1}abcd", "\u{2}\u{0}\u{0}\u{0}\u{0}", "$s", "$sSi", "SgSg", "Sa", "Si", "yp", "ypSg",
                "_", "yXl", "x", "xm", "q_", "Qz", String(repeating: "Say", count: 1365), "🙂",
                String(repeating: "Sg", count: 2048), String(repeating: "9", count: 400), String(document.dropLast()),
                document + "m", document + "Sg", "XMTm", "4main" + String(repeating: "1aV", count: 1363),
            ]
        let saving = declareSaving()
        let standing = try saving.limit(for: RuleLetter.self, every: .seconds(77), on: loop)
        for name in odd {
            let escaped = name.unicodeScalars.map { $0.value < 32 ? "\\u000\($0.value)" : "\($0)" }.joined()
            for entry in [RuleEntry(target: escaped), RuleEntry(type: escaped, target: escaped)] {
                try apply(entry)
                #expect(engine.waitingRules.count == 1 && areSame(engine.rules, [standing]), "\(name)")
                for rule in engine.waitingRules { #expect("\(rule)".count < 300) }
                saving(RuleDraft(), 1)
                engine.discardWaitingRules()
            }
            // The target is known, and so are the classes above it.
            #expect {
                try apply(RuleEntry(type: escaped))
            } throws: {
                "\($0)".contains("type is \"") && "\($0)".count < 400
            }
        }
    }

    @Test("A name longer than 4,096 bytes is refused", arguments: [4_000, 200_000])
    func longNames(_ count: Int) throws {
        let name = "4main" + String(repeating: "1aV", count: count)
        for entry in [RuleEntry(target: name), RuleEntry(type: name)] {
            #expect {
                try apply(entry)
            } throws: {
                let text = "\($0)"
                return text.contains("is \"4main1aV1aV") && text.contains("of at most 4096 bytes") && text.count < 400
            }
        }
        #expect(engine.waitingRules.isEmpty)
    }

    @Test("A private or local type has no lasting name; every other one has one")
    func lastingNames() throws {
        final class Local: Sendable {}
        for type in [Local.self, Hidden.self, [Hidden].self, Hidden.Inner.self] as [Any.Type] {
            #expect(lastingName(of: type) == nil, "\(type)")
        }
        let types: [Any.Type] = [
            RuleDocument.self, RuleExpressLetter.self, RuleCache.self, Outer.Inner.self, [Outer.Inner].self, Größe.self,
            Int.self,
        ]
        let names = types.compactMap(lastingName)
        #expect(Set(names).count == types.count, "\(names)")
    }

    private final class Hidden: Sendable { enum Inner {} }
}

enum Outer { final class Inner: Sendable {} }
final class Größe: Sendable {}
