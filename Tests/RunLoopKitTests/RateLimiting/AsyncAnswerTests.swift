import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// The answers of an asynchronous limiter's calls: which tasks may wait for them, and when.
@Suite(.timeBound) struct AsyncAnswerTests {
    /// A debounce of a second, whose action multiplies by ten.
    private struct Scene {
        let clock = VirtualClock(.manual)
        let thread: LoopThread
        let limiter: AsyncLimiter<Int, Int>

        init() throws {
            thread = try LoopThread(clock: clock)
            limiter = .debounce(interval: .seconds(1), on: thread.loop) { $0 * 10 }
        }
    }

    @Test("Any number of tasks may wait, before and after the answer")
    func manyWaits() async throws {
        let scene = try Scene()
        let answer = scene.limiter.call(1)
        let early = (0..<3).map { _ in Task.immediate { try await answer.value } }
        scene.clock.advance(by: .seconds(1))
        for task in early { #expect(try await task.value == 10) }
        #expect(try await answer.value == 10)
    }

    @Test("Cancelling one wait ends no other")
    func cancelOneWait() async throws {
        let scene = try Scene()
        let answer = scene.limiter.call(1)
        let tasks = (0..<3).map { _ in Task.immediate { try await answer.value } }
        tasks[1].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[1].value }
        #expect(scene.limiter.isPending)
        scene.clock.advance(by: .seconds(1))
        #expect(try await tasks[0].value == 10)
        #expect(try await tasks[2].value == 10)
    }

    @Test("A cancelled task makes its call and does not wait")
    func cancelledTaskCalls() async throws {
        let scene = try Scene()
        let waiting = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await scene.limiter.run(1)
        }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(scene.limiter.isPending)
    }

    @Test("A cancelled task gets an answer that is there already")
    func answerForCancelledTask() async throws {
        let scene = try Scene()
        let answer = scene.limiter.call(1)
        scene.clock.advance(by: .seconds(1))
        #expect(try await answer.value == 10)
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await answer.value
        }
        late.cancel()
        #expect(try await late.value == 10)
    }

    @Test("An answer keeps nothing alive")
    func answerRetainsNothing() async throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let answer: AsyncLimiter<Int, Int>.Answer
        weak var captured: Count?
        do {
            let own = Count()
            captured = own
            let limiter = AsyncLimiter.debounce(interval: .seconds(1), on: thread.loop) { (input: Int) in
                own.up()
                return input
            }
            answer = limiter.call(1)
        }
        #expect(captured == nil)
        #expect(try await answer.value == nil)
    }

    @Test("An answer that no task waits for is dropped")
    func unusedAnswer() async throws {
        final class Result: Sendable {}
        struct Failure: Error { let result: Result }
        weak var remains: Result?
        let thread = try LoopThread(clock: VirtualClock())
        let begun = Count()
        do {
            let result = Result()
            remains = result
            let limiter = AsyncLimiter.throttle(interval: .zero, on: thread.loop) {
                [weak result] (isFailure: Bool) in
                defer { begun.up() }
                if isFailure { throw Failure(result: result!) }
                return result!
            }
            for isFailure in [false, true] {
                _ = limiter.call(isFailure)
                await eventually(begun.value == (isFailure ? 2 : 1))
            }
            withExtendedLifetime(result) {}
        }
        await eventually(remains == nil)
    }

    // MARK: Cycles

    /// A call itself does not wait for anything.
    @Test("An action may call its own limiter without waiting")
    func actionCallsOwnLimiter() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let (limiter, next) = (Box<AsyncLimiter<Int, Int>>(), Box<AsyncLimiter<Int, Int>.Answer>())
        limiter.value = .throttle(interval: .zero, on: thread.loop) { input in
            if input == 1 {
                next.value = limiter.value!.call(2)
                try thread.performBlocking {}
            }
            return input * 10
        }
        #expect(try await limiter.value!.run(1) == 10)
        #expect(try await next.value!.value == 20)
        limiter.value = nil
    }

    /// A wait that would close a ring gets nil; others get the answer. Of the action's own call, of one that is queued
    /// behind it when the wait begins, and of one that is queued only afterwards.
    @Test("An action cannot wait for itself", arguments: ["own", "queued before", "queued after"])
    func actionCannotAwaitItself(_ kind: String) async throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let (limiter, answer) = (Box<AsyncLimiter<Int, Int>>(), Box<AsyncLimiter<Int, Int>.Answer>())
        let (isReady, answers) = (Gate(), Log<Int?>())
        limiter.value = .throttle(
            interval: .seconds(1), edges: [.leading, .trailing], on: thread.loop
        ) { input in
            if input == 1 {
                await eventually(isReady.isOpenNow)
                answers.add(try await answer.value!.value)
            }
            return input * 10
        }
        let first = limiter.value!.call(1)
        try thread.performBlocking {}
        let second = limiter.value!.call(2)
        answer.value = kind == "own" ? first : second
        if kind == "queued before" { clock.advance(by: .seconds(1)) }
        isReady.open()
        if kind == "queued after" { clock.advance(by: .seconds(1)) }
        #expect(try await first.value == 10)
        #expect(answers.entries == [nil])
        clock.advance(by: .seconds(1))
        #expect(try await second.value == 20)
        limiter.value = nil
    }

    // MARK: Cancelled before the call

    @Test("A cancelled task hands nothing over")
    func cancelledTaskHandsNothingOver() async throws {
        let (worker, pool, count) = (try LoopThread(), try LoopThreadPool(count: 1), Count())
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            for body in [
                { try await worker.run { _ = count.up() } }, { try await pool.run { _ = count.up() } },
                { try await pool.run(for: 1) { _ = count.up() } },
            ] as [@Sendable () async throws -> Void] {
                await #expect(throws: CancellationError.self) { try await body() }
            }
        }
        task.cancel()
        await task.value
        try worker.performBlocking {}
        try await pool.drain()
        #expect(count.value == 0)
    }
}
