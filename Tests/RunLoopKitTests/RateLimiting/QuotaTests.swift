import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Token buckets: numbers are exact.
@Suite(.timeBound) struct QuotaTests {
    @Test("Five at once, and one every two seconds")
    func example() {
        let clock = VirtualClock(.manual)
        let quota = Quota(5, per: .seconds(10), clock: clock)
        for left in [4, 3, 2, 1, 0] {
            let answer = quota.take()
            #expect(answer.isAllowed && answer.remaining == left && answer.retryAfter == .zero)
            #expect(answer.fullAfter == .seconds(2) * (5 - left))
        }
        let refused = quota.take()
        #expect(!refused.isAllowed && refused.remaining == 0)
        #expect(refused.retryAfter == .seconds(2) && refused.fullAfter == .seconds(10))
        clock.advance(by: .nanoseconds(1_999_999_999))
        #expect(quota.take().retryAfter == .nanoseconds(1))
        clock.advance(by: .nanoseconds(1))
        #expect(quota.check().isAllowed && quota.take().isAllowed && !quota.check().isAllowed)
        clock.advance(by: .seconds(100))
        #expect(quota.description == "Quota: 5 per 10.0 seconds, burst 5, 5 left")
    }

    @Test("A cost takes as many tokens, or none")
    func cost() {
        let clock = VirtualClock(.manual)
        let quota = Quota(3, per: .seconds(1), burst: 6, clock: clock)
        #expect(quota.take(4).remaining == 2)
        #expect(quota.take(3).retryAfter == .nanoseconds(333_333_334))
        #expect(quota.take(2).isAllowed)
        let never = quota.take(7)
        #expect(!never.isAllowed && never.retryAfter == nil && never.description == "refused for good")
        #expect(quota.take(0).isAllowed && quota.take(-5).isAllowed && quota.check(0).remaining == 0)
    }

    @Test("What was promised after a time is there then, and not a nanosecond before")
    func retryAfter() {
        let clock = VirtualClock(.manual)
        let quota = Quota(7, per: .seconds(3), burst: 4, clock: clock)
        #expect(quota.take(4).isAllowed)
        for cost in [1, 3, 2, 4, 4, 1] {
            let wait = quota.check(cost).retryAfter!
            clock.advance(by: wait - .nanoseconds(1))
            #expect(quota.take(cost).retryAfter == .nanoseconds(1))
            clock.advance(by: .nanoseconds(1))
            #expect(quota.take(cost).isAllowed)
        }
    }

    @Test("Nothing drifts in a year of calls")
    func year() {
        let clock = VirtualClock(.manual)
        let quota = Quota(3, per: .seconds(1000), burst: 1, clock: clock)
        for count in 0..<100_000 {
            let isAllowed = quota.take().isAllowed
            clock.advance(by: quota.check().retryAfter!)
            // The time of the next token, rounded up once.
            guard isAllowed, clock.now.nanoseconds == (1_000_000_000_000 * Int64(count + 1) + 2) / 3 else {
                Issue.record("token \(count + 1) is there at \(clock.now)")
                return
            }
        }
        #expect(clock.now > seconds(365 * 86_400))
    }

    @Test("Reserved tokens are owed, given back ones never exceed the burst")
    func reserve() {
        let clock = VirtualClock(.manual)
        let quota = Quota(1000, per: .seconds(1), burst: 500, clock: clock)
        #expect(quota.reserve(500) == .zero)
        #expect(quota.reserve(2500) == .milliseconds(2500))
        #expect(quota.take(0).retryAfter == .milliseconds(2500) && quota.check().remaining == 0)
        clock.advance(by: .milliseconds(2500))
        #expect(quota.take(0).isAllowed && !quota.take(1).isAllowed)
        quota.giveBack(200)
        quota.giveBack(-7)
        #expect(quota.check().remaining == 200)
        quota.giveBack(.max)
        #expect(quota.check().remaining == 500 && quota.check().fullAfter == .zero)
        quota.reserve(9999)
        quota.reset()
        #expect(quota.check().remaining == 500)
    }

    @Test("Settings that mean nothing, all or never")
    func oddSettings() {
        let clock = VirtualClock(.manual)
        let none = Quota(0, per: .seconds(1), burst: 2, clock: clock)
        #expect(none.take(2).fullAfter == nil)
        clock.advance(by: .seconds(1_000_000))
        #expect(none.take().retryAfter == nil && none.reserve(1) == nil)
        none.giveBack(2)
        #expect(none.take().isAllowed)
        for refusing in [Quota(0, per: .zero, clock: clock), Quota(-1, per: .seconds(1), clock: clock)] {
            #expect(!refusing.take().isAllowed && refusing.take(0).isAllowed)
        }
        let atOnce = Quota(1, per: .zero, burst: 3, clock: clock)
        #expect(atOnce.take(3).remaining == 3 && atOnce.take(3).isAllowed && atOnce.take(4).retryAfter == nil)
        let long = Quota(1, per: Duration(attoseconds: .max), clock: clock)
        #expect(long.take().isAllowed && long.take().retryAfter == .nanoseconds(Int64.max))
        // An attosecond counts as a nanosecond.
        let short = Quota(1, per: Duration(attoseconds: 1), clock: clock)
        #expect(short.take().fullAfter == .nanoseconds(1))
    }

