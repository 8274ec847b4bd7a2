import Foundation
import TestSupport
import Testing

@testable import RunLoopKit
@testable import RunLoopRules

/// Methods that rules can limit, and whose bodies belong to the main actor.
///
/// Delayed calls on the main loop are in a program of the documentation: a test runner gives that loop's thread away.
@Suite(.timeBound) struct MainActorMethodTests {
    @MainActor private final class Page {
        var saved: [String] = []
        static var purged: [Int] = []
    }

    @MainActor @Test("The body touches the main actor's state, at once without a rule, and at a leading edge")
    func runsAtOnce() throws {
        let engine = RuleEngine()
        let saving = LimitedMethod<Page, String>("save", isolation: .shared, engine: engine) { page, text in
            page.saved.append(text)
        }
        let page = Page()
        saving(page, "a")
        #expect(page.saved == ["a"])
        let rule = try saving.limit(for: page, every: .seconds(1000), mode: .firstly)
        for text in ["b", "c"] { saving(page, text) }
        #expect(page.saved == ["a", "b"])
        try rule.discard()
        saving(page, "d")
        #expect(page.saved == ["a", "b", "d"])
    }

    @MainActor @Test("So does the body of a static method")
    func staticMethod() {
        let purging = LimitedMethod<Page.Type, Int>("purge", isolation: .shared, engine: RuleEngine()) {
            page, days in page.purged.append(days)
        }
        purging(Page.self, 30)
        #expect(Page.purged == [30])
    }

    /// In a test runner the main actor is not on the initial thread.
    @MainActor @Test("A rule for a loop in virtual time that the main actor runs is correct")
    func ruleOnVirtualLoop() throws {
        let loop = Loop(clock: VirtualClock())
        let saving = LimitedMethod<Page, String>("save", isolation: .shared, engine: RuleEngine()) { page, text in
            page.saved.append(text)
        }
        let page = Page()
        try saving.limit(for: page, every: .seconds(1), on: loop)
        for text in ["a", "b"] { saving(page, text) }
        loop.run()
        #expect(page.saved == ["b"])
    }
}
