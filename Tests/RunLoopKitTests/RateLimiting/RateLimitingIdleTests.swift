import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// A limiter with nothing pending has no timer in its loop, and does what it would do with one that is never late.
@Suite(.timeBound) struct RateLimitingIdleTests {
    private static let edges: [RateLimitEdges] = [.leading, .trailing, [.leading, .trailing]]

    /// One call of each kind of limiter.
    private static func callOnce(on loop: Loop, _ edges: RateLimitEdges) -> [AnyObject] {
        let interval = Duration.seconds(10)
        let throttle = Throttle<Int>(interval: interval, edges: edges, on: loop) { _ in }
        let debounce = Debounce<Int>(interval: interval, edges: edges, on: loop) { _ in }
        let bounded = Debounce<Int>(interval: interval, edges: edges, maxWait: .seconds(15), on: loop) { _ in }
        let keyed = KeyedThrottle<Int, Int>(interval: interval, edges: edges, on: loop) { _, _ in }
        let keyedDebounce = KeyedDebounce<Int, Int>(interval: interval, edges: edges, on: loop) { _, _ in }
        let async = AsyncLimiter<Int, Int>.throttle(interval: interval, edges: edges, on: loop) { $0 }
        for limiter in [throttle, debounce, bounded] { limiter(1) }
        for limiter in [keyed, keyedDebounce] { limiter(1, for: 1) }
        _ = async.call(1)
        return [throttle, debounce, bounded, keyed, keyedDebounce, async]
    }

    @Test("A run does not wait for a limiter with nothing pending", arguments: edges)
    func runEnds(_ edges: RateLimitEdges) {
        let (loop, clock) = Loop.inVirtualTime()
        let limiters = Self.callOnce(on: loop, edges)
        #expect(loop.run(mode: .default, for: .seconds(60)) == .finished)
        #expect(clock.now == Loop.Instant(nanoseconds: edges == .trailing ? 10_000_000_000 : 0))
        withExtendedLifetime(limiters) {}
    }

