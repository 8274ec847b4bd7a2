import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// An object with a limited method.
final class Sheet: Sendable {}

/// What `print` shows of rules.
@Suite(.timeBound) struct RuleDescriptionTests {
    @Test("A rule prints what it limits, and how")
    func rule() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let method = LimitedMethod<Sheet, Int>("save", engine: RuleEngine()) { _, _ in }
        let sheet = Sheet()
        let rules = [
            method.rule(for: sheet, interval: .seconds(1), mode: .last, on: loop),
            method.rule(for: Sheet.self, interval: .milliseconds(300), on: loop),
        ]
        #expect(
            rules.map { "\($0)" } == [
                "\"save\" of one Sheet: last, 1.0 seconds", "\"save\" of class Sheet: debounce, 0.3 seconds",
            ])
    }
}
