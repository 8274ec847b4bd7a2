import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Tasks that wait for tokens, in virtual time except where stated.
@Suite(.timeBound) struct QuotaWaitingTests {
    @Test("Tasks get their tokens in the order of their calls")
    func order() async throws {
        let stage = try QuotaStage()
        let quota = Quota(1, per: .seconds(1), burst: 2, on: stage.loop)
        let found = try await stage.play { stage in (0..<5).map { stage.wait(quota, "\($0)") } }
        #expect(found == ["0 at 0.0", "1 at 0.0", "2 at 1.0", "3 at 2.0", "4 at 3.0"])
        #expect(quota.check(0).remaining == 0 && quota.check().retryAfter == .seconds(1))
    }

    @Test("A cost counts, above the burst too, and nobody overtakes")
    func costs() async throws {
        let stage = try QuotaStage()
        let quota = Quota(2, per: .seconds(1), on: stage.loop)
        let found = try await stage.play { stage in
            [(5, "a"), (1, "b"), (0, "c"), (-3, "d"), (2, "e")].map { stage.wait(quota, $0.1, cost: $0.0) }
        }
        #expect(found == ["a at 1.5", "b at 2.0", "c at 2.0", "d at 2.0", "e at 3.0"])
    }

    @Test("A call that does not wait is refused while a task waits")
    func refusedMeanwhile() async throws {
        let stage = try QuotaStage()
        let quota = Quota(1, per: .seconds(1), on: stage.loop)
        let answers = Log<String>()
        let found = try await stage.play { stage in
            _ = quota.take()
            stage.at(0.5) { answers.add("\(quota.take())") }
            stage.at(5) { answers.add("\(quota.take())") }
            return [stage.wait(quota, "a"), stage.wait(quota, "b"), stage.wait(quota, "last", cost: 4)]
        }
        #expect(found == ["a at 1.0", "b at 2.0", "last at 6.0"])
        #expect(answers.entries == ["refused, retry after 1.5 seconds", "refused, retry after 2.0 seconds"])
    }

    @Test("A cancelled task gives its tokens back, and those behind it move up", arguments: [0, 1, 2, 3])
    func cancelled(_ victim: Int) async throws {
        let stage = try QuotaStage()
        let quota = Quota(1, per: .seconds(1), on: stage.loop)
        let found = try await stage.play { stage in
            _ = quota.take()
            let tasks = (0..<4).map { stage.wait(quota, "\($0)") }
            stage.at(0.5) { tasks[victim].cancel() }
            return tasks
        }
        var expected = ["\(victim) CancellationError at 0.5"]
        for (place, name) in (0..<4).filter({ $0 != victim }).enumerated() {
            expected.append("\(name) at \(Double(place + 1))")
        }
        #expect(found == expected)
    }

    @Test("A task that is cancelled before takes nothing")
    func cancelledBefore() async throws {
        let stage = try QuotaStage()
        let quota = Quota(1, per: .seconds(1), on: stage.loop)
        let found = try await stage.play { stage in
            let task = stage.wait(quota, "a")
            task.cancel()
            return [task]
        }
        #expect(found == ["a CancellationError at 0.0"] && quota.check().isAllowed)
    }

    @Test("Tokens that never come are an error, and those behind get what is there")
    func noTokens() async throws {
        let stage = try QuotaStage()
        let quota = Quota(0, per: .seconds(1), burst: 3, on: stage.loop)
        let found = try await stage.play { stage in
            [(2, "a"), (2, "b"), (1, "c"), (1, "d")].map { stage.wait(quota, $0.1, cost: $0.0) }
        }
        #expect(found == ["a at 0.0", "b NoTokens at 0.0", "c at 0.0", "d NoTokens at 0.0"])
        #expect("\(Quota.NoTokens())" == "the quota has too few tokens, and none ever come")
    }

    @Test("A loop that ends gives the tokens back")
    func endedLoop() async throws {
        let stage = try QuotaStage()
        let quota = Quota(1, per: .seconds(1), on: stage.loop)
        #expect(quota.take().isAllowed)
        stage.thread.stop()
        try await stage.thread.waitForEnd()
        await #expect(throws: Loop.Ended.self) { try await quota.wait(on: stage.loop) }
        #expect(quota.check().retryAfter == .seconds(1))
        let next = Task.immediate { try await quota.wait(on: stage.loop) }
        await #expect(throws: Loop.Ended.self) { try await next.value }
    }

