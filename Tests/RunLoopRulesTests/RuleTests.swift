import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// The modes of rules and their settings: when a call runs.
@Suite(.timeBound) struct RuleTests {
    // MARK: Modes

    @Test("Without a rule every call runs at once")
    func withoutRule() {
        let stage = RuleScene()
        stage.send(0, 1, 2, to: RuleDocument())
        #expect(stage.ran == [(0, 0), (1, 1), (2, 2)])
    }

    @Test("firstly runs the first call and ignores the rest of the window")
    func firstlyMode() throws {
        let stage = RuleScene()
        let document = RuleDocument()
        try stage.limit(document, 100, .firstly)
        stage.send(0, 10, 99, 100, 150, 230, to: document)
        #expect(stage.ran == [(0, 0), (100, 100), (230, 230)])
    }

    @Test("firstly runs on the caller's thread")
    func firstlyThread() throws {
        let stage = RuleScene()
        let caller = try LoopThread()
        let threads = Log<Bool>()
        let method = LimitedMethod<RuleDocument, Int>("where", engine: stage.engine) { _, _ in
            threads.add(caller.loop.isOnOwnThread)
        }
        try stage.engine.apply(
            method.rule(for: RuleDocument.self, interval: .seconds(1), mode: .firstly, on: stage.loop))
        try caller.performAndWait { method(RuleDocument(), 1) }
        #expect(threads.entries == [true])
    }

    @Test("last runs the last call at the window's end")
    func lastMode() throws {
        let stage = RuleScene()
        let document = RuleDocument()
        try stage.limit(document, 100, .last)
        stage.send(0, 10, 90, 300, to: document)
        #expect(stage.ran == [(100, 90), (400, 300)])
    }

    @Test("debounce runs the last call when none has come for the interval")
    func debounceMode() throws {
        let stage = RuleScene()
        let document = RuleDocument()
        try stage.limit(document, 100, .debounce)
        stage.send(0, 50, 149, 300, to: document)
        #expect(stage.ran == [(249, 149), (400, 300)])
    }

    @Test("The default mode is debounce, and the default loop is the main loop")
    func ruleDefaults() {
        let stage = RuleScene()
        let rule = stage.saving.rule(for: RuleDocument.self, interval: .seconds(1))
        #expect(rule.mode == .debounce && rule.loop === Loop.main && !rule.isPersistent && rule.alwaysRun == nil)
        #expect(rule.interval == .seconds(1) && rule.methodName == "save" && !rule.isApplied)
    }

