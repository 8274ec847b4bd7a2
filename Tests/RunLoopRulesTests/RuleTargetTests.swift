import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// Rules and their objects: which retains which, and what happens to a rule when its object is deallocated.
@Suite(.timeBound) struct RuleTargetTests {
    @Test("A rule does not retain its object and discards itself with it")
    func ruleDiscardsItself() throws {
        let stage = RuleScene()
        let rule: MethodRule<RuleDocument, Int>
        weak var gone: RuleDocument?
        do {
            let document = RuleDocument()
            gone = document
            rule = try stage.limit(document, 100, .firstly)
            stage.saving(document, 1)
            #expect(rule.isApplied && stage.engine.rules.count == 1)
        }
        #expect(gone == nil && !rule.isApplied && stage.engine.rules.isEmpty)
        #expect { try stage.engine.discard(rule) } throws: { "\($0)".contains("is not applied") }
        #expect { try stage.engine.apply(rule) } throws: { "\($0)".contains("is deallocated") }
    }

    @Test("Discarding a rule whose object is deallocated is an error")
    func discardAfterDeallocation() throws {
        let stage = RuleScene()
        let rule: MethodRule<RuleDocument, Int>
        do { rule = try stage.limit(RuleDocument(), 100) }
        #expect { try stage.engine.discard(rule) } throws: { "\($0)".contains("is not applied") }
    }

    @Test("An object at the address of a deallocated one inherits nothing")
    func reusedAddress() throws {
        let stage = RuleScene()
        var met = 0
        for _ in 0..<1000 where met < 20 {
            var document: RuleDocument? = RuleDocument()
            let address = ObjectIdentifier(document!)
            let rule = try stage.limit(document!, 100, .firstly)
            stage.saving(document!, 0)
            document = nil
            // The allocator is likely to reuse the address, if not at once. The other objects are kept until then.
            var kept: [RuleDocument] = []
            repeat { kept.append(RuleDocument()) } while ObjectIdentifier(kept.last!) != address && kept.count < 64
            let newcomer = kept.last!
            guard ObjectIdentifier(newcomer) == address else { continue }
            met += 1
            let before = stage.ran.count
            stage.saving(newcomer, 1)
            stage.saving(newcomer, 2)
            #expect(stage.ran.count == before + 2 && !rule.isApplied)
            #expect(stage.engine.rules(for: newcomer).isEmpty)
            // It may have a rule of its own, with a window of its own.
            try stage.limit(newcomer, 100, .firstly)
            stage.saving(newcomer, 3)
            stage.saving(newcomer, 4)
            #expect(stage.ran.count == before + 3)
        }
        // AddressSanitizer does not reuse an address for a long time.
        #expect(met > 0 || Kernel.hasSanitizer, "the address never came again")
    }

    @Test("A rule takes nothing over from a deallocated object at the same address")
    func reusedAddressTakesNothingOver() throws {
        let stage = RuleScene()
        var met = 0
        for _ in 0..<1000 where met < 20 {
            var document: RuleDocument? = RuleDocument()
            let address = ObjectIdentifier(document!)
            let old = try stage.limit(document!, 100, .firstly)
            stage.saving(document!, 0)
            document = nil
            var kept: [RuleDocument] = []
            repeat { kept.append(RuleDocument()) } while ObjectIdentifier(kept.last!) != address && kept.count < 64
            guard let newcomer = kept.last, ObjectIdentifier(newcomer) == address else { continue }
            met += 1
            let new = try stage.limit(newcomer, 100, .firstly)
            let before = stage.ran.count
            stage.saving(newcomer, 1)
            #expect(stage.ran.count == before + 1 && new.isApplied && !old.isApplied)
        }
        // AddressSanitizer does not reuse an address for a long time.
        #expect(met > 0 || Kernel.hasSanitizer, "the address never came again")
    }

    @Test("Rules of deallocated objects do not accumulate")
    func staleRulesArePurged() throws {
        let stage = RuleScene()
        weak var early: AnyMethodRule?
        do { early = try stage.limit(RuleDocument(), 100) }
        // Never listed, and at addresses that are not reused, so that no call finds them by chance.
        var kept: [RuleDocument] = []
        for _ in 0..<100 {
            kept.append(RuleDocument())
            try stage.limit(RuleDocument(), 100)
        }
        #expect(early == nil)
    }

    /// Also among many that stay: looking at all of them each time would take quadratic time.
    @Test("Purging costs a constant time for each rule")
    func purgingCost() throws {
        for stays in [false, true] {
            let stage = RuleScene()
            let count = 3000
            var kept: [RuleDocument] = []
            for _ in 0..<count {
                let document = RuleDocument()
                try stage.limit(document, 100)
                if stays { kept.append(document) }
            }
            for _ in 0..<count { try stage.limit(RuleDocument(), 100) }
            // The rules that stay are looked at again when as many have been added: 2 looks for each in all.
            #expect(stage.saving.book.purgeLooks <= 2 * 2 * count)
            #expect(stage.engine.rules.count == kept.count)
            let looks = stage.saving.book.purgeLooks
            #expect(stage.engine.rules.count == kept.count)
            #expect(stage.saving.book.purgeLooks == looks + kept.count, "those that have gone are not there any more")
        }
    }

