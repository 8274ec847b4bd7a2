import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Calls that need the tokens of a key, and a place: in virtual time.
@Suite(.timeBound) struct KeyedQuotaRunningTests {
    private struct Failure: Error {}

    /// Calls that take a while.
    private final class Stage: Sendable {
        let stage: QuotaStage
        let quota: KeyedQuota<String>
        let limit: ConcurrencyLimit
        let begins = Log<(key: String, number: Int, time: Int64)>()
        let most = Log<Int>()

        init(_ count: Int, _ make: (Loop) -> KeyedQuota<String>) throws {
            stage = try QuotaStage()
            (quota, limit) = (make(stage.loop), ConcurrencyLimit(count))
        }

        convenience init(_ count: Int, _ window: Quota.Window) throws {
            try self.init(count) { KeyedQuota(window, on: $0) }
        }

        func call(
            _ key: String, _ number: Int, lasting duration: Duration = .zero, cost: Int = 1, fails: Bool = false
        ) -> Task<Void, any Error> {
            stage.task("\(key)\(number)") { [self] in
                try await quota.run(cost, for: key, limitedBy: limit, on: stage.loop) {
                    begins.add((key, number, stage.loop.now.nanoseconds))
                    most.add(limit.runningCount)
                    if duration > .zero { try await LoopClock(stage.loop).sleep(for: duration) }
                    if fails { throw Failure() }
                }
            }
        }

        func play(_ make: @escaping @Sendable (Stage) -> [Task<Void, any Error>]) async throws -> [String] {
            try await stage.play { _ in make(self) }
        }

        /// The most calls of a key that began in less than a second.
        func mostInASecond(of key: String) -> Int {
            let times = begins.entries.filter { $0.key == key }.map(\.time)
            return times.map { first in times.count { $0 >= first && $0 < first + 1_000_000_000 } }.max() ?? 0
        }
    }

    @Test("Calls of a key come in order, at its rate, and of all keys no more at once than there are places")
    func rateAndPlaces() async throws {
        let stage = try Stage(3, .atMost(5, inAny: .seconds(1)))
        let found = try await stage.play { stage in
            (0..<60).map { stage.call(["a", "b", "c"][$0 % 3], $0, lasting: .milliseconds(90)) }
        }
        #expect(found.count == 60 && stage.most.entries.max() == 3)
        for key in ["a", "b", "c"] {
            let numbers = stage.begins.entries.filter { $0.key == key }.map(\.number)
            #expect(numbers.count == 20 && numbers == numbers.sorted(), "\(key): \(numbers)")
            #expect(stage.mostInASecond(of: key) <= 5, "\(key)")
        }
        #expect(stage.limit.runningCount == 0 && stage.limit.waitingCount == 0 && stage.quota.lineCount == 0)
    }

    @Test("A call that waits for its place counts from when it has it")
    func lateForItsPlace() async throws {
        // The two places are taken by others until 0.9. Then two may begin, and no more before 1.9.
        let stage = try Stage(2, .atMost(2, inAny: .seconds(1)))
        _ = try await stage.play { stage in
            let others = ["x", "y"].map { stage.call($0, 0, lasting: .milliseconds(900)) }
            return others + (0..<4).map { stage.call("a", $0) }
        }
        let times = stage.begins.entries.filter { $0.key == "a" }.map(\.time)
        #expect(times == [900, 900, 1900, 1900].map { $0 * 1_000_000 })
    }

    @Test("A task that waits for tokens holds no place")
    func holdsNoPlace() async throws {
        let stage = try Stage(1, .atMost(1, inAny: .seconds(10)))
        let found = try await stage.play { stage in
            [stage.call("a", 0), stage.call("a", 1), stage.call("b", 2), stage.call("c", 3)]
        }
        #expect(found == ["a0 at 0.0", "b2 at 0.0", "c3 at 0.0", "a1 at 10.0"])
    }

