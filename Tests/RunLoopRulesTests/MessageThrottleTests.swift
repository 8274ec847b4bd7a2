import RunLoopKit
import RunLoopRules
import TestSupport
import Testing

/// The deliberate differences between rules and MessageThrottle's: the tests that `docs/differences.md` names.
@Suite(.timeBound) struct MessageThrottleTests {
    /// There a call has to come later than that.
    @Test("A call exactly at the end of a firstly rule's interval runs")
    func callAtEndOfFirstlyInterval() throws {
        let stage = RuleScene()
        try stage.limit(RuleDocument.self, 100, .firstly)
        stage.send(0, 99, 100, 199, 200, to: RuleDocument())
        #expect(stage.ran == [(0, 0), (100, 100), (200, 200)])
    }

    /// There it joins the window that has just ended, and is lost unless another one follows.
    @Test("A call exactly at the end of a last rule's window is not lost")
    func callAtEndOfLastWindow() throws {
        // The loop decides which of the two at one instant is first: the call, or the window's end.
        for (isFirst, ran) in [(true, [(100, 100)]), (false, [(100, 0), (200, 100)])] as [(Bool, [(Int64, Int)])] {
            let stage = RuleScene()
            let document = RuleDocument()
            try stage.limit(document, 100, .last)
            let send: @Sendable () -> Void = { stage.scene.at(100) { stage.saving(document, 100) } }
            if isFirst { send() } else { stage.scene.at(50) { send() } }
            stage.send(0, to: document)
            #expect(stage.ran == ran)
        }
    }

    /// There a window counts from its first call, so the one at 195 would run at 295.
    @Test("A window of last counts from the run before, unless an interval has passed since")
    func windowOfLast() throws {
        let stage = RuleScene()
        try stage.limit(RuleDocument.self, 100, .last)
        stage.send(0, 90, 195, 500, to: RuleDocument())
        #expect(stage.ran == [(100, 90), (200, 195), (600, 500)])
        // A call less than an interval after the one before begins a whole window.
        let other = RuleScene()
        try other.limit(RuleDocument.self, 100, .last)
        other.send(0, 90, 120, to: RuleDocument())
        #expect(other.ran == [(100, 90), (220, 120)])
    }

    /// There it runs when it was due, and may be the last although a later one has run.
    @Test("A delayed call runs when its rule is discarded", arguments: [AnyMethodRule.Mode.last, .debounce])
    func delayedCallRunsAtDiscard(_ mode: AnyMethodRule.Mode) throws {
        let stage = RuleScene()
        let rule = try stage.limit(RuleDocument.self, 100, mode)
        stage.scene.at(30) { try! rule.discard() }
        stage.send(0, 10, 40, to: RuleDocument())
        #expect(stage.ran == [(30, 10), (40, 40)])
    }

    /// There it is refused, and yet an applied rule's may become zero.
    @Test("A rule without an interval is applied and limits nothing", arguments: [Duration.zero, .seconds(-1)])
    func ruleWithoutInterval(_ interval: Duration) throws {
        let stage = RuleScene()
        let rule = try stage.saving.limit(for: RuleDocument.self, every: interval, mode: .firstly, on: stage.loop)
        #expect(rule.isApplied)
        stage.send(0, 1, to: RuleDocument())
        rule.interval = .milliseconds(100)
        stage.send(50, 60, to: RuleDocument())
        #expect(stage.ran == [(0, 0), (1, 1), (50, 50)])
    }

    /// There it is refused; in the other order both are applied.
    /// There a rule names any Objective-C method, which the engine finds and replaces at run time.
    @Test("Only a declared method can have a rule")
    func onlyDeclaredMethods() throws {
        let stage = RuleScene()
        try stage.limit(RuleDocument.self, 100, .debounce, isPersistent: true)
        let snapshot = try stage.engine.snapshot()
        let engine = RuleEngine()
        try engine.apply(snapshot, on: stage.loop)
        #expect(engine.rules.isEmpty && engine.waitingRules == snapshot.rules)
        // A declaration is what the rule waits for.
        withExtendedLifetime(LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, _ in }) {
            #expect(engine.rules.count == 1 && engine.waitingRules.isEmpty)
        }
    }

    @Test("An object may have a rule of its own, whichever is applied first")
    func objectAndClassRules() throws {
        for objectFirst in [false, true] {
            let stage = RuleScene()
            let document = RuleDocument()
            if objectFirst { try stage.limit(document, 10, .last) }
            try stage.limit(RuleDocument.self, 100, .last)
            if !objectFirst { try stage.limit(document, 10, .last) }
            stage.send(0, to: document)
            #expect(stage.ran == [(10, 0)] && stage.engine.rules.count == 2)
        }
    }
}