    @Test("The largest numbers at both ends of time")
    func endsOfTime() {
        for start in ExtremeProgram.numbers {
            let clock = VirtualClock(.manual, startingAt: Loop.Instant(nanoseconds: start))
            for (tokens, period, burst) in [(Int.max, Int64.max, Int.max), (Int.max - 1, .max, 1), (1, .max, .max)] {
                let quota = Quota(tokens, per: .nanoseconds(period), burst: burst, clock: clock)
                #expect(quota.take(burst).remaining == 0)
                for _ in 0..<3 { quota.reserve(.max) }
                #expect(!quota.take().isAllowed)
            }
        }
        let clock = VirtualClock(.manual, startingAt: .distantPast)
        let quota = Quota(Int.max, per: .nanoseconds(Int64.max), burst: .max, clock: clock)
        #expect(quota.take(.max).isAllowed)
        clock.advance(by: .seconds(1))
        #expect(quota.check().remaining == 1_000_000_000)
    }

    @Test("A loop's clock counts, and the loop is not retained")
    func clockOfLoop() throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        weak let loop = thread.loop
        let quota = Quota(1, per: .seconds(1), on: thread.loop)
        let keyed = KeyedQuota<Int>(1, per: .seconds(1), on: thread.loop)
        #expect(quota.take().isAllowed && !quota.take().isAllowed)
        #expect(keyed.take(for: 1).isAllowed && !keyed.take(for: 1).isAllowed)
        clock.advance(by: .seconds(1))
        #expect(quota.take().isAllowed && keyed.take(for: 1).isAllowed)
        _ = loop
    }

    @Test("Many threads together get what there is")
    func threads() throws {
        let quota = Quota(1000, per: .seconds(1), clock: VirtualClock(.manual))
        let keyed = KeyedQuota<Int>(100, per: .seconds(1), clock: VirtualClock(.manual))
        let (allowed, keyedAllowed) = (Count(), Count())
        let pool = try LoopThreadPool(count: 4)
        for _ in 0..<40 {
            pool.perform {
                for number in 0..<100 {
                    if quota.take().isAllowed { allowed.up() }
                    if keyed.take(for: number % 5).isAllowed { keyedAllowed.up() }
                }
            }
        }
        pool.drainAndWait()
        #expect(allowed.value == 1000 && keyedAllowed.value == 500)
    }

    // MARK: Laws

    /// As a person would write it: what is in the bucket, and since when.
    private struct Model {
        let (tokens, period, burst): (Int, Int, Int)
        var level: Int
        var time: Int

        init(_ tokens: Int, _ period: Int, _ burst: Int, at time: Int) {
            (self.tokens, self.period, self.burst, self.time) = (tokens, period, burst, time)
            level = burst * period
        }

        mutating func pass(to now: Int) {
            level += (now - time) * tokens
            // What comes in the nanosecond in which it is full is not lost.
            if level - burst * period >= min(tokens, period) { level = burst * period }
            time = now
        }

        func wait(for parts: Int) -> Int? {
            if parts > burst * period { return nil }
            return (0...).first { level + $0 * tokens >= parts }
        }
    }

    @Test("The bucket does what a naive one does, in random programs", arguments: 0..<programCount(600))
    func law(seed: UInt64) {
        var random = SplitMix(seed)
        let (tokens, period, burst) = (1 + random.below(12), 1 + random.below(40), random.below(12))
        let start = random.below(100) - 50
        let clock = VirtualClock(.manual, startingAt: Loop.Instant(nanoseconds: Int64(start)))
        let quota = Quota(tokens, per: .nanoseconds(period), burst: burst, clock: clock)
        var model = Model(tokens, period, burst, at: start)
        let program: Comment = "seed \(seed): \(tokens) in \(period) ns, burst \(burst)"
        var takes: [(time: Int, cost: Int)] = []
        var isPlain = true
        for _ in 0..<60 {
            clock.advance(by: .nanoseconds(random.below(2 * period)))
            model.pass(to: Int(clock.now.nanoseconds))
            let cost = random.below(burst + 3)
            switch random.below(8) {
            case 0:
                quota.giveBack(cost)
                if cost > 0 { model.level = min(burst * period, model.level + cost * period) }
                isPlain = isPlain && cost == 0
            case 1:
                model.level -= cost * period
                #expect(quota.reserve(cost) == model.wait(for: 0).map { .nanoseconds($0) }, program)
                isPlain = isPlain && cost == 0
            case 2:
                quota.reset()
                model.level = burst * period
                isPlain = false
            default:
                let isAllowed = model.level >= cost * period && cost <= burst
                let wait = isAllowed ? 0 : model.wait(for: cost * period)
                let checked = quota.check(cost)
                #expect(checked.remaining == max(0, model.level) / period, program)
                if isAllowed { model.level -= cost * period }
                let answer = quota.take(cost)
                #expect(answer.isAllowed == isAllowed && checked.isAllowed == isAllowed, program)
                #expect(answer.remaining == max(0, model.level) / period, program)
                #expect(answer.retryAfter == wait.map { .nanoseconds($0) }, program)
                #expect(answer.fullAfter == .nanoseconds(model.wait(for: burst * period)!), program)
                if isAllowed { takes.append((model.time, cost)) }
            }
        }
        guard isPlain else { return }
        for first in takes.indices {
            let inPeriod = takes[first...].prefix { $0.time - takes[first].time <= period }
            #expect(inPeriod.reduce(0) { $0 + $1.cost } <= tokens + burst, program)
        }
    }

    @Test("A key is like a quota of its own, in random programs", arguments: 0..<programCount(200))
    func keyedLaw(seed: UInt64) {
        var random = SplitMix(seed)
        let (tokens, period, burst) = (1 + random.below(5), 1 + random.below(40), 1 + random.below(5))
        let clock = VirtualClock(.manual)
        let keyed = KeyedQuota<Int>(tokens, per: .nanoseconds(period), burst: burst, clock: clock)
        let quotas = (0..<6).map { _ in
            Quota(tokens, per: .nanoseconds(period), burst: burst, clock: clock)
        }
        let program: Comment = "seed \(seed): \(tokens) in \(period) ns, burst \(burst)"
        for _ in 0..<200 {
            clock.advance(by: .nanoseconds(random.below(2 * period)))
            let (key, cost) = (random.below(6), random.below(burst + 2))
            switch random.below(10) {
            case 0: #expect(keyed.reserve(cost, for: key) == quotas[key].reserve(cost), program)
            case 1:
                keyed.giveBack(cost, for: key)
                quotas[key].giveBack(cost)
            case 2:
                keyed.reset(key)
                quotas[key].reset()
            case 3: #expect(keyed.check(cost, for: key) == quotas[key].check(cost), program)
            default: #expect(keyed.take(cost, for: key) == quotas[key].take(cost), program)
            }
            #expect(keyed.keyCount == quotas.count { $0.check().fullAfter != .zero }, program)
        }
    }

    // MARK: Keys

    @Test("Keys whose quota is full are forgotten, and only these")
    func forgottenKeys() {
        let clock = VirtualClock(.manual)
        let quota = KeyedQuota<Int>(1, per: .seconds(10), burst: 2, clock: clock)
        for key in 0..<10_000 {
            #expect(quota.take(for: key).isAllowed)
            // A thousand keys are not full at a time, and the hand passes two for each that comes.
            clock.advance(by: .milliseconds(10))
            #expect(quota.rememberedCount <= 2002)
        }
        #expect(quota.keyCount == 1000 - 1)
        #expect(quota.description == "KeyedQuota: 1 per 10.0 seconds, burst 2, 999 keys")
        // A check, and a call that takes nothing, remember no key.
        let before = quota.rememberedCount
        _ = (quota.check(for: -1), quota.take(3, for: -2), quota.take(0, for: -3))
        #expect(quota.rememberedCount <= before)
        clock.advance(by: .seconds(100))
        for _ in 0..<2000 { _ = quota.take(0, for: 0) }
        #expect(quota.rememberedCount == 0 && quota.keyCount == 0)
        _ = quota.take(for: 1)
        quota.resetAll()
        #expect(quota.rememberedCount == 0)
    }

    private final class Key: Hashable, Sendable {
        let number: Int
        let atEnd: @Sendable () -> Void

        init(_ number: Int, atEnd: @escaping @Sendable () -> Void) { (self.number, self.atEnd) = (number, atEnd) }

        deinit { atEnd() }

        func hash(into hasher: inout Hasher) { hasher.combine(number) }
        static func == (left: Key, right: Key) -> Bool { left.number == right.number }
    }

    @Test("A key's deinit may call the quota")
    func keyWithDeinit() {
        let clock = VirtualClock(.manual)
        let quota = KeyedQuota<Key>(1, per: .seconds(1), clock: clock)
        let ended = Count()
        for number in 0..<100 {
            _ = quota.take(
                for: Key(number) { [weak quota] in
                    _ = quota?.keyCount
                    ended.up()
                })
            clock.advance(by: .milliseconds(500))
        }
        #expect(ended.value > 90)
        for number in 90..<100 { quota.reset(Key(number) {}) }
        #expect(ended.value == 100)
        _ = quota.take(for: Key(0) { ended.up() })
        quota.resetAll()
        #expect(ended.value == 101)
    }
}
