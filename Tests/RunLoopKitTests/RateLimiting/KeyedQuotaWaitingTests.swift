import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Tasks that wait for the tokens of a key, in virtual time except where stated.
@Suite(.timeBound) struct KeyedQuotaWaitingTests {
    @Test("Tasks get a key's tokens in the order of their calls, and wait for no other key")
    func order() async throws {
        let stage = try QuotaStage()
        let quota = KeyedQuota<String>(1, per: .seconds(1), on: stage.loop)
        let found = try await stage.play { stage in
            ["a", "a", "b", "a", "b", "c"].enumerated().map { stage.wait(quota, $1, "\($1)\($0)") }
        }
        #expect(found == ["a0 at 0.0", "b2 at 0.0", "c5 at 0.0", "a1 at 1.0", "b4 at 1.0", "a3 at 2.0"])
        #expect(quota.check(for: "a").retryAfter == .seconds(1) && quota.check(for: "b").isAllowed)
    }

    @Test("A call that does not wait is refused while a task waits for its key")
    func refusedMeanwhile() async throws {
        let stage = try QuotaStage()
        let quota = KeyedQuota<String>(1, per: .seconds(1), on: stage.loop)
        let answers = Log<String>()
        let found = try await stage.play { stage in
            _ = quota.take(for: "a")
            stage.at(0.5) { for key in ["a", "b"] { answers.add("\(quota.take(for: key))") } }
            return [stage.wait(quota, "a", "first"), stage.wait(quota, "a", "last")]
        }
        #expect(found == ["first at 1.0", "last at 2.0"])
        #expect(answers.entries.first == "refused, retry after 1.5 seconds")
        #expect(answers.entries.last?.hasPrefix("allowed") == true)
    }

    @Test("A cancelled task gives its tokens back, and those behind it move up", arguments: [0, 1, 2, 3])
    func cancelled(_ victim: Int) async throws {
        let stage = try QuotaStage()
        let quota = KeyedQuota<String>(1, per: .seconds(1), on: stage.loop)
        let found = try await stage.play { stage in
            for key in ["a", "b"] { _ = quota.take(for: key) }
            let tasks = (0..<4).map { stage.wait(quota, "a", "\($0)") }
            stage.at(0.5) { tasks[victim].cancel() }
            return tasks + [stage.wait(quota, "b", "b")]
        }
        var expected = ["\(victim) CancellationError at 0.5"]
        for (place, name) in (0..<4).filter({ $0 != victim }).enumerated() {
            expected.append("\(name) at \(Double(place + 1))")
        }
        #expect(found.filter { $0 != "b at 1.0" } == expected && found.count == 5)
        #expect(quota.lineCount == 0)
    }

    @Test("The answers are those of a quota for this key alone", arguments: 0..<40)
    func sameAsQuota(_ seed: UInt64) async throws {
        struct Call { let cost, key: Int, cancelledAt, begin: Double }
        var random = SplitMix(seed)
        let calls = (0..<30).map { _ in
            Call(
                cost: .random(in: -1...4, using: &random), key: .random(in: 0..<3, using: &random),
                cancelledAt: .random(in: 0...2, using: &random) == 0 ? .random(in: 0...10, using: &random) : 100,
                begin: Double(Int.random(in: 0...4, using: &random)))
        }
        let tokens = Int.random(in: 0...3, using: &random)
        let resets = (0..<3).map { _ in Double.random(in: 0...10, using: &random) }
        let answers = try await [false, true].asyncMap { isKeyed in
            let stage = try QuotaStage()
            let keyed = KeyedQuota<String>(tokens, per: .seconds(1), burst: 3, on: stage.loop)
            let own = (0..<3).map { _ in Quota(tokens, per: .seconds(1), burst: 3, on: stage.loop) }
            return try await stage.play { stage in
                for (key, time) in resets.enumerated() {
                    stage.at(time) { if isKeyed { keyed.reset("\(key)") } else { own[key].reset() } }
                }
                return calls.enumerated().map { number, call in
                    let task = stage.task("\(number)") { [loop = stage.loop] in
                        try await LoopClock(loop).sleep(until: .init(nanoseconds: Int64(call.begin * 1e9)))
                        if isKeyed {
                            try await keyed.wait(call.cost, for: "\(call.key)", on: loop)
                        } else {
                            try await own[call.key].wait(call.cost, on: loop)
                        }
                    }
                    stage.at(call.cancelledAt) { task.cancel() }
                    return task
                }
            }
        }
        #expect(answers[0] == answers[1] && answers[0].count == calls.count)
    }

    @Test("Tokens that never come are an error, of their key alone")
    func noTokens() async throws {
        let stage = try QuotaStage()
        let quota = KeyedQuota<String>(0, per: .seconds(1), burst: 2, on: stage.loop)
        let found = try await stage.play { stage in
            [(2, "a"), (1, "a"), (1, "b")].map { stage.wait(quota, $0.1, $0.1, cost: $0.0) }
        }
        #expect(found == ["a at 0.0", "a NoTokens at 0.0", "b at 0.0"] && quota.lineCount == 0)
    }