    @Test("A limiter with nothing pending wakes no run")
    func noWakeUp() {
        func counters(_ edges: RateLimitEdges?) -> Loop.Counters {
            let (loop, _) = Loop.inVirtualTime()
            let limiters = edges.map { Self.callOnce(on: loop, $0) }
            loop.add(Loop.Timer(after: .seconds(50)) { _ in })
            let before = loop.counters
            #expect(loop.run(mode: .default, for: .seconds(60)) == .finished)
            withExtendedLifetime(limiters) {}
            return loop.counters.since(before)
        }
        for edges: RateLimitEdges in [.leading, [.leading, .trailing]] { #expect(counters(edges) == counters(nil)) }
    }

    @Test("A timer of a limiter that has acted is gone from its loop")
    func noTimerAfterAction() {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let acts = Count()
        let throttle = Throttle<Int>(interval: .seconds(10), edges: [.leading, .trailing], on: loop) { _ in acts.up() }
        throttle(1)
        throttle(2)
        #expect(loop.nextTimerFireTime(in: .default) == Loop.Instant(nanoseconds: 10_000_000_000))
        throttle.flush()
        #expect(acts.value == 2 && loop.nextTimerFireTime(in: .default) == nil)
        throttle(3)
        throttle.cancel()
        #expect(acts.value == 2 && loop.nextTimerFireTime(in: .default) == nil)
        throttle(4)
        throttle(5)
        clock.advance(by: .seconds(10))
        #expect(acts.value == 4 && loop.nextTimerFireTime(in: .default) == nil)
    }

    @Test("A burst with nothing pending ends in time on a loop that does not run")
    func burstEndsWithoutRun() {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Int>()
        let debounce = Debounce<Int>(interval: .seconds(10), edges: .leading, on: loop) { log.add($0) }
        let keyed = KeyedDebounce<Int, Int>(interval: .seconds(10), edges: .leading, on: loop) { log.add(-$1) }
        for (second, input) in [(0, 1), (8, 2), (17, 3), (30, 4)] {
            clock.advance(by: .seconds(second) - (clock.now - Loop.Instant(nanoseconds: 0)))
            debounce(input)
            keyed(input, for: 1)
        }
        #expect(log.entries == [1, -1, 4, -4])
    }

    // MARK: Random programs

    /// Against the rules with a timer that runs also when nothing is pending, and is never late.
    @Test("A limiter acts as one whose timer always runs")
    func likeEagerTimer() {
        for seed in 0..<programCount(1_500) {
            var random = SplitMix(seed)
            let (loop, clock) = Loop.inVirtualTime(.manual)
            let log = Log<EagerLimiter.Action>()
            let act: @Sendable (Int) -> Void = { log.add(.init(time: clock.now.nanoseconds, input: $0)) }
            var eager = EagerLimiter(seed, &random)
            let limiter: Limiter<Int> =
                eager.isThrottle
                ? Throttle(interval: .nanoseconds(eager.interval), edges: eager.edges, on: loop, action: act)
                : Debounce(
                    interval: .nanoseconds(eager.interval), edges: eager.edges,
                    maxWait: eager.maxWait.map { .nanoseconds($0) }, on: loop, action: act)
            for input in 0..<60 {
                let now = advance(clock, eager.interval, &random)
                eager.runTimers(until: now)
                switch random.next() % 16 {
                case 0: #expect(limiter.flush() == eager.flush(at: now))
                case 1:
                    limiter.cancel()
                    eager.cancel()
                case 2, 3:
                    let interval = EagerLimiter.interval(&random)
                    limiter.interval = .nanoseconds(interval)
                    eager.changeRules { $0.changeInterval(to: interval) }
                case 4 where !eager.isThrottle:
                    let maxWait = EagerLimiter.maxWait(&random)
                    (limiter as! Debounce<Int>).maxWait = maxWait.map { .nanoseconds($0) }
                    eager.changeRules { $0.changeMaxWait(to: maxWait) }
                default:
                    limiter(input)
                    eager.call(input, at: now)
                }
                // What acts within a zero interval acts in the next step of the loop.
                clock.advance(by: .zero)
                eager.runTimers(until: now)
                guard log.entries == eager.actions, limiter.isPending == eager.isPending else {
                    Issue.record("seed \(seed), call \(input)")
                    return
                }
                expectIdle(loop, unless: limiter.isPending, "seed \(seed), \(input)")
            }
        }
    }

    @Test("A key acts as a limiter whose timer always runs, and is counted as long as its past matters")
    func keysLikeEagerTimers() {
        for seed in 0..<programCount(1_000) {
            var random = SplitMix(seed)
            let (loop, clock) = Loop.inVirtualTime(.manual)
            let logs = (0..<12).map { _ in Log<EagerLimiter.Action>() }
            let act: @Sendable (Int, Int) -> Void = { logs[$0].add(.init(time: clock.now.nanoseconds, input: $1)) }
            var eager = Array(repeating: EagerLimiter(seed, &random), count: logs.count)
            let (isThrottle, edges, interval) = (eager[0].isThrottle, eager[0].edges, eager[0].interval)
            let limiter: KeyedLimiter<Int, Int> =
                isThrottle
                ? KeyedThrottle(interval: .nanoseconds(interval), edges: edges, on: loop, action: act)
                : KeyedDebounce(
                    interval: .nanoseconds(interval), edges: edges, maxWait: eager[0].maxWait.map { .nanoseconds($0) },
                    on: loop, action: act)
            for input in 0..<120 {
                let now = advance(clock, eager[0].interval / 4, &random)
                for key in eager.indices { eager[key].runTimers(until: now) }
                let key = Int(random.next() % UInt64(eager.count))
                switch random.next() % 24 {
                case 0: #expect(limiter.flush(key) == eager[key].flush(at: now))
                case 1:
                    limiter.cancel(key)
                    eager[key].cancel()
                case 2:
                    let interval = EagerLimiter.interval(&random)
                    limiter.interval = .nanoseconds(interval)
                    for key in eager.indices { eager[key].changeRules(at: now) { $0.changeInterval(to: interval) } }
                case 3 where !isThrottle:
                    let maxWait = EagerLimiter.maxWait(&random)
                    (limiter as! KeyedDebounce<Int, Int>).maxWait = maxWait.map { .nanoseconds($0) }
                    for key in eager.indices { eager[key].changeRules(at: now) { $0.changeMaxWait(to: maxWait) } }
                default:
                    limiter(input, for: key)
                    eager[key].call(input, at: now)
                }
                clock.advance(by: .zero)
                for key in eager.indices { eager[key].runTimers(until: now) }
                let pending = eager.indices.filter { eager[$0].isPending }
                guard logs.map(\.entries) == eager.map(\.actions), limiter.pendingKeys.sorted() == pending,
                    limiter.keyCount == eager.count(where: { !$0.isQuiet(at: now) })
                else {
                    Issue.record("seed \(seed), call \(input)")
                    return
                }
                expectIdle(loop, unless: !limiter.pendingKeys.isEmpty, "seed \(seed), \(input)")
            }
        }
    }

    private func advance(_ clock: VirtualClock, _ interval: Int64, _ random: inout SplitMix) -> Int64 {
        let steps = [0, 1, interval / 3, interval / 2, interval - 1, interval, interval + 1, interval * 3]
        clock.advance(by: .nanoseconds(steps[Int(random.next() % UInt64(steps.count))]))
        return clock.now.nanoseconds
    }

    /// Whether the loop has a timer exactly while an input is pending.
    private func expectIdle(_ loop: Loop, unless isPending: Bool, _ comment: String) {
        #expect((loop.nextTimerFireTime(in: .default) != nil) == isPending, "\(comment)")
        if !isPending { #expect(loop.run(mode: .default, for: .seconds(60)) == .finished, "\(comment)") }
    }

    // MARK: Keys

    @Test("Quiet keys leave with later calls", arguments: [RateLimitEdges.leading, .trailing, [.leading, .trailing]])
    func memoryOfKeys(_ edges: RateLimitEdges) {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let limiter = KeyedThrottle<Int, Int>(interval: .milliseconds(1), edges: edges, on: loop) { _, _ in }
        var most = 0
        for key in 0..<10_000 {
            limiter(key, for: key)
            most = max(most, limiter.core.table.capacity)
            if key % 100 == 99 { clock.advance(by: .milliseconds(1)) }
        }
        // A throttle's key matters for an interval after its trailing action: there are 200 at most.
        #expect(most <= 512)
        #expect(loop.run(mode: .default, for: .seconds(60)) == .finished)
        clock.advance(by: .milliseconds(1))
        #expect(limiter.keyCount == 0)
        // A few keys that stay are enough: the others leave, and their memory too.
        for _ in 0..<200 {
            for key in 0..<2 { limiter(0, for: key) }
            clock.advance(by: .milliseconds(1))
        }
        #expect(limiter.core.table.count <= 4 && limiter.core.table.capacity <= 64)
    }

    @Test("A key that is forgotten is released without a lock")
    func quietKeyCallsLimiter() {
        final class Key: Hashable, Sendable {
            let number: Int
            let goes: @Sendable () -> Void
            init(_ number: Int, goes: @escaping @Sendable () -> Void) { (self.number, self.goes) = (number, goes) }
            deinit { goes() }
            static func == (one: Key, other: Key) -> Bool { one.number == other.number }
            func hash(into hasher: inout Hasher) { hasher.combine(number) }
        }
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let goes = Count()
        let limiter = KeyedThrottle<Key, Int>(interval: .milliseconds(1), on: loop) { _, _ in }
        for number in 0..<100 {
            limiter(
                0,
                for: Key(number) { [weak limiter] in
                    goes.up()
                    _ = limiter?.keyCount
                })
            clock.advance(by: .milliseconds(1))
        }
        #expect(goes.value > 80)
    }
}

/// A limiter's rules with a timer that also runs while nothing is pending, and that is never late.
private struct EagerLimiter {
    struct Action: Equatable {
        let time: Int64
        let input: Int
    }

    private var rules: RateLimitRules
    private var burst = BurstTimes()
    private var pending = 0
    private(set) var actions: [Action] = []

    init(_ seed: UInt64, _ random: inout SplitMix) {
        let kind = seed % 3 == 0 ? RateLimitState.Kind.throttle : .debounce(maxWait: Self.maxWait(&random))
        rules = RateLimitRules(
            kind, interval: Self.interval(&random), edges: RateLimitEdges(rawValue: UInt8(1 + random.next() % 3)))
    }

    static func interval(_ random: inout SplitMix) -> Int64 { [0, 1, 2, 7, 20, 40][Int(random.next() % 6)] }

    static func maxWait(_ random: inout SplitMix) -> Int64? { [nil, nil, 0, 5, 30, 100][Int(random.next() % 6)] }

    var isThrottle: Bool { rules.kind == .throttle }
    var interval: Int64 { rules.interval }
    var maxWait: Int64? { rules.maxWait }
    var edges: RateLimitEdges { rules.edges }
    var isPending: Bool { burst.isPending }

    func isQuiet(at now: Int64) -> Bool { rules.quietTime(burst).map { $0 <= now } ?? false }

    mutating func call(_ input: Int, at now: Int64) {
        pending = input
        if rules.call(&burst, at: now) { act(at: now) }
    }

    mutating func flush(at now: Int64) -> Bool {
        guard rules.flush(&burst, at: now) else { return false }
        act(at: now)
        return true
    }

    mutating func cancel() { burst = BurstTimes() }

    mutating func changeRules(_ body: (inout RateLimitRules) -> Void) { body(&rules) }

    /// The same for a key: one that is quiet is forgotten.
    mutating func changeRules(at now: Int64, _ body: (inout RateLimitRules) -> Void) {
        if isQuiet(at: now) { cancel() }
        body(&rules)
    }

    mutating func runTimers(until now: Int64) {
        while let due = burst.timer, due <= now {
            if rules.timerFired(&burst, at: due) { act(at: due) }
        }
    }

    private mutating func act(at now: Int64) { actions.append(Action(time: now, input: pending)) }
}
