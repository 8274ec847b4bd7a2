import Foundation
import RunLoopKit
import RunLoopKitFoundation
import Synchronization
import TestSupport
import Testing

/// Dates and time intervals of Foundation as times of a loop.
@Suite(.timeBound) struct DateTests {
    @Test("Dates become instants of the wall clock, and extreme ones saturate")
    func instants() {
        let half = Date(timeIntervalSince1970: 1.5)
        #expect(Loop.Instant(wallClock: half).nanoseconds == 1_500_000_000)
        for seconds in [Double.infinity, .nan, 1e10, 1e300] {
            #expect(Loop.Instant(wallClock: Date(timeIntervalSince1970: seconds)) == .distantFuture)
        }
        for seconds in [-Double.infinity, -1e10, -1e300] {
            #expect(Loop.Instant(wallClock: Date(timeIntervalSince1970: seconds)) == .distantPast)
        }
        #expect(Loop.Instant(wallClock: .distantPast) == .distantPast)
        #expect(Loop.Instant(wallClock: .distantFuture) == .distantFuture)
    }

    @Test("Time intervals become durations, and extreme ones saturate")
    func durations() {
        #expect(Duration.timeInterval(0.25) == .milliseconds(250))
        for seconds in [Double.infinity, .nan, 1e300] {
            #expect(Duration.timeInterval(seconds) == .seconds(9_200_000_000))
        }
        #expect(Duration.timeInterval(-.infinity) == .seconds(-9_200_000_000))
    }

    @Test("A timer fires for a past and an ancient date, and never for one that is none")
    func timers() {
        let loop = Loop(clock: VirtualClock())
        let calls = Mutex<[String]>([])
        func add(_ name: String, _ date: Date) {
            loop.add(Loop.Timer(fire: date) { _ in calls.withLock { $0.append(name) } })
        }
        add("ancient", .distantPast)
        add("minus infinity", Date(timeIntervalSince1970: -.infinity))
        add("not a number", Date(timeIntervalSince1970: .nan))
        add("infinity", Date(timeIntervalSince1970: .infinity))
        loop.run(mode: .default, for: .seconds(1))
        #expect(calls.withLock { $0.sorted() } == ["ancient", "minus infinity"])
    }

    @Test("A repeating timer of an ancient date, or of seconds, keeps its interval")
    func repeating() {
        let loop = Loop(clock: VirtualClock())
        let calls = Mutex((dated: 0, timed: 0))
        loop.add(Loop.Timer(fire: .distantPast, interval: 1, repeats: true) { _ in calls.withLock { $0.dated += 1 } })
        loop.add(Loop.Timer(timeInterval: 0.5, repeats: true) { _ in calls.withLock { $0.timed += 1 } })
        loop.add(Loop.Timer(timeInterval: .nan, repeats: true) { _ in calls.withLock { $0.timed += 100 } })
        loop.run(mode: .default, for: .milliseconds(3_200))
        #expect(calls.withLock { $0.timed } == 6)
        #expect((3...4).contains(calls.withLock { $0.dated }))
    }
}
