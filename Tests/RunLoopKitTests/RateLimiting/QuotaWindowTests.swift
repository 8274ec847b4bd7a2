import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Quotas that allow never more than so many in any period.
@Suite(.timeBound) struct QuotaWindowTests {
    @Test("Never more than five in any ten seconds")
    func example() {
        let clock = VirtualClock(.manual)
        let quota = Quota(.atMost(5, inAny: .seconds(10)), clock: clock)
        for left in [4, 3] { #expect(quota.take().remaining == left) }
        clock.advance(by: .seconds(6))
        #expect(quota.take(3).description == "allowed, 0 left")
        let refused = quota.take()
        #expect(!refused.isAllowed && refused.retryAfter == .seconds(4) && refused.fullAfter == .seconds(10))
        #expect(quota.check(3).retryAfter == .seconds(10) && quota.check(6).retryAfter == nil)
        clock.advance(by: .nanoseconds(3_999_999_999))
        #expect(quota.take().retryAfter == .nanoseconds(1))
        clock.advance(by: .nanoseconds(1))
        #expect(quota.check(2).isAllowed && quota.take(2).isAllowed && quota.take().retryAfter == .seconds(6))
        #expect(quota.description == "Quota: 5 in any 10.0 seconds, 0 left")
        quota.reset()
        #expect(quota.check(0).remaining == 5 && quota.check(0).fullAfter == .zero)
    }

    @Test("Two windows hold together")
    func twoWindows() {
        let clock = VirtualClock(.manual)
        let quota = Quota(.atMost(2, inAny: .seconds(1)), .atMost(3, inAny: .seconds(60)), clock: clock)
        #expect(quota.take(2).isAllowed && quota.take().retryAfter == .seconds(1))
        clock.advance(by: .seconds(1))
        #expect(quota.take().remaining == 0 && quota.take().retryAfter == .seconds(59))
        #expect(quota.check(2).retryAfter == .seconds(59) && quota.check(3).retryAfter == nil)
        #expect(quota.description == "Quota: 2 in any 1.0 seconds, 3 in any 60.0 seconds, 0 left")
    }

    @Test("What is given back is the oldest, so that no limit is exceeded")
    func giveBack() {
        let clock = VirtualClock(.manual)
        let quota = Quota(.atMost(2, inAny: .seconds(10)), clock: clock)
        #expect(quota.take().isAllowed)
        clock.advance(by: .seconds(5))
        #expect(quota.take().isAllowed && quota.check().retryAfter == .seconds(5))
        quota.giveBack()
        // The later one is left.
        #expect(quota.take().isAllowed && quota.check().retryAfter == .seconds(10))
        // What is owed stays, since somebody may rely on it.
        #expect(quota.reserve(1) == .seconds(10))
        quota.giveBack(2)
        #expect(quota.reserve(0) == .seconds(10) && !quota.take(0).isAllowed)
        quota.giveBack(1000)
        quota.giveBack(-1)
        #expect(quota.check(0).remaining == 2 && quota.check(0).fullAfter == .zero)

        let both = Quota(.atMost(1, inAny: .seconds(1)), .atMost(9, inAny: .seconds(60)), clock: clock)
        #expect(both.take().isAllowed)
        clock.advance(by: .seconds(1))
        #expect(both.take().isAllowed)
        both.giveBack()
        // It may be the first one, which the short window has forgotten.
        #expect(both.check().retryAfter == .seconds(1) && both.check(0).remaining == 0)
    }

    @Test("A cost above the window fills as many periods")
    func largeCost() {
        let clock = VirtualClock(.manual)
        let quota = Quota(.atMost(2, inAny: .seconds(1)), clock: clock)
        #expect(quota.reserve(5) == .seconds(2) && quota.reserve(1) == .seconds(3) && quota.reserve(1) == .seconds(3))
        #expect(quota.reserve(.max) == nil && quota.reserve(1) == nil)
        #expect(!quota.take().isAllowed && !quota.take(0).isAllowed)
    }

    @Test("Windows without tokens, without a period, and without an end")
    func extremes() {
        let clock = VirtualClock(.manual)
        let none = Quota(.atMost(-1, inAny: .seconds(1)), clock: clock)
        #expect(none.take().description == "refused for good" && none.take(0).isAllowed)
        #expect(none.reserve(1) == nil && !none.take(0).isAllowed)
        none.giveBack()
        #expect(none.take(0).isAllowed && none.check(0).remaining == 0)

        let open = Quota(.atMost(2, inAny: .seconds(-1)), clock: clock)
        for _ in 0..<3 { #expect(open.take(2).isAllowed) }
        #expect(open.take(3).description == "refused for good" && open.take().remaining == 2)

        let endless = Quota(.atMost(2, inAny: .seconds(Int64.max)), clock: clock)
        #expect(endless.take(2).fullAfter == nil && endless.take().retryAfter == nil && endless.reserve(1) == nil)
        let many = Quota(.atMost(.max, inAny: .seconds(1)), clock: clock)
        #expect(many.take(.max).remaining == 0 && many.take(.max).retryAfter == .seconds(1))
    }

    @Test("Times that are more than 64 bits apart count as the longest duration")
    func timesFarApart() {
        let long = Quota.Window.atMost(1, inAny: .nanoseconds(Int64.max / 2))
        let clock = VirtualClock(.manual, startingAt: .distantPast)
        let quota = Quota(long, clock: clock)
        #expect(quota.reserve(3) == .nanoseconds(Int64.max - 1))
        let answer = quota.check(0)
        #expect(!answer.isAllowed && answer.retryAfter == .nanoseconds(Int64.max - 1))
        #expect(answer.fullAfter == .nanoseconds(Int64.max))
        let other = Quota(long, clock: clock)
        let period = Int64.max / 2
        for debt in [0, period, 2 * period, .max] { #expect(other.reserve(1) == .nanoseconds(debt)) }
        #expect(other.take(0).retryAfter == .nanoseconds(Int64.max) && !other.take(0).isAllowed)
    }

    @Test("Tokens that are owed for ever are one entry, however many calls have reserved them")
    func owedForEver() {
        for window in [Quota.Window.atMost(0, inAny: .seconds(1)), .atMost(2, inAny: .seconds(Int64.max))] {
            var log = WindowLog(of: window)
            for _ in 0..<1000 { log.append(1, at: log.earliest(for: 1, at: 0)) }
            #expect(log.callCount <= 2 && log.debt(at: 0) == nil)
            #expect(log.removeOldest(999, at: 0).reduce(0) { $0 + $1.cost } == 999 && log.debt(at: 0) == nil)
            #expect(log.removeOldest(999, at: 0).reduce(0) { $0 + $1.cost } == 1)
            #expect(log.isEmpty && log.remaining(at: 0) == window.tokens)
            var most = WindowLog(of: window)
            for _ in 0..<2 { most.append(.max, at: .max) }
            #expect(most.callCount == 1)
            most.remove(.max, ofTime: .max, at: 0)
            #expect(most.isEmpty && most.remaining(at: 0) == window.tokens)
        }
    }

    @Test("A key's windows are its own, and it is forgotten when they are empty")
    func keys() {
        let clock = VirtualClock(.manual)
        let quota = KeyedQuota<Int>(.atMost(2, inAny: .seconds(1)), .atMost(3, inAny: .seconds(9)), clock: clock)
        #expect(quota.take(2, for: 1).isAllowed && !quota.take(for: 1).isAllowed && quota.take(for: 2).isAllowed)
        #expect(quota.keyCount == 2 && quota.check(2, for: 3).isAllowed && !quota.take(3, for: 4).isAllowed)
        #expect(quota.rememberedCount == 2)
        #expect(quota.description == "KeyedQuota: 2 in any 1.0 seconds, 3 in any 9.0 seconds, 2 keys")
        clock.advance(by: .seconds(9))
        #expect(quota.keyCount == 0)
        for _ in 0..<4 { _ = quota.take(0, for: 9) }
        #expect(quota.rememberedCount == 0)
    }

    @Test("Tasks wait for both windows, in the order of their calls; a cancelled one gives back", arguments: [nil, 2])
    func waits(_ victim: Int?) async throws {
        let stage = try QuotaStage()
        let quota = Quota(.atMost(2, inAny: .seconds(1)), .atMost(5, inAny: .seconds(10)), on: stage.loop)
        let found = try await stage.play { stage in
            let tasks = (0..<7).map { stage.wait(quota, "\($0)") }
            if let victim { stage.at(0.5) { tasks[victim].cancel() } }
            return tasks
        }
        let times = ["0.0", "0.0", "1.0", "1.0", "2.0", "10.0", "10.0"]
        var expected = victim.map { ["\($0) CancellationError at 0.5"] } ?? []
        let others = (0..<7).filter { $0 != victim }
        expected += zip(others, times).map { "\($0) at \($1)" }
        #expect(found.sorted() == expected.sorted())
    }

    @Test("Tasks that wait for tokens that never come learn of it")
    func never() async throws {
        let stage = try QuotaStage()
        let quota = Quota(.atMost(0, inAny: .seconds(1)), on: stage.loop)
        let found = try await stage.play { stage in [stage.wait(quota, "a"), stage.wait(quota, "b", cost: 0)] }
        #expect(found.sorted() == ["a NoTokens at 0.0", "b at 0.0"])
    }

    /// The calls of one window, each of which may be in the future.
    private struct Model {
        let tokens: Int
        let period: Int64
        var calls: [(time: Int64, cost: Int)] = []

        func counted(at time: Int64) -> [(time: Int64, cost: Int)] { calls.filter { $0.time + period > time } }
        func allows(_ cost: Int, at time: Int64) -> Bool {
            cost <= 0 || counted(at: time).reduce(0) { $0 + $1.cost } + cost <= tokens
        }
        var last: Int64 { calls.last?.time ?? .min }
    }

    @Test("Random calls are answered as by a list of all calls, and never exceed a window", arguments: 0..<40)
    func random(_ seed: UInt64) {
        var random = SplitMix(seed)
        let clock = VirtualClock(.manual)
        var models = (0...seed % 3).map { _ in
            Model(tokens: Int.random(in: 1...6, using: &random), period: Int64.random(in: 1...40, using: &random))
        }
        let windows = models.map { Quota.Window.atMost($0.tokens, inAny: .nanoseconds($0.period)) }
        let quota =
            switch windows.count {
            case 1: KeyedQuota<Int>(windows[0], clock: clock)
            case 2: KeyedQuota<Int>(windows[0], windows[1], clock: clock)
            default: KeyedQuota<Int>(windows[0], windows[1], windows[2], clock: clock)
            }
        let most = models.map(\.tokens).min()!
        var taken: [(time: Int64, cost: Int)] = []
        for step in 0..<600 {
            clock.advance(by: .nanoseconds(Int64.random(in: 0...6, using: &random)))
            let now = clock.now.nanoseconds
            let cost = Int.random(in: 0...min(most + 1, 4), using: &random)
            let earliest = (now...).first { time in
                models.allSatisfy { $0.last <= time && $0.allows(min(cost, most), at: time) }
            }!
            let choice = Int.random(in: 0..<10, using: &random)
            if choice < 7 {
                let answer = quota.take(cost, for: 1)
                let isAllowed = earliest == now && cost <= most
                #expect(answer.isAllowed == isAllowed, "step \(step)")
                let wait: Duration? = cost > most ? nil : .nanoseconds(earliest - now)
                #expect(answer.retryAfter == wait, "step \(step)")
                guard isAllowed, cost > 0 else { continue }
                taken.append((now, cost))
                for index in models.indices { models[index].calls.append((now, cost)) }
            } else if choice < 9 {
                let cost = min(cost, most)
                let debt = quota.reserve(cost, for: 1)
                guard cost > 0 else { continue }
                #expect(debt == .nanoseconds(earliest - now), "step \(step)")
                taken.append((earliest, cost))
                for index in models.indices { models[index].calls.append((earliest, cost)) }
            } else {
                quota.giveBack(1, for: 1)
                let longest = models.max { $0.period < $1.period }!
                guard let time = longest.counted(at: now).first?.time else { continue }
                for index in models.indices where time + models[index].period > now {
                    let place = models[index].calls.firstIndex { $0.time == time }!
                    models[index].calls[place].cost -= 1
                    if models[index].calls[place].cost == 0 { models[index].calls.remove(at: place) }
                }
                // One of them was not made after all: whichever that was.
                let counted = taken.indices.filter { taken[$0].cost > 0 && taken[$0].time + longest.period > now }
                let made = counted.filter { taken[$0].time <= now }
                if let call = (made.isEmpty ? counted : made).randomElement(using: &random) { taken[call].cost -= 1 }
            }
        }
        for model in models {
            for call in taken {
                let inPeriod = taken.filter { $0.time > call.time - model.period && $0.time <= call.time }
                #expect(inPeriod.reduce(0) { $0 + $1.cost } <= model.tokens)
            }
        }
    }
}
