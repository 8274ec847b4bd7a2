import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Limiters made at one place take turns with their timers.
@Suite(.timeBound) struct LimiterTimerTests {
    private static func makeDebounce(
        on loop: Loop, label: String? = nil, _ action: @escaping @Sendable (Int) -> Void = { _ in }
    ) -> Debounce<Int> {
        Debounce<Int>(interval: .seconds(10), on: loop, whenReleased: .flush, label: label, action: action)
    }

    private static func timers(of loop: Loop) -> [Loop.Timer] {
        loop.lock.withLock { loop.defaultState.timers.all }
    }

    @Test("Bursts one after another need one timer", arguments: [false, true])
    func oneAfterAnother(_ fires: Bool) {
        let (loop, _) = Loop.inVirtualTime()
        let acts = Count()
        let limiters = (0..<100).map { _ in Self.makeDebounce(on: loop) { _ in acts.up() } }
        for limiter in limiters {
            limiter(1)
            if fires { loop.run(mode: .default, for: .seconds(60)) } else { limiter.flush() }
        }
        #expect(acts.value == 100 && Self.timers(of: loop).count == 1)
    }

    @Test("Of many bursts at the same time a pool keeps some timers, and none for no limiter")
    func manyAtTheSameTime() {
        let (loop, _) = Loop.inVirtualTime()
        let (acts, count) = (Count(), Loop.TimerPool.room + 100)
        do {
            let limiters = (0..<count).map { _ in Self.makeDebounce(on: loop) { _ in acts.up() } }
            for limiter in limiters { limiter(1) }
            #expect(Self.timers(of: loop).count == count)
            loop.run(mode: .default, for: .seconds(60))
            #expect(acts.value == count && Self.timers(of: loop).count == Loop.TimerPool.room)
            for limiter in limiters { limiter(2) }
            #expect(Self.timers(of: loop).count == count)
        }
        #expect(acts.value == 2 * count && Self.timers(of: loop).isEmpty && loop.timerPools.isEmpty)
    }

    @Test("A timer keeps the name of its limiters")
    func names() {
        let (loop, _) = Loop.inVirtualTime()
        let first = Self.makeDebounce(on: loop, label: "first")
        let second = Self.makeDebounce(on: loop, label: "second")
        for limiter in [first, second, first] {
            limiter(1)
            limiter.flush()
        }
        let names = Self.timers(of: loop).map(\.name).sorted()
        #expect(names == ["debounce timer \"first\"", "debounce timer \"second\""])
    }

    /// The timer of the first fires, and is still its own in the action: the second gets another one.
    @Test("A limiter called in the action of another one acts in a nested run")
    func nestedBurst() {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let second = Self.makeDebounce(on: loop) { log.add("second \($0)") }
        let first = Self.makeDebounce(on: loop) { input in
            log.add("first \(input) begins")
            second(input)
            loop.run(mode: .default, for: .seconds(20))
            log.add("first \(input) ends")
        }
        for input in 1...2 {
            first(input)
            loop.run(mode: .default, for: .seconds(60))
        }
        #expect(log.entries == (1...2).flatMap { ["first \($0) begins", "second \($0)", "first \($0) ends"] })
        #expect(Self.timers(of: loop).count == 2)
    }

    @Test("Limiters of two modes share nothing with those of common")
    func modes() {
        let (loop, _) = Loop.inVirtualTime()
        let acts = Count()
        for modes: Set<Loop.Mode> in [[.default], [.common], ["other", .default]] {
            let limiter = Debounce<Int>(interval: .seconds(10), on: loop, in: modes) { _ in acts.up() }
            limiter(1)
            loop.run(mode: .default, for: .seconds(60))
            #expect(loop.timerPools.count == 1)
        }
        #expect(acts.value == 3 && loop.timerPools.isEmpty && Self.timers(of: loop).isEmpty)
    }
}