    @Test("In real time it sleeps without a loop, never too short")
    func realTime() async throws {
        let quota = Quota(1, per: .milliseconds(2))
        let start = Loop.Instant.now
        for _ in 0..<4 { try await quota.wait() }
        #expect(start.duration(to: .now) >= .milliseconds(6))
        let onLoop = try LoopThread()
        try await quota.wait(2, on: onLoop.loop)
        #expect(start.duration(to: .now) >= .milliseconds(10))
    }

    @Test("Many tasks on many threads, some of which are cancelled, all get an answer, and no more than the rate")
    func stress() async throws {
        let quota = Quota(1, per: .microseconds(50), burst: 1)
        let start = Loop.Instant.now
        let got = Count()
        let tasks = (0..<400).map { number in
            let task = Task {
                if (try? await quota.wait()) != nil { got.up() }
            }
            if number % 3 == 0 { Task { task.cancel() } }
            return task
        }
        for task in tasks { await task.value }
        #expect(got.value >= 266 && start.duration(to: .now) >= .microseconds(50) * (got.value - 1))
        #expect(quota.line == nil)
        quota.reset()
        #expect(quota.take().isAllowed)
    }

    @Test("Calls that are cancelled while one waits for long use no memory")
    func withdrawn() async throws {
        let clock = VirtualClock(.manual)
        let (quota, thread) = (Quota(1, per: .seconds(1), clock: clock), try LoopThread(clock: clock))
        let loop = thread.loop
        _ = quota.take()
        let first = Task.immediate { try await quota.wait(on: loop) }
        for _ in 0..<1000 {
            let task = Task.immediate { try await quota.wait(on: loop) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(quota.line?.count == 0)
        }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(quota.check().retryAfter == .seconds(1))
    }

    @Test("A cancelled task does not give back what a reset has forgiven, and the next one gives its own back")
    func reset() async throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let loop = thread.loop
        for quota in [Quota(1, per: .seconds(1), clock: clock), Quota(.atMost(1, inAny: .seconds(1)), clock: clock)] {
            _ = quota.take()
            let tasks = (0..<2).map { _ in Task.immediate { try await quota.wait(on: loop) } }
            quota.reset()
            // The second one is owed for the time for which the first task was charged.
            #expect(quota.take().isAllowed && quota.reserve(1) == .seconds(1))
            tasks[0].cancel()
            await #expect(throws: CancellationError.self) { try await tasks[0].value }
            #expect(quota.reserve(0) == .seconds(2))
            tasks[1].cancel()
            await #expect(throws: CancellationError.self) { try await tasks[1].value }
            #expect(quota.reserve(0) == .seconds(1))
        }
    }

    @Test("In virtual time the loop must be named, and have that time")
    func misuse() async {
        await #expect(processExitsWith: .failure) {
            try await Quota(1, per: .seconds(1), clock: VirtualClock()).wait()
        }
        await #expect(processExitsWith: .failure) {
            let thread = try LoopThread()
            try await Quota(1, per: .seconds(1), clock: VirtualClock()).wait(on: thread.loop)
        }
    }

    @Test("A loop of another virtual clock is a mistake")
    func otherClock() async {
        await #expect(processExitsWith: .failure) {
            let thread = try LoopThread(clock: VirtualClock())
            try await Quota(1, per: .seconds(1), clock: VirtualClock()).wait(on: thread.loop)
        }
    }

    @Test("Tokens that come in centuries are waited for", arguments: [1, 200, 292, 400])
    func centuries(_ years: Int) async throws {
        let quota = Quota(1, per: .seconds(years * 365 * 86_400))
        #expect(quota.take().isAllowed)
        let isOver = Count()
        let task = Task {
            defer { isOver.up() }
            try await quota.wait()
        }
        try await Task.sleep(for: .milliseconds(20))
        #expect(isOver.value == 0)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