    @Test("A delayed call runs on the rule's loop", arguments: [AnyMethodRule.Mode.last, .debounce])
    func delayedCallRunsOnLoop(_ mode: AnyMethodRule.Mode) throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let engine = RuleEngine()
        let log = Log<Int>()
        let method = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, input in
            #expect(thread.loop.isOnOwnThread)
            log.add(input)
        }
        let document = RuleDocument()
        try engine.apply(method.rule(for: document, interval: .seconds(1), mode: mode, on: thread.loop))
        method(document, 1)
        method(document, 2)
        #expect(log.entries == [])
        clock.advance(by: .seconds(1))
        #expect(log.entries == [2])
    }

    @Test("A delayed call retains its input")
    func delayedCallRetainsInput() throws {
        final class Paper: Sendable {}
        let engine = RuleEngine()
        let (loop, _) = Loop.inVirtualTime()
        let papers = Count()
        let method = LimitedMethod<RuleDocument, Paper>("print", engine: engine) { _, _ in papers.up() }
        let document = RuleDocument()
        try engine.apply(method.rule(for: document, interval: .seconds(1), mode: .last, on: loop))
        weak var (first, last): (Paper?, Paper?)
        do {
            let (one, two) = (Paper(), Paper())
            (first, last) = (one, two)
            method(document, one)
            method(document, two)
        }
        #expect(first == nil && last != nil)
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(papers.value == 1 && last == nil)
    }

    @Test("A method without input can be limited")
    func methodWithoutInput() throws {
        let engine = RuleEngine()
        let (loop, _) = Loop.inVirtualTime()
        let count = Count()
        let method = LimitedMethod<RuleDocument, Void>("close", engine: engine) { _, _ in count.up() }
        try engine.apply(method.rule(for: RuleDocument.self, interval: .seconds(1), mode: .firstly, on: loop))
        method(RuleDocument())
        method(RuleDocument())
        #expect(count.value == 1)
    }

    @Test("A call from the method's own body follows the rule")
    func callFromOwnBody() throws {
        let stage = RuleScene()
        let box = Box<LimitedMethod<RuleDocument, Int>>()
        box.value = LimitedMethod("again", engine: stage.engine) { target, input in
            stage.scene.write(input)
            if input < 3 { box.value!(target, input + 1) }
        }
        let rule = box.value!.rule(for: RuleDocument.self, interval: .milliseconds(10), on: stage.loop)
        try stage.engine.apply(rule)
        box.value!(RuleDocument(), 0)
        stage.scene.run()
        #expect(stage.ran == [(10, 0), (20, 1), (30, 2), (40, 3)])
        box.value = nil
    }

    // MARK: No limit

    @Test("An interval of zero or less is no limit", arguments: AnyMethodRule.Mode.allCases)
    func zeroInterval(_ mode: AnyMethodRule.Mode) throws {
        for interval in [Duration.zero, .seconds(-5)] {
            let stage = RuleScene()
            let rule = stage.saving.rule(for: RuleDocument.self, interval: interval, mode: mode, on: stage.loop)
            try stage.engine.apply(rule)
            stage.send(0, 0, 1, to: RuleDocument())
            #expect(stage.ran == [(0, 0), (0, 0), (1, 1)])
        }
    }

    @Test(
        "With the interval set to zero the next call replaces the delayed one and runs",
        arguments: [AnyMethodRule.Mode.last, .debounce])
    func intervalSetToZero(_ mode: AnyMethodRule.Mode) throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 100, mode)
        stage.scene.at(20) { rule.interval = .zero }
        stage.send(10, 30, 40, to: RuleDocument())
        #expect(stage.ran == [(30, 30), (40, 40)])
    }

    @Test("A huge interval never ends")
    func hugeInterval() throws {
        for mode in AnyMethodRule.Mode.allCases {
            let stage = RuleScene()
            let rule = stage.saving.rule(
                for: RuleDocument.self, interval: .seconds(Int64.max), mode: mode, on: stage.loop)
            try stage.engine.apply(rule)
            stage.saving(RuleDocument(), 1)
            #expect(stage.loop.run(mode: .default, for: .seconds(1_000_000)) != .stopped)
            stage.saving(RuleDocument(), 2)
            #expect(stage.ran.map(\.input) == (mode == .firstly ? [1] : []))
            try stage.engine.discard(rule)
            #expect(stage.ran.map(\.input) == (mode == .firstly ? [1] : [2]))
        }
    }

    @Test("Flushing a rule runs its delayed call now, and the rule stays in force")
    func flush() throws {
        let stage = RuleScene()
        let document = RuleDocument()
        let rule = try stage.limit(RuleDocument.self, 100, .last)
        #expect(!rule.flush())
        stage.scene.at(10) {
            stage.saving(document, 1)
            stage.saving(document, 2)
            #expect(rule.flush())
            #expect(!rule.flush())
        }
        stage.send(50, to: document)
        #expect(stage.ran == [(10, 2), (150, 50)])
        #expect(rule.isApplied)
    }

    @Test("Flushing all rules runs what each of them delays, in the order of the rules")
    func flushAll() throws {
        let stage = RuleScene()
        let documents = [RuleDocument(), RuleDocument(), RuleDocument()]
        try stage.limit(documents[0], 100, .last)
        try stage.limit(documents[1], 100, .debounce).merging = { $0 + $1 }
        try stage.limit(documents[2], 100, .firstly)
        for input in [1, 10] { for document in documents.reversed() { stage.saving(document, input) } }
        #expect(stage.ran == [(0, 1)])
        #expect(stage.engine.flushAll())
        #expect(stage.ran == [(0, 1), (0, 10), (0, 11)])
        #expect(stage.engine.rules.count == 3)
        #expect(!stage.engine.flushAll())
        stage.scene.run()
        #expect(stage.ran.count == 3)
    }

    @Test("Flushing all rules until nothing is delayed also runs what the calls delay")
    func flushAllRepeated() throws {
        let stage = RuleScene()
        let log = Log<String>()
        let indexing = LimitedMethod<RuleDocument, Int>("index", engine: stage.engine) { _, _ in log.add("index") }
        let writing = LimitedMethod<RuleDocument, Int>("write", engine: stage.engine) { document, input in
            log.add("write")
            indexing(document, input)
        }
        // The one that is called by the other comes first.
        try indexing.limit(for: RuleDocument.self, every: .seconds(1), on: stage.loop)
        try writing.limit(for: RuleDocument.self, every: .seconds(1), on: stage.loop)
        writing(RuleDocument(), 1)
        while stage.engine.flushAll() {}
        #expect(log.entries == ["write", "index"])
    }

    // MARK: Settings that change while the rule is applied

    @Test("The next call sees a changed interval")
    func nextCallSeesInterval() throws {
        let stage = RuleScene()
        let (first, second) = (RuleDocument(), RuleDocument())
        let firstly = try stage.limit(first, 1000, .firstly)
        stage.scene.at(15) { firstly.interval = .milliseconds(10) }
        stage.send(0, 10, 20, 25, to: first)
        #expect(stage.ran == [(0, 0), (20, 20)])

        let debounce = try stage.limit(second, 1000, .debounce)
        stage.scene.at(110) { debounce.interval = .milliseconds(10) }
        stage.send(100, 120, to: second)
        #expect(stage.ran.dropFirst(2) == [RateLimitEntry(130, 120)])
    }

    @Test("A changed interval does not move a delayed call")
    func intervalMovesNothing() throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 100)
        stage.scene.at(10) { rule.interval = .milliseconds(1) }
        stage.send(0, to: RuleDocument())
        #expect(stage.ran == [(100, 0)])
    }

    @Test("The next call sees a changed mode")
    func nextCallSeesMode() throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 100, .debounce)
        stage.scene.at(15) { rule.mode = .firstly }
        stage.scene.at(35) { rule.mode = .last }
        stage.scene.at(500) { rule.mode = .firstly }
        stage.send(10, 20, 30, 40, 120, 600, to: RuleDocument())
        // 20 replaces 10, 30 is in its window; 40 starts a window that ends at 140.
        #expect(stage.ran == [(20, 20), (140, 120), (600, 600)])
    }

    @Test("A call that a firstly rule ignores does not replace a delayed one")
    func ignoredCallReplacesNothing() throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 1000, .firstly)
        stage.scene.at(15) { rule.mode = .last }
        stage.scene.at(25) { rule.mode = .firstly }
        stage.send(10, 20, 30, 40, to: RuleDocument())
        // 30 runs although the window of 10 is not over: otherwise 20 would be lost without a replacement.
        #expect(stage.ran == [(10, 10), (30, 30)])
    }

    @Test("The next call sees a changed loop")
    func nextCallSeesLoop() throws {
        let stage = RuleScene()
        let (other, clock) = Loop.inVirtualTime()
        let rule = try stage.limit(RuleDocument.self, 100)
        stage.saving(RuleDocument(), 1)
        rule.loop = other
        #expect(rule.loop === other)
        stage.saving(RuleDocument(), 2)
        stage.scene.run()
        #expect(stage.ran == [])
        #expect(other.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(stage.ran.map(\.input) == [2] && clock.now == Loop.Instant(nanoseconds: 100_000_000))
    }

    @Test("A firstly rule starts a new window when its loop, and so its clock, changes")
    func firstlyRuleChangesLoop() throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 100, .firstly)
        stage.saving(RuleDocument(), 1)
        rule.loop = Loop.inVirtualTime().0
        stage.saving(RuleDocument(), 2)
        stage.saving(RuleDocument(), 3)
        #expect(stage.ran.map(\.input) == [1, 2])
    }

    @Test("A firstly rule whose loop has changed to another and back starts a new window")
    func firstlyRuleChangesLoopTwice() throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 100, .firstly)
        stage.saving(RuleDocument(), 1)
        let loop = rule.loop
        rule.loop = loop
        stage.saving(RuleDocument(), 2)
        rule.loop = Loop.inVirtualTime().0
        rule.loop = loop
        stage.saving(RuleDocument(), 3)
        #expect(stage.ran.map(\.input) == [1, 3])
    }

    @Test("The next call sees a changed predicate")
    func nextCallSeesPredicate() throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 100, .firstly)
        stage.scene.at(15) { rule.alwaysRun = { _, input in input == 20 } }
        stage.scene.at(25) { rule.alwaysRun = nil }
        stage.send(0, 10, 20, 30, to: RuleDocument())
        #expect(stage.ran == [(0, 0), (20, 20)])
    }

    // MARK: The predicate

    @Test("An exception runs at once and leaves the limiter alone")
    func alwaysRunBypassesLimiter() throws {
        let stage = RuleScene()
        let debounce = try stage.limit(RuleDocument.self, 100)
        debounce.alwaysRun = { _, input in input % 2 == 1 }
        stage.send(0, 51, 60, 99, to: RuleDocument())
        #expect(stage.ran == [(51, 51), (99, 99), (160, 60)])

        let other = RuleScene()
        let firstly = try other.limit(RuleDocument.self, 100, .firstly)
        firstly.alwaysRun = { _, input in input % 2 == 1 }
        other.send(1, 10, 51, 60, 110, to: RuleDocument())
        // The call at 1 has started no window, the one at 51 has moved none.
        #expect(other.ran == [(1, 1), (10, 10), (51, 51), (110, 110)])
    }

    @Test("alwaysRun gets the target and the input")
    func alwaysRunArguments() throws {
        let stage = RuleScene()
        let chosen = RuleDocument()
        let rule = stage.saving.rule(
            for: RuleDocument.self, interval: .seconds(1), mode: .firstly, on: stage.loop,
            alwaysRun: { [weak chosen] target, input in target === chosen && input > 5 })
        try stage.engine.apply(rule)
        for input in [1, 6] {
            stage.saving(RuleDocument(), input)
            stage.saving(chosen, input)
        }
        #expect(stage.ran.map(\.input) == [1, 6])
    }

    @Test("alwaysRun may release its own rule: what it has captured is released without a lock")
    func releasingInPredicate() throws {
        final class Goer: Sendable {
            let whenGoing: @Sendable () -> Void
            init(_ whenGoing: @escaping @Sendable () -> Void) { self.whenGoing = whenGoing }
            deinit { whenGoing() }
        }
        let (stage, document, gone) = (RuleScene(), RuleDocument(), Count())
        try stage.limit(RuleDocument.self, 100, .firstly)
        let rule = Box<MethodRule<RuleDocument, Int>>()
        rule.value = stage.rule(for: document, 100, .firstly)
        try stage.engine.apply(rule.value!)
        do {
            let goer = Goer { [saving = stage.saving] in
                saving(RuleDocument(), 2)
                gone.up()
            }
            rule.value!.alwaysRun = { [engine = stage.engine] _, _ in
                try! engine.discard(rule.value!)
                rule.value = nil
                withExtendedLifetime(goer) {}
                return false
            }
        }
        stage.saving(document, 1)
        // The second call is in the window of the class.
        #expect(stage.ran.map(\.input) == [1] && gone.value == 1)
    }

    @Test("alwaysRun may change the rules")
    func alwaysRunChangesRules() throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 100, .last)
        rule.alwaysRun = { [engine = stage.engine, weak rule] _, _ in
            rule.map { try? engine.discard($0) }
            return false
        }
        stage.saving(RuleDocument(), 1)
        #expect(stage.ran == [(0, 1)] && !rule.isApplied)
    }

    @Test("The next call asks the rule that a predicate has put in place")
    func predicateReplacesRule() throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 100, .last)
        let other = stage.rule(for: RuleDocument.self, 100, .last)
        other.alwaysRun = { _, input in input < 3 }
        rule.alwaysRun = { [engine = stage.engine] _, _ in
            try! engine.apply(other)
            return false
        }
        stage.send(1, 2, to: RuleDocument())
        #expect(stage.ran == [(2, 2), (101, 1)] && other.isApplied && !rule.isApplied)
    }

    @Test("A predicate may give the object a rule of its own")
    func predicateAddsRule() throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 100, .firstly)
        rule.alwaysRun = { [engine = stage.engine, saving = stage.saving, loop = stage.loop] document, _ in
            try! engine.apply(
                saving.rule(for: document, interval: .milliseconds(10), mode: .firstly, on: loop))
            return false
        }
        // Each in its own window from its first call on.
        let (one, other) = (RuleDocument(), RuleDocument())
        for (time, document) in [(0, one), (1, other), (2, one), (10, one), (11, other)] {
            stage.scene.at(Int64(time)) { stage.saving(document, time) }
        }
        stage.scene.run()
        #expect(stage.ran == [(0, 0), (1, 1), (10, 10), (11, 11)] && stage.engine.rules.count == 3)
        // It refers to its engine.
        try stage.engine.discard(rule)
    }

    @Test(
        "A predicate that always applies a new rule with itself is asked once", arguments: AnyMethodRule.Mode.allCases)
    func predicateIsAskedOnce(_ mode: AnyMethodRule.Mode) throws {
        let stage = RuleScene()
        let asked = Count()
        @Sendable func applyAnother() {
            let rule = stage.rule(for: RuleDocument.self, 100, mode)
            rule.alwaysRun = { _, _ in
                // Ends at last if the predicate would be asked for ever.
                if asked.up() < 100 { applyAnother() }
                return false
            }
            try! stage.engine.apply(rule)
        }
        applyAnother()
        stage.send(0, 10, to: RuleDocument())
        #expect(asked.value == 2 && stage.engine.rules.count == 1)
        // Each rule takes over the window of the one before.
        #expect(stage.ran == [mode == .firstly ? (0, 0) : mode == .last ? (100, 10) : (110, 10)])
        // Its predicate refers to its engine.
        for rule in stage.engine.rules { try stage.engine.discard(rule) }
    }

    // MARK: The loop's end

    @Test(
        "A loop that ends runs the delayed calls, and its rules limit nothing afterwards",
        arguments: [AnyMethodRule.Mode.last, .debounce])
    func endingLoop(_ mode: AnyMethodRule.Mode) throws {
        let stage = RuleScene()
        try stage.limit(RuleDocument.self, 100, mode)
        stage.saving(RuleDocument(), 1)
        stage.loop.end()
        #expect(stage.ran == [(0, 1)])
        stage.saving(RuleDocument(), 2)
        stage.saving(RuleDocument(), 3)
        #expect(stage.ran == [(0, 1), (0, 2), (0, 3)])
    }
}
