import Foundation
import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// Mistakes with the loops of rules. The handling is one for the process, so each test has a process.
@Suite(.timeBound) struct RuleMistakeTests {
    @Test("A rule on a loop that no thread runs is reported when it first delays a call")
    func ruleWhoseLoopNeverRuns() async {
        await #expect(processExitsWith: .success) {
            let mistakes = Log<Loop.Mistake>()
            Loop.mistakeHandling = .call { mistakes.add($0) }
            let engine = RuleEngine()
            let saving = LimitedMethod<RuleDocument, Int>("save", engine: engine) { _, _ in }
            let document = RuleDocument()
            try await Task.detached {
                try engine.apply(saving.rule(for: document, interval: .seconds(1), mode: .last, on: .current))
                saving(document, 1)
            }.value
            UnrunLoops.shared.check(at: System.monotonicNanoseconds() + UnrunLoops.patience)
            #expect(mistakes.entries == [.loopThatNeverRuns(item: "throttle timer \"rule\"")])
            _exit(0)
        }
    }

    @Test("A rule on a main loop that is gone limits nothing and reports that, with no lock held")
    func ruleOfAMainLoopThatIsGone() async {
        await #expect(processExitsWith: .success) {
            let (engine, log, mistakes) = (RuleEngine(), Log<Int>(), Log<Loop.Mistake>())
            let saving = LimitedMethod<RuleDraft, Int>("save", engine: engine) { _, input in log.add(input) }
            Loop.mistakeHandling = .call {
                mistakes.add($0)
                precondition(engine.rules.count == 1)
            }
            Loop.main.end(tellingSources: true)
            for merges in [false, true] {
                let draft = RuleDraft()
                let rule = saving.rule(for: draft, interval: .seconds(1000), mode: .last, on: .main)
                if merges { rule.merging = { $0 + $1 } }
                try engine.apply(rule)
                for input in [1, 2] { saving(draft, input) }
                try engine.discard(rule)
            }
            let expected = Array(repeating: Loop.Mistake.mainLoopWithoutThread, count: 2)
            _exit(log.entries == [1, 2, 1, 2] && mistakes.entries == expected ? 0 : 1)
        }
    }

    @Test("A rule whose loop has ended limits nothing any more, and reports nothing")
    func callsOfARuleWithoutALoop() async {
        await #expect(processExitsWith: .success) {
            Loop.mistakeHandling = .trap
            let (engine, log) = (RuleEngine(), Log<Int>())
            let saving = LimitedMethod<RuleDraft, Int>("save", engine: engine) { _, input in log.add(input) }
            for mode in [AnyMethodRule.Mode.last, .debounce] {
                for merges in [false, true] {
                    let (thread, document) = (try LoopThread(), RuleDraft())
                    let rule = saving.rule(for: document, interval: .seconds(1000), mode: mode, on: thread.loop)
                    if merges { rule.merging = { $0 + $1 } }
                    try engine.apply(rule)
                    thread.stop()
                    thread.joinBlocking()
                    for input in [1, 2] { saving(document, input) }
                }
            }
            _exit(log.entries == [1, 2, 1, 2, 1, 2, 1, 2] ? 0 : 1)
        }
    }
}