    @Test("A delayed call retains its target until it has run")
    func delayedCallRetainsTarget() throws {
        let stage = RuleScene()
        weak var gone: RuleDocument?
        do {
            let document = RuleDocument()
            gone = document
            try stage.limit(document, 100)
            stage.saving(document, 1)
        }
        #expect(gone != nil && stage.engine.rules.count == 1)
        stage.scene.run()
        #expect(stage.ran == [(100, 1)] && gone == nil && stage.engine.rules.isEmpty)
    }

    @Test("A replaced call is released")
    func replacedCallIsReleased() throws {
        let stage = RuleScene()
        try stage.limit(RuleDocument.self, 100)
        weak var gone: RuleDocument?
        do {
            let document = RuleDocument()
            gone = document
            stage.saving(document, 1)
        }
        #expect(gone != nil)
        stage.saving(RuleDocument(), 2)
        #expect(gone == nil)
    }

    @Test("A call from the target's deinit runs at once", arguments: AnyMethodRule.Mode.allCases)
    func deinitCallRunsAtOnce(_ mode: AnyMethodRule.Mode) throws {
        for hasOwnRule in [false, true] {
            let engine = RuleEngine()
            let (loop, _) = Loop.inVirtualTime()
            let count = Count()
            let saving = LimitedMethod<Diary, Int>("save", engine: engine) { _, _ in count.up() }
            try engine.apply(saving.rule(for: Diary.self, interval: .seconds(1), mode: mode, on: loop))
            do {
                let diary = Diary { saving($0, 1) }
                if hasOwnRule { try engine.apply(saving.rule(for: diary, interval: .seconds(1), mode: mode, on: loop)) }
            }
            #expect(count.value == 1 && engine.rules.count == 1)
        }
    }

    /// A delayed call retains its target, so that its deallocation need not be checked: only while it is delayed.
    @Test(
        "A call from a deinit runs at once, whichever call was delayed before",
        arguments: [AnyMethodRule.Mode.last, .debounce])
    func deinitCallAfterDelayedCall(_ mode: AnyMethodRule.Mode) throws {
        let stage = RuleScene()
        let engine = RuleEngine()
        let saving = LimitedMethod<Diary, Int>("save", engine: engine) { _, input in stage.scene.write(input) }
        try engine.apply(saving.rule(for: Diary.self, interval: .milliseconds(100), mode: mode, on: stage.loop))
        do {
            // Delayed when the other one is deallocated.
            let kept = Diary { _ in }
            saving(kept, 1)
            do { _ = Diary { saving($0, 2) } }
            #expect(stage.ran == [(0, 2)])
            stage.scene.run()
            #expect(stage.ran == [(0, 2), (100, 1)])
        }
        do {
            // This was the last delayed call: now there is none.
            let diary = Diary { saving($0, 4) }
            saving(diary, 3)
            stage.scene.run()
        }
        #expect(stage.ran == [(0, 2), (100, 1), (200, 3), (200, 4)])
    }

    @Test("Objects that a rule captures are released without a lock")
    func ruleReleasesUnlocked() throws {
        final class Caller: Sendable {
            let goes: @Sendable () -> Void
            init(_ goes: @escaping @Sendable () -> Void) { self.goes = goes }
            deinit { goes() }
        }
        let stage = RuleScene()
        let goes = Count()
        let makeCaller = {
            Caller { [engine = stage.engine, saving = stage.saving] in
                goes.up()
                _ = engine.rules
                saving(RuleDocument(), 0)
            }
        }
        func makeRule() -> MethodRule<RuleDocument, Int> {
            let caller = makeCaller()
            let rule = stage.rule(for: RuleDocument.self, 100, .last)
            rule.alwaysRun = { _, _ in withExtendedLifetime(caller) { false } }
            return rule
        }
        try stage.engine.apply(makeRule())
        try stage.engine.apply(makeRule())
        #expect(goes.value == 1)
        (stage.engine.rules[0] as? MethodRule<RuleDocument, Int>)?.alwaysRun = nil
        #expect(goes.value == 2)
        try stage.engine.apply(makeRule())
        try stage.engine.discard(stage.engine.rules[0])
        #expect(goes.value == 3)
        do {
            let caller = makeCaller()
            let document = RuleDocument()
            let rule = stage.rule(for: document, 100)
            rule.alwaysRun = { _, _ in withExtendedLifetime(caller) { false } }
            try stage.engine.apply(rule)
        }
        #expect(stage.engine.rules.isEmpty && goes.value == 4)
    }
}

private final class Diary: Sendable {
    private let goes: @Sendable (Diary) -> Void
    init(_ goes: @escaping @Sendable (Diary) -> Void) { self.goes = goes }
    deinit { goes(self) }
}