    @Test("A loop that ends gives the tokens back")
    func endedLoop() async throws {
        let stage = try QuotaStage()
        // Of the same clock, since the first one's loop ends.
        let quota = KeyedQuota<String>(1, per: .seconds(1), on: stage.loop)
        #expect(quota.take(for: "a").isAllowed)
        let waiting = try await stage.thread.run {
            // Ends the thread while a task sleeps.
            stage.at(0.5) { stage.thread.stop() }
            return Task.immediate { try await quota.wait(for: "a", on: stage.loop) }
        }
        await #expect(throws: Loop.Ended.self) { try await waiting.value }
        try await stage.thread.waitForEnd()
        await #expect(throws: Loop.Ended.self) { try await quota.wait(for: "a", on: stage.loop) }
        #expect(quota.lineCount == 0 && quota.check(for: "a").retryAfter == .seconds(0.5))
    }

    @Test("A key is kept while a task waits, whatever is reset, and forgotten afterwards")
    func memory() async throws {
        let clock = VirtualClock(.manual)
        let (quota, thread) = (KeyedQuota<Int>(1, per: .seconds(1), clock: clock), try LoopThread(clock: clock))
        let loop = thread.loop
        for key in 0..<100 { quota.reserve(2, for: key) }
        let tasks = (0..<100).flatMap { key in
            (0..<2).map { _ in Task.immediate { try await quota.wait(for: key, on: loop) } }
        }
        #expect(quota.lineCount == 100 && quota.rememberedCount == 100)
        quota.resetAll()
        for key in 0..<50 { quota.reset(key) }
        #expect(quota.lineCount == 100 && quota.rememberedCount == 0)
        for task in tasks.reversed() { task.cancel() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(quota.lineCount == 0)
        clock.advance(by: .seconds(10))
        for _ in 0..<60 { _ = quota.take(for: 1000) }
        #expect(quota.rememberedCount == 1 && quota.keyCount == 1)
    }

    @Test("A cancelled task does not give back what a reset of its key has forgiven", arguments: [0, 1, nil])
    func reset(_ reset: Int?) async throws {
        let clock = VirtualClock(.manual)
        let (quota, thread) = (KeyedQuota<Int>(1, per: .seconds(1), clock: clock), try LoopThread(clock: clock))
        let loop = thread.loop
        quota.reserve(1, for: 0)
        let task = Task.immediate { try await quota.wait(for: 0, on: loop) }
        if let reset { quota.reset(reset) } else { quota.resetAll() }
        #expect(quota.take(for: 0).isAllowed == (reset != 1))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(quota.check(for: 0).retryAfter == .seconds(1))
    }

    /// Equal to others of its number, and calls its quota when it is released.
    private final class Key: Hashable, Sendable {
        let number: Int
        let ended: Count
        let quota: KeyedQuota<Key>

        init(_ number: Int, _ quota: KeyedQuota<Key>, _ ended: Count) {
            (self.number, self.quota, self.ended) = (number, quota, ended)
        }

        deinit {
            _ = quota.keyCount + quota.lineCount
            ended.up()
        }

        static func == (first: Key, second: Key) -> Bool { first.number == second.number }
        func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    @Test("A key that is forgotten is released without a lock")
    func releasedKeys() async throws {
        let stage = try QuotaStage()
        let quota = KeyedQuota<Key>(1, per: .seconds(1), on: stage.loop)
        let ended = Count()
        _ = try await stage.play { stage in
            (0..<12).map { number in
                stage.task("\(number)") { [loop = stage.loop] in
                    try await quota.wait(for: Key(number % 3, quota, ended), on: loop)
                }
            }
        }
        #expect(quota.lineCount == 0)
        quota.resetAll()
        #expect(ended.value == 12)
    }

    @Test("Many tasks on many threads, some of which are cancelled, all get an answer, and leave no line, in real time")
    func stress() async throws {
        let quota = KeyedQuota<Int>(1, per: .microseconds(50), burst: 1)
        let start = Loop.Instant.now
        let got = Count()
        let tasks = (0..<400).map { number in
            let task = Task {
                if (try? await quota.wait(for: number % 4)) != nil { got.up() }
            }
            if number % 3 == 0 { Task { task.cancel() } }
            return task
        }
        for task in tasks { await task.value }
        #expect(got.value >= 266 && start.duration(to: .now) >= .microseconds(50) * (got.value / 4 - 1))
        #expect(quota.lineCount == 0)
    }

    @Test("In virtual time the loop must be named, and have that time")
    func misuse() async {
        await #expect(processExitsWith: .failure) {
            try await KeyedQuota<Int>(1, per: .seconds(1), clock: VirtualClock()).wait(for: 1)
        }
        await #expect(processExitsWith: .failure) {
            let thread = try LoopThread()
            try await KeyedQuota<Int>(1, per: .seconds(1), clock: VirtualClock()).wait(for: 1, on: thread.loop)
        }
    }
}

extension Array {
    /// One after the other.
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
