import Foundation
import TestSupport
import Testing

@testable import RunLoopKit

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
        let engine = ThrottleEngine()
        let saving = ThrottledMethod<Page, String>("save", isolation: .shared, engine: engine) { page, text in
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
        let purging = ThrottledMethod<Page.Type, Int>("purge", isolation: .shared, engine: ThrottleEngine()) {
            page, days in page.purged.append(days)
        }
        purging(Page.self, 30)
        #expect(Page.purged == [30])
    }

    /// In a test runner the main actor is not on the initial thread.
    @MainActor @Test("A rule for a loop in virtual time that the main actor runs is correct")
    func ruleOnVirtualLoop() throws {
        let loop = Loop(clock: VirtualClock())
        let saving = ThrottledMethod<Page, String>("save", isolation: .shared, engine: ThrottleEngine()) { page, text in
            page.saved.append(text)
        }
        let page = Page()
        try saving.limit(for: page, every: .seconds(1), on: loop)
        for text in ["a", "b"] { saving(page, text) }
        loop.run()
        #expect(page.saved == ["b"])
    }

    @Test("A call in a handler of another loop traps with a message")
    func callElsewhere() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let saving = ThrottledMethod<Count, Int>("save", isolation: .shared, engine: ThrottleEngine()) { _, _ in }
            try LoopThread(name: "worker").performAndWait { saving(Count(), 1) }
        }
        expect(result, says: ["\"save\" belongs to the main actor", "the thread \"worker\""])
    }

    @Test("So does a call in a job of an actor on another loop")
    func callInJob() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let saving = ThrottledMethod<Count, Int>("save", isolation: .shared, engine: ThrottleEngine()) { _, _ in }
            let thread = try LoopThread(name: "worker")
            await Task(executorPreference: thread.loop.taskExecutor) { saving(Count(), 1) }.value
        }
        expect(result, says: ["\"save\" belongs to the main actor", "the thread \"worker\""])
    }

    @Test("A rule with another loop than the main loop's traps when it runs a delayed call")
    func ruleElsewhere() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let saving = ThrottledMethod<Count, Int>("save", isolation: .shared, engine: ThrottleEngine()) { _, _ in }
            try LoopThread(name: "worker", clock: VirtualClock()).performAndWait {
                let (loop, object) = (Loop.current, Count())
                try saving.limit(for: object, every: .seconds(1), on: loop)
                saving(object, 1)
                loop.run(mode: .default, for: .seconds(2))
            }
        }
        expect(result, says: ["\"save\" belongs to the main actor", "the thread \"worker\""])
    }
}
