import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// Invalid snapshots: refused as a whole, with an error that names the rule, the field and what would be valid.
@Suite(.timeBound) struct RuleSnapshotFaultTests {
    typealias Fault = RuleEngine.Snapshot.Fault

    private let document = RuleEntry.name(of: RuleDocument.self)
    private let draft = RuleEntry.name(of: RuleDraft.self)
    private let letter = RuleEntry.name(of: RuleLetter.self)
    private let expressLetter = RuleEntry.name(of: RuleExpressLetter.self)

    /// A valid rule, to put before another one.
    private var good: RuleEntry { RuleEntry(target: draft) }

    private func refusal(_ body: () throws -> Void) throws -> Fault {
        do {
            try body()
        } catch MethodRuleError.invalidSnapshot(let fault) {
            return fault
        }
        return try #require(nil as Fault?, "it was accepted")
    }

    private func refusal(decoding json: String) throws -> Fault { try refusal { try RuleEntry.decode(json) } }

    // MARK: Fields

    @Test(
        "An invalid field is named",
        arguments: [
            ("\"save\"", "7", "message is 7; it must be the name of a method"),
            (
                "250000000", "9223372036854775807",
                "intervalNanoseconds is 9223372036854775807; it must be a whole number "
            ),
            (
                "250000000", "-9223372036854775808",
                "intervalNanoseconds is -9223372036854775808; it must be a whole number "
            ),
            ("250000000", "-1", "intervalNanoseconds is -1; it must be a whole number from 0, "),
            ("250000000", "3153600000000000001", "intervalNanoseconds is 3153600000000000001; it must be"),
            ("250000000", "0.5", "intervalNanoseconds is 0.5; it must be a whole number "),
            ("250000000", "99999999999999999999", "intervalNanoseconds is 1e+20; it must be a whole number "),
            ("250000000", "\"1 s\"", "intervalNanoseconds is \"1 s\"; it must be a whole number "),
            ("\"last\"", "\"lately\"", "mode is \"lately\"; it must be one of \"firstly\", \"last\", \"debounce\""),
            ("\"last\"", "null", "mode is null; it must be one of"),
            ("\"mode\"", "\"mood\"", "mode is missing; it must be one of"),
            ("false", "0", "isStatic is 0; it must be true or false"),
            (
                "\"type\":", "\"type\":\"\",\"was\":",
                "type is \"\"; it must be the name of a type as the compiler mangles it"
            ),
            ("\"target\":", "\"target\":[],\"was\":", "target is something else; it must be the name of a type"),
        ])
    func invalidField(_ old: String, _ new: String, _ text: String) throws {
        let rule = good.json.replacing(old, with: new)
        #expect(rule != good.json)
        let fault = try refusal(decoding: RuleEntry.snapshot(RuleEntry(target: letter).json, rule))
        #expect("\(fault)".hasPrefix("rules[1]") && "\(fault)".contains(": \(text)"), "\(fault)")
        #expect(fault.index == 1 && fault.field.map(text.hasPrefix) == true)
        if fault.method != nil, fault.target != nil {
            #expect("\(fault)".contains(#"("save" of \#(draft))"#))
        }
        #expect("\(MethodRuleError.invalidSnapshot(fault))" == "snapshot of rules: \(fault)")
    }

