import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// Snapshots of rules that are nearly valid.
@Suite(.timeBound) struct SnapshotFuzzTests {
    @Test("No snapshot of rules does harm: it is refused with one line, or its rules apply or wait")
    func snapshots() async {
        await DocumentFuzzing.withReport { path in
            await #expect(processExitsWith: .success) { [path = path as String] in
                let names = [RuleDocument.self, RuleDraft.self, RuleLetter.self].map { RuleEntry.name(of: $0) }
                let rules =
                    names.map { RuleEntry(target: $0).json } + [
                        RuleEntry(method: "purge", isStatic: true).json,
                        RuleEntry().json.replacing(
                            "\"mode\":\"last\"", with: "\"mode\":\"firstly\",\"windowStartNanoseconds\":5"),
                    ]
                DocumentFuzzing.play(
                    [RuleEntry.snapshot(rules), RuleEntry.snapshot([]), RuleEntry.snapshot([rules[1]])],
                    words: names + DocumentMutator.namesOfTypes, reportingTo: path
                ) { document in
                    SnapshotPlay(knowsClasses: false).play(document) ?? SnapshotPlay(knowsClasses: true).play(document)
                }
            }
        }
    }
}

/// An engine with declared methods that gets a snapshot.
private struct SnapshotPlay {
    private let scene = RateLimitScene()
    private let engine = RuleEngine()

    init(knowsClasses: Bool) {
        Loop.mistakeHandling = .ignore
        if knowsClasses { engine.showTestClasses() }
    }

    func play(_ document: [UInt8]) -> String? {
        do {
            let snapshot = try JSONDecoder().decode(RuleEngine.Snapshot.self, from: Data(document))
            try engine.apply(snapshot, on: scene.loop)
            for rule in snapshot.rules {
                if let complaint = DocumentFuzzing.complaint(about: "\(rule)") { return complaint }
            }
        } catch let error as MethodRuleError {
            return DocumentFuzzing.complaint(about: "\(error)")
        } catch {
            return nil  // The coder's own.
        }
        return call()
    }

    /// Calls the methods, and then expects that every rule is in force or waits, and can be saved and read.
    private func call() -> String? {
        let count = engine.waitingRules.count
        let saving = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, input in scene.write(input) }
        let purging = LimitedMethod<RuleDocument.Type, Int>("purge", engine: engine) { _, input in
            scene.write(input)
        }
        for target in [RuleDocument(), RuleDraft(), RuleExpressLetter()] {
            saving(target, 1)
            purging(type(of: target), 2)
        }
        _ = scene.loop.run(mode: .default, for: .seconds(100))
        for fault in engine.waitingRuleFaults {
            if let complaint = DocumentFuzzing.complaint(about: "\(fault)") { return complaint }
        }
        if engine.rules.count + engine.waitingRules.count != count { return "rules are lost" }
        do {
            let data = try JSONEncoder().encode(engine.snapshot())
            _ = try JSONDecoder().decode(RuleEngine.Snapshot.self, from: data)
        } catch {
            return "the engine's own snapshot: \(error)"
        }
        withExtendedLifetime((saving, purging)) {}
        return nil
    }
}
