import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

@Suite(.timeBound) struct InstantTests {
    @Test("Arithmetic rounds up, so that no wait is cut short")
    func roundsUp() {
        let start: Loop.Instant = 1000
        #expect(start.advanced(by: .nanoseconds(5)) == 1005)
        #expect(start.advanced(by: Duration(secondsComponent: 0, attosecondsComponent: 1)) == 1001)
        #expect(start.advanced(by: .nanoseconds(-5)) == 995)
        #expect(start.duration(to: 1500) == .nanoseconds(500))
        #expect(start.duration(to: 500) == .nanoseconds(-500))
    }

    @Test("Arithmetic saturates")
    func saturates() {
        let huge = Duration(secondsComponent: .max, attosecondsComponent: 0)
        #expect(Loop.Instant.now.advanced(by: huge) == .distantFuture)
        #expect(Loop.Instant.now.advanced(by: huge * 10) == .distantFuture)
        #expect(Loop.Instant.distantFuture.advanced(by: huge * -10) == .distantPast)
        #expect(Loop.Instant.now.advanced(by: .zero - huge) < Loop.Instant.now)
        #expect(Loop.Instant.distantFuture.advanced(by: .nanoseconds(1)) == .distantFuture)
        #expect(Loop.Instant.distantPast.advanced(by: .nanoseconds(-1)) == .distantPast)
        #expect(Loop.Instant.distantPast.duration(to: .distantFuture) > .seconds(584 * 365 * 86_400 / 2))
    }

    @Test("The clock of ordinary loops advances")
    func clockAdvances() {
        let first = Loop.Instant.now
        #expect(Loop.Instant.now >= first)
        #expect(first.description == "\(first.nanoseconds) ns")
    }

    @Test("Activities and results have CF's numbers and names")
    func numbersAndNames() {
        #expect(Loop.Activity.all.rawValue == 0x0FFF_FFFF)
        let activities: [Loop.Activity] = [
            .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
        ]
        #expect(activities.map(\.rawValue) == [1, 2, 4, 32, 64, 128])
        #expect("\(Loop.Activity([.beforeWaiting, .afterWaiting]))" == "beforeWaiting|afterWaiting")
        #expect("\(Loop.Activity.all) \(Loop.Activity())" == "all none")
        let results: [Loop.RunResult] = [.finished, .stopped, .timedOut, .handledSource]
        #expect(results.map(\.rawValue) == [1, 2, 3, 4])
        #expect(results.map(\.description) == ["finished", "stopped", "timedOut", "handledSource"])
    }

    @Test("Operators advance instants and measure durations")
    func operators() {
        let instant: Loop.Instant = 1_000
        #expect(instant + .nanoseconds(5) == 1_005)
        #expect(instant - .nanoseconds(5) == 995)
        #expect((instant + .nanoseconds(5)) - instant == .nanoseconds(5))
        #expect(instant - (instant + .nanoseconds(5)) == .nanoseconds(-5))
        #expect(Loop.Instant.distantFuture + .seconds(1) == .distantFuture)
        #expect(Loop.Instant.distantPast - .seconds(1) == .distantPast)
    }
}