    @Test("Tokens that others take while a call waits for its place are waited for", arguments: [false, true])
    func takenMeanwhile(_ isReset: Bool) async throws {
        let stage = try Stage(1, .atMost(1, inAny: .seconds(1)))
        let found = try await stage.play { stage in
            let busy = stage.call("x", 0, lasting: .seconds(5))
            let late = stage.call("a", 1)
            stage.stage.at(3) { if isReset { stage.quota.reset("a") } }
            // The tokens of the first second are its, and no longer count.
            stage.stage.at(4.5) { stage.quota.reserve(1, for: "a") }
            return [busy, late]
        }
        #expect(found == ["x0 at 5.0", "a1 at 5.5"])
    }

    @Test("A cancelled call takes nothing, wherever it waits", arguments: [0, 1, 2])
    func cancelled(_ wait: Int) async throws {
        let stage = try Stage(1, .atMost(1, inAny: .seconds(4)))
        let found = try await stage.play { stage in
            // The first one waits for its place or, if there is one, for its tokens, and the second behind it.
            let busy = stage.call(wait == 1 ? "a" : "x", 0, lasting: .seconds(wait == 1 ? 0 : 2))
            let tasks = (1...2).map { stage.call("a", $0) }
            stage.stage.at(1) { tasks[wait == 2 ? 1 : 0].cancel() }
            return [busy] + tasks
        }
        let victim = wait == 2 ? 2 : 1
        #expect(found.contains("a\(victim) CancellationError at 1.0"))
        #expect(found.contains("a\(3 - victim) at \(wait == 1 ? 4.0 : 2.0)"))
        #expect(stage.limit.waitingCount == 0 && stage.limit.runningCount == 0 && stage.quota.lineCount == 0)
        #expect(stage.quota.check(for: "a").remaining == 0, "only the other one has taken any")
    }

