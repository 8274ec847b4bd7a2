import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// Rules that are applied, changed and discarded while other threads call.
@Suite(.timeBound) struct RuleThreadTests {
    @Test("Rules are applied and discarded while other threads call")
    func concurrentRules() throws {
        let thread = try LoopThread(clock: VirtualClock())
        let engine = RuleEngine()
        let ran = Count()
        let saving = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, _ in ran.up() }
        let documents = (0..<4).map { _ in RuleDraft() }
        let senders = try (0..<3).map { _ in try LoopThread() }
        for (index, sender) in senders.enumerated() {
            sender.perform {
                for input in 0..<400 {
                    saving(documents[(index + input) % 4], input)
                    saving(RuleDraft(), input)
                }
            }
        }
        for round in 0..<100 {
            let mode = AnyMethodRule.Mode.allCases[round % 3]
            let own = saving.rule(for: documents[round % 4], interval: .nanoseconds(50), mode: mode, on: thread.loop)
            let shared = saving.rule(for: RuleDraft.self, interval: .nanoseconds(50), mode: mode, on: thread.loop)
            shared.alwaysRun = { _, input in input % 5 == 0 }
            try engine.apply(own)
            try engine.apply(shared)
            do {
                let passing = RuleDraft()
                try engine.apply(saving.rule(for: passing, interval: .seconds(1), mode: mode, on: thread.loop))
                withExtendedLifetime(passing) {}
            }
            shared.interval = round % 4 == 0 ? .zero : .nanoseconds(round)
            own.mode = .debounce
            shared.loop = round % 2 == 0 ? thread.loop : senders[0].loop
            shared.alwaysRun = nil
            #expect(engine.rules(for: documents[0]).count <= 2 && own.isApplied)
            _ = try engine.snapshot()
            if round % 3 == 0 { try engine.apply(saving.rule(for: RuleDraft.self, interval: .zero, on: thread.loop)) }
            for rule in engine.rules { try engine.discard(rule) }
            #expect(engine.rules.isEmpty)
        }
        for sender in senders { try sender.performAndWait {} }
        try thread.performAndWait {}
        let before = ran.value
        saving(documents[0], 0)
        #expect(ran.value == before + 1 && before <= 2400 && before > 0)
    }

    @Test("No thread's first call on a subclass escapes a rule that waits for it")
    func concurrentFirstCalls() throws {
        let senders = try (0..<4).map { _ in try LoopThread() }
        let entry = RuleEntry(target: RuleEntry.name(of: RuleDraft.self)).json
            .replacing("250000000", with: "3600000000000").replacing("\"last\"", with: "\"firstly\"")
        for _ in 0..<100 {
            let (engine, ran) = (RuleEngine(), Count())
            try engine.apply(try RuleEntry.decode(RuleEntry.snapshot(entry)), on: senders[0].loop)
            let saving = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, _ in ran.up() }
            for sender in senders { sender.perform { saving(RuleDraft(), 1) } }
            for sender in senders { try sender.performAndWait {} }
            #expect(ran.value == 1 && engine.rules.count == 1 && engine.waitingRules.isEmpty)
        }
    }

    @Test("Of rules that many threads apply for one target, one stays")
    func concurrentApply() throws {
        let stage = RuleScene()
        let threads = try (0..<4).map { _ in try LoopThread() }
        let refused = Count()
        for (index, thread) in threads.enumerated() {
            thread.perform {
                for _ in 0..<50 {
                    // Half of them for the class above.
                    let type: RuleDocument.Type = index < 2 ? RuleDocument.self : RuleDraft.self
                    do { try stage.limit(type, 100) } catch { refused.up() }
                    #expect(stage.engine.rules.count == 1)
                }
            }
        }
        for thread in threads { try thread.performAndWait {} }
        #expect(stage.engine.rules.count == 1 && refused.value == 100)
    }

    @Test("No call is lost when another thread discards the rule")
    func noCallIsLostByDiscard() throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let sender = try LoopThread()
        for round in 0..<200 {
            let engine = RuleEngine()
            let log = Log<Int>()
            let saving = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, input in log.add(input) }
            let rule = saving.rule(
                for: RuleDocument.self, interval: .seconds(1), mode: round % 2 == 0 ? .last : .debounce,
                on: thread.loop)
            try engine.apply(rule)
            let document = RuleDocument()
            sender.perform { for input in 1...3 { saving(document, input) } }
            try engine.discard(rule)
            try sender.performAndWait {}
            try thread.performAndWait {}
            #expect(log.entries.filter { $0 == 3 }.count == 1)
        }
    }

    @Test("Rules are listed while other threads make and drop their objects")
    func listWhileObjectsChange() throws {
        let stage = RuleScene()
        let threads = try (0..<3).map { _ in try LoopThread() }
        for thread in threads {
            thread.perform {
                for input in 0..<200 {
                    let document = RuleDocument()
                    let rule = stage.saving.rule(
                        for: document, interval: .seconds(1), mode: .firstly, on: thread.loop)
                    try! stage.engine.apply(rule)
                    stage.saving(document, input)
                    stage.saving(document, -1)
                }
            }
        }
        for _ in 0..<200 { #expect(stage.engine.rules.count <= 4) }
        for thread in threads { try thread.performAndWait {} }
        #expect(stage.engine.rules.isEmpty && stage.ran.count == 600 && !stage.ran.contains { $0.input < 0 })
    }
}