    @Test(
        "Text that is no snapshot is refused",
        arguments: [
            ("[]", nil, nil, "must be an object with \"version\" and \"rules\""), ("7", nil, nil, "must be an object"),
            (#"{"rules":[]}"#, nil, "version", "is missing; it must be a whole number: 1"),
            (#"{"version":"1","rules":[]}"#, nil, "version", "is \"1\"; it must be a whole number: 1"),
            (#"{"version":1}"#, nil, "rules", "is missing; it must be a list of rules"),
            (#"{"version":1,"rules":null}"#, nil, "rules", "is null; it must be a list of rules"),
            (#"{"version":1,"rules":{}}"#, nil, "rules", "is something else; it must be a list of rules"),
            (#"{"version":1,"rules":[7]}"#, 0, nil, "must be an object with the fields of a rule"),
            (#"{"version":1,"rules":[{}]}"#, 0, "message", "is missing; it must be the name of a method"),
            (#"{"version":1,"rules":[{"message":"save"}]}"#, 0, "target", "is missing; it must be the name of a type"),
        ] as [(String, Int?, String?, String)])
    func noSnapshot(_ json: String, _ index: Int?, _ field: String?, _ text: String) throws {
        let fault = try refusal(decoding: json)
        #expect(fault.index == index && fault.field == field && fault.reason.hasPrefix(text), "\(fault)")
    }

    /// The coder itself reports text that is no JSON.
    @Test("Text that the coder cannot read is the coder's error", arguments: ["", "{", "null,"])
    func coderError(_ json: String) {
        #expect(throws: DecodingError.self) { try RuleEntry.decode(json) }
    }

    @Test("A fault quotes a snapshot in one short line")
    func faultQuotesShortly() throws {
        let odd = "a\\u202Eb\\nc\\u001B[31m" + String(repeating: "x", count: 5000)
        let json = RuleEntry.snapshot(good.json.replacing("\"save\"", with: "\"\(odd)\"").replacing("false", with: "0"))
        let text = "\(try refusal(decoding: json))"
        #expect(text.contains(#"a\u{202E}b\nc\u{1B}[31mxxx"#) && text.contains("x…"), "\(text)")
        #expect(text.count < 250 && !text.unicodeScalars.contains { $0.value < 32 || $0.value == 0x202E })
    }

    /// The library reads every snapshot that it saves.
    @Test("Intervals beyond the range are saved as its bounds")
    func intervalBounds() throws {
        for (interval, saved) in [
            (.seconds(Int64.max), 3_153_600_000_000_000_000), (.seconds(-5), 0), (.nanoseconds(7), 7),
        ] as [(Duration, Int64)] {
            let stage = RuleScene()
            let rule = stage.saving.rule(for: RuleDraft.self, interval: interval, on: stage.loop, isPersistent: true)
            try rule.apply()
            let snapshot = try stage.engine.snapshot()
            #expect(snapshot.rules.map(\.intervalNanoseconds) == [saved])
            let data = try JSONEncoder().encode(snapshot)
            #expect(try JSONDecoder().decode(RuleEngine.Snapshot.self, from: data) == snapshot)
        }
        #expect(RuleEngine.Snapshot.longestInterval == .seconds(100 * 365 * 86_400))
    }

    // MARK: Types and hierarchies

    /// The faults that applying finds in the rules, with their method declared and not declared.
    private func refusals(_ entries: RuleEntry..., sourceLocation: SourceLocation = #_sourceLocation) throws -> [Fault]
    {
        let json = RuleEntry.snapshot(entries.map(\.json))
        let declared = RuleScene()
        let standing = try declared.limit(RuleLetter.self, 77, .firstly)
        let undeclared = RuleEngine()
        undeclared.showTestClasses()
        for engine in [declared.engine, undeclared] {
            _ = LimitedMethod<Int.Type, Void>("shown", engine: engine) { _, _ in }
        }
        let waiting = try RuleEntry.decode(RuleEntry.snapshot(RuleEntry(target: letter).json))
        try undeclared.apply(waiting)
        let faults = [
            try refusal { try declared.engine.apply(try RuleEntry.decode(json), on: declared.loop) },
            try refusal { try undeclared.apply(try RuleEntry.decode(json)) },
        ]
        // All rules or none.
        #expect(areSame(declared.engine.rules, [standing]), sourceLocation: sourceLocation)
        #expect(standing.interval == .milliseconds(77) && declared.engine.waitingRules.isEmpty)
        #expect(undeclared.rules.isEmpty && undeclared.waitingRules == waiting.rules, sourceLocation: sourceLocation)
        return faults
    }

    @Test("A target that is no class is refused")
    func targetIsNoClass() throws {
        for fault in try refusals(good, RuleEntry(target: "Si")) {
            #expect(
                "\(fault)" == "rules[1] (\"save\" of Int): target is Int, which does not have this method; it must be "
                    + "RuleDocument or a class below it")
        }
        for fault in try refusals(good, RuleEntry(type: "Si", target: "Si")) {
            #expect(
                "\(fault)" == "rules[1] (\"save\" of Int): type is Int, which is no class; it must be a class, unless "
                    + "\"isStatic\" is true")
        }
        // Another class.
        let count = RuleEntry.name(of: Count.self)
        for fault in try refusals(good, RuleEntry(target: count)) {
            #expect(fault.index == 1 && fault.field == "target" && fault.reason.hasPrefix("is Count, which does not"))
        }
        // The class above the declaring one.
        for fault in try refusals(good, RuleEntry(type: letter, target: document)) {
            #expect(fault.reason.contains("it must be RuleLetter or a class below it"))
        }
    }

    @Test("A missing declaring type is refused if its target exists")
    func missingDeclaringType() throws {
        for fault in try refusals(good, RuleEntry(type: "7Nowhere4GoneC", target: draft)) {
            #expect(fault.index == 1 && fault.field == "type")
            #expect(
                fault.reason == "is \"7Nowhere4GoneC\"; it must be RuleDraft, the target, or a class above it")
        }
    }

    @Test("A static method's type need not be a class")
    func staticMethodOfEnum() throws {
        let cache = RuleEntry.name(of: RuleCache.self)
        let engine = RuleEngine()
        let rule = RuleEntry(method: "trim", type: cache, isStatic: true, target: cache)
        try engine.apply(try RuleEntry.decode(RuleEntry.snapshot(rule.json)), on: Loop.inVirtualTime().0)
        let method = LimitedMethod<RuleCache.Type, Int>("trim", engine: engine) { _, _ in }
        #expect(engine.rules.count == 1)
        withExtendedLifetime(method) {}
    }

    @Test("Two identical rules are refused")
    func identicalRules() throws {
        for fault in try refusals(good, RuleEntry(target: expressLetter), good) {
            #expect(
                "\(fault)"
                    == "rules[2] (\"save\" of RuleDraft): target appears twice: rules[0] is for it too; a method "
                    + "has one rule there: remove one of the two")
        }
        // A missing type is also equal to itself.
        for fault in try refusals(RuleEntry(target: "7Nowhere4GoneC"), RuleEntry(target: "7Nowhere4GoneC")) {
            #expect(fault.index == 1 && fault.reason.hasPrefix("appears twice"))
        }
    }

    @Test("Two rules of one hierarchy are refused")
    func rulesOfOneHierarchy() throws {
        for (first, second) in [(document, draft), (draft, document)] {
            for fault in try refusals(RuleEntry(target: first), RuleEntry(target: second)) {
                #expect(fault.index == 1 && fault.field == "target" && fault.target == second)
                #expect(fault.reason.hasPrefix("is one of two in a class hierarchy: rules[0] is for "))
            }
        }
        // Over two levels, and with another rule between them in the list.
        for fault in try refusals(
            RuleEntry(target: document), RuleEntry(method: "print"), RuleEntry(target: expressLetter))
        {
            #expect(fault.index == 2)
        }
    }

    @Test("Compatible rules are accepted")
    func compatibleRules() throws {
        let engine = RuleEngine()
        // Sibling classes; another method; the static method of the same name.
        let rules = [
            good, RuleEntry(target: letter), RuleEntry(method: "print"), RuleEntry(isStatic: true, target: document),
        ]
        try engine.apply(try RuleEntry.decode(RuleEntry.snapshot(rules.map(\.json))))
        #expect(engine.waitingRules.count == 4)
    }

    @Test("A rule in the hierarchy of a waiting one is refused")
    func hierarchyOfWaitingRule() throws {
        let engine = RuleEngine()
        engine.showTestClasses()
        let older = try RuleEntry.decode(RuleEntry.snapshot(RuleEntry(target: document).json))
        try engine.apply(older)
        let newer = try RuleEntry.decode(RuleEntry.snapshot(RuleEntry(method: "print").json, good.json))
        let fault = try refusal { try engine.apply(newer) }
        #expect(
            "\(fault)"
                == "rules[1] (\"save\" of RuleDraft): target is one of two in a class hierarchy: a rule that waits "
                + "for the same method is for RuleDocument; a method has one rule there: discardWaitingRules() first")
        #expect(engine.waitingRules == older.rules)
        engine.discardWaitingRules()
        try engine.apply(newer)
        #expect(engine.waitingRules == newer.rules)
    }

    // MARK: When the method is declared, and when the type is known

    @Test("Rules are checked again when their method is declared")
    func checkedAtDeclaration() throws {
        let count = RuleEntry.name(of: Count.self)
        let bad: [([RuleEntry], String)] = [
            ([good, RuleEntry(target: count)], "rules[1] (\"save\" of Count): target is Count, which does not have"),
            ([RuleEntry(target: document), good], "rules[1] (\"save\" of RuleDraft): target is one of two in a class"),
            (
                [RuleEntry(target: expressLetter), RuleEntry(target: letter)],
                "rules[1] (\"save\" of RuleLetter): target"
            ),
        ]
        for (entries, text) in bad {
            let engine = RuleEngine()
            let snapshot = try RuleEntry.decode(RuleEntry.snapshot(entries.map(\.json)))
            try engine.apply(snapshot, on: Loop.inVirtualTime().0)
            #expect(engine.waitingRuleFaults.isEmpty)
            engine.showTestClasses()
            #expect(engine.waitingRuleFaults.isEmpty)
            let method = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, _ in }
            // Not even the valid rule: all are applied or none.
            #expect(engine.rules.isEmpty && engine.waitingRules == snapshot.rules)
            #expect(engine.waitingRuleFaults.count == 1 && "\(engine.waitingRuleFaults)".contains(text))
            // The next start does not refuse the snapshot for it.
            #expect(try engine.snapshot().rules.isEmpty)
            engine.discardWaitingRules()
            #expect(engine.waitingRuleFaults.isEmpty)
            withExtendedLifetime(method) {}
        }
    }

    @Test("A rule whose type is known later takes effect when no rule conflicts")
    func typeIsKnownLater() throws {
        let engine = RuleEngine()
        let loop = Loop.inVirtualTime().0
        try engine.apply(try RuleEntry.decode(RuleEntry.snapshot(good.json)), on: loop)
        let method = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, _ in }
        let inTheWay = try method.limit(for: RuleDocument.self, every: .seconds(1), on: loop)
        #expect(engine.waitingRules.count == 1 && engine.waitingRuleFaults.isEmpty)
        method(RuleDraft(), 1)
        #expect("\(engine.waitingRuleFaults)".contains("discard that one first"))
        try inTheWay.discard()
        #expect(engine.rules.map(\.subject) == [#""save" of class RuleDraft"#])
        #expect(engine.waitingRules.isEmpty && engine.waitingRuleFaults.isEmpty)
    }

    @Test("Standard error names the rule that is not applied")
    func faultOnStandardError() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let document = RuleEntry.name(of: RuleDocument.self)
            let engine = RuleEngine()
            let count = RuleEntry(target: RuleEntry.name(of: Count.self))
            try engine.apply(try RuleEntry.decode(RuleEntry.snapshot(RuleEntry(target: document).json, count.json)))
            engine.show(Count.self)
            let method = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, _ in }
            withExtendedLifetime(method) {}
        }
        let text = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        #expect(
            text.contains(
                "RunLoopKit: The rules from a snapshot are not applied: rules[1] (\"save\" of Count): target is"))
    }
}