    @Test("A bucket that was full again owes nothing for a call that waits for its place")
    func bucketWasFull() async throws {
        let stage = try Stage(1) { KeyedQuota(2, per: .seconds(1), on: $0) }
        // Or the key would be forgotten.
        for other in 0..<100 { stage.quota.reserve(1000, for: "other \(other)") }
        let found = try await stage.play { stage in
            let tasks = [stage.call("x", 0, lasting: .seconds(5)), stage.call("a", 1)]
            stage.stage.at(4.9) { #expect(stage.quota.take(2, for: "a").isAllowed) }
            return tasks
        }
        #expect(found == ["x0 at 5.0", "a1 at 5.4"])
    }

    @Test("A call whose tokens never come leaves nothing behind")
    func neverAgain() async throws {
        let stage = try Stage(1, .atMost(1, inAny: .seconds(Int64.max)))
        let found = try await stage.play { stage in
            let tasks = [stage.call("x", 0, lasting: .seconds(5)), stage.call("a", 1)]
            stage.stage.at(4) { #expect(stage.quota.take(for: "a").isAllowed) }
            return tasks
        }
        #expect(found.contains("a1 NoTokens at 5.0"))
        stage.quota.giveBack(for: "a")
        #expect(stage.quota.take(for: "a").isAllowed)
    }

    @Test("A call that is cancelled once it has its place, and before it continues, takes nothing")
    func cancelledWithPlace() async throws {
        let stage = try Stage(1, .atMost(1, inAny: .seconds(4)))
        let victim = Log<Task<Void, any Error>>()
        let found = try await stage.play { stage in
            let busy = stage.stage.task("x") { [loop = stage.stage.loop] in
                try await stage.quota.run(for: "x", limitedBy: stage.limit, on: loop) {
                    try await LoopClock(loop).sleep(for: .seconds(2))
                }
                victim.entries[0].cancel()
            }
            victim.add(stage.call("a", 1))
            return [busy, victim.entries[0]]
        }
        #expect(found.sorted() == ["a1 CancellationError at 2.0", "x at 2.0"])
        #expect(stage.quota.check(for: "a").remaining == 1 && stage.limit.runningCount == 0)
    }

    @Test("A call that throws frees its place, and its tokens stay taken")
    func fails() async throws {
        let stage = try Stage(1, .atMost(1, inAny: .seconds(1)))
        let found = try await stage.play { [$0.call("a", 0, fails: true), $0.call("a", 1)] }
        #expect(found == ["a0 Failure at 0.0", "a1 at 1.0"])
    }

    @Test("A cost that a quota never holds waits for its debt, and then only for its place", arguments: [false, true])
    func largeCosts(_ isBucket: Bool) async throws {
        let stage = try Stage(1) { loop in
            isBucket
                ? KeyedQuota(1, per: .seconds(1), on: loop) : KeyedQuota(.atMost(1, inAny: .seconds(1)), on: loop)
        }
        let found = try await stage.play { stage in
            [stage.call("x", 0, lasting: .seconds(9)), stage.call("a", 1, cost: 3), stage.call("a", 2, cost: 0)]
        }
        #expect(found == ["x0 at 9.0", "a1 at 9.0", "a2 at 9.0"])
    }

    @Test("Tokens that never come are an error")
    func noTokens() async throws {
        let stage = try Stage(1) { KeyedQuota(0, per: .seconds(1), on: $0) }
        let found = try await stage.play { [$0.call("a", 0), $0.call("a", 1)] }
        #expect(found.allSatisfy { $0.hasSuffix("NoTokens at 0.0") } && stage.limit.runningCount == 0)
    }

    @Test("The loop's end ends the wait")
    func loopEnds() async throws {
        let (thread, limit) = (try LoopThread(), ConcurrencyLimit(1))
        let quota = KeyedQuota<String>(.atMost(1, inAny: .seconds(100_000)), on: thread.loop)
        _ = quota.take(for: "a")
        let task = Task { try await quota.run(for: "a", limitedBy: limit, on: thread.loop) {} }
        await eventually(quota.lineCount == 1)
        thread.stop()
        await #expect(throws: Loop.Ended.self) { try await task.value }
        #expect(quota.lineCount == 0 && limit.runningCount == 0)
    }

    @Test("Random calls: the rate holds, the places hold, and each key's calls begin in order", arguments: 0..<30)
    func random(_ seed: UInt64) async throws {
        var random = SplitMix(seed)
        let (places, rate) = (Int.random(in: 1...4, using: &random), Int.random(in: 1...4, using: &random))
        let stage = try Stage(places, .atMost(rate, inAny: .seconds(1)))
        struct Call { let key: String, lasting: Duration, cancelledAt: Double?, fails: Bool }
        let calls = (0..<40).map { _ in
            Call(
                key: ["a", "b", "c"].randomElement(using: &random)!,
                lasting: .milliseconds(Int.random(in: 0...800, using: &random)),
                cancelledAt: Int.random(in: 0...4, using: &random) == 0 ? .random(in: 0...8, using: &random) : nil,
                fails: Int.random(in: 0...5, using: &random) == 0)
        }
        let found = try await stage.play { stage in
            calls.enumerated().map { number, call in
                let task = stage.call(call.key, number, lasting: call.lasting, fails: call.fails)
                if let time = call.cancelledAt { stage.stage.at(time) { task.cancel() } }
                return task
            }
        }
        #expect(found.count == 40 && (stage.most.entries.max() ?? 0) <= places)
        for key in ["a", "b", "c"] {
            let numbers = stage.begins.entries.filter { $0.key == key }.map(\.number)
            #expect(numbers == numbers.sorted(), "\(key): \(numbers)")
            #expect(stage.mostInASecond(of: key) <= rate, "\(key)")
        }
        #expect(stage.limit.runningCount == 0 && stage.limit.waitingCount == 0 && stage.quota.lineCount == 0)
    }
}
