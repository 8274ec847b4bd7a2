import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

extension AsyncLimiter {
    /// Calls the limiter and hands the answer to a function, once, on any thread.
    func call(_ input: Input, answer: @escaping @Sendable (Result<Output?, any Error>) -> Void) {
        call(input).outcome.wait(nil, answer)
    }
}

/// Limiters whose action is asynchronous: which caller gets which answer. In virtual time; no pool thread blocks.
@Suite(.timeBound) struct AsyncLimiterTests {
    /// An action whose runs end when the test lets them.
    private final class Work: Sendable {
        let begun = Log<Int>()
        let cancelled = Log<Int>()
        private let gates = (0..<10).map { _ in Count() }

        func finish(_ input: Int) { gates[input].up() }

        /// The input times ten.
        func run(_ input: Int) async throws -> Int {
            begun.add(input)
            await eventually(gates[input].value > 0 || Task.isCancelled)
            guard gates[input].value > 0 else {
                cancelled.add(input)
                throw CancellationError()
            }
            return input * 10
        }
    }

    private struct Scene {
        let thread: LoopThread
        let clock = VirtualClock(.manual)
        let work = Work()
        /// Input and answer; -1 for nil, -2 for an error.
        let answers = Log<[Int]>()
        let limiter: AsyncLimiter<Int, Int>

        init(_ overlap: RateLimitOverlap, whenReleased: RateLimitRelease = .discard) throws {
            thread = try LoopThread(clock: clock)
            limiter = .debounce(
                interval: .seconds(1), on: thread.loop, whenReleased: whenReleased, whileRunning: overlap
            ) { [work] in try await work.run($0) }
        }

        func call(_ input: Int) {
            limiter.call(input) { [answers] in
                let answer =
                    switch $0 {
                    case .success(let output): output ?? -1
                    case .failure: -2
                    }
                answers.add([input, answer])
            }
        }

        /// Makes a burst of one call, and lets it end.
        func burst(_ input: Int) {
            call(input)
            clock.advance(by: .seconds(1))
        }
    }

    @Test("All calls of a burst get the result of its action")
    func burstSharesResult() async throws {
        let scene = try Scene(.queueLatest)
        for input in 1...3 { scene.call(input) }
        scene.clock.advance(by: .seconds(1))
        scene.work.finish(3)
        await eventually(scene.answers.entries.count == 3)
        #expect(scene.answers.entries == [[1, 30], [2, 30], [3, 30]] && scene.work.begun.entries == [3])
    }

    @Test("With skipWhileRunning actions are skipped while one runs")
    func skipWhileRunning() async throws {
        let scene = try Scene(.skipWhileRunning)
        scene.burst(1)
        scene.burst(2)
        await eventually(scene.answers.entries == [[2, -1]])
        scene.work.finish(1)
        await eventually(scene.answers.entries == [[2, -1], [1, 10]])
        #expect(scene.work.begun.entries == [1])
    }

    @Test("With queueLatest the latest action waits while one runs")
    func queueLatest() async throws {
        let scene = try Scene(.queueLatest)
        for input in 1...3 { scene.burst(input) }
        await eventually(scene.answers.entries == [[2, -1]])
        scene.work.finish(1)
        scene.work.finish(3)
        await eventually(scene.answers.entries.count == 3)
        #expect(scene.answers.entries == [[2, -1], [1, 10], [3, 30]] && scene.work.begun.entries == [1, 3])
    }

    @Test("With cancelPrevious a new action cancels the running one")
    func cancelPrevious() async throws {
        let scene = try Scene(.cancelPrevious)
        scene.burst(1)
        await eventually(scene.work.begun.entries == [1])
        scene.burst(2)
        await eventually(scene.work.cancelled.entries == [1] && scene.work.begun.entries == [1, 2])
        scene.work.finish(2)
        await eventually(scene.answers.entries == [[1, -1], [2, 20]])
    }

    @Test("A caller that has its answer can drop the queued call")
    func cancelInAnAnswer() async throws {
        let scene = try Scene(.queueLatest)
        scene.limiter.call(1) { [limiter = scene.limiter] _ in limiter.cancel() }
        scene.clock.advance(by: .seconds(1))
        await eventually(scene.work.begun.entries == [1])
        scene.burst(2)
        scene.work.finish(1)
        await eventually(scene.answers.entries == [[2, -1]])
        #expect(scene.work.begun.entries == [1])
    }

    @Test("Callers are answered before their action is cancelled")
    func answeredBeforeCancellation() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let (begun, answers, atCancel) = (Log<Int>(), Log<Int?>(), Log<[Int?]>())
        let limiter = AsyncLimiter<Int, Int>.throttle(
            interval: .zero, on: thread.loop, whileRunning: .cancelPrevious
        ) { input in
            begun.add(input)
            await withTaskCancellationHandler {
                // Not until it is cancelled: Swift never calls the handler if the action ends before that call.
                await eventually(!atCancel.entries.isEmpty)
            } onCancel: {
                atCancel.add(answers.entries)
            }
            return input
        }
        limiter.call(1) { if case .success(let answer) = $0 { answers.add(answer) } }
        await eventually(begun.entries == [1])
        limiter(2)
        await eventually(atCancel.entries == [[nil]])
    }

    @Test("An action that ignores its cancellation runs on beside the new one")
    func actionIgnoresCancellation() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let (begun, cancelled, answers) = (Log<Int>(), Log<Int>(), Log<[Int?]>())
        let gates = (0..<4).map { _ in Count() }
        let limiter = AsyncLimiter<Int, Int>.throttle(
            interval: .zero, on: thread.loop, whileRunning: .cancelPrevious
        ) { input in
            begun.add(input)
            await withTaskCancellationHandler {
                await eventually(gates[input].value > 0)
            } onCancel: {
                cancelled.add(input)
            }
            if input == 1 { gates[0].up() }
            return input * 10
        }
        let call: @Sendable (Int) -> Void = { input in limiter.call(input) { answers.add([input, try? $0.get()]) } }
        call(1)
        await eventually(begun.entries == [1])
        call(2)
        await eventually(begun.entries == [1, 2] && answers.entries == [[1, nil]] && cancelled.entries == [1])
        gates[1].up()
        // The end of the first run is not taken for the second one's, which can still be cancelled.
        await eventually(gates[0].value == 1)
        for _ in 0..<100 { await Task.yield() }
        call(3)
        await eventually(cancelled.entries == [1, 2] && answers.entries == [[1, nil], [2, nil]])
        for gate in gates { gate.up() }
        await eventually(answers.entries == [[1, nil], [2, nil], [3, 30]])
    }

    @Test("flush starts the action at once")
    func flushStartsAction() async throws {
        let scene = try Scene(.queueLatest)
        scene.call(1)
        #expect(scene.limiter.isPending && scene.limiter.flush() && !scene.limiter.flush())
        scene.work.finish(1)
        await eventually(scene.answers.entries == [[1, 10]])
    }

    @Test("cancel answers pending and queued calls")
    func cancelAnswers() async throws {
        let scene = try Scene(.queueLatest)
        scene.burst(1)
        scene.burst(2)
        scene.call(3)
        scene.limiter.cancel()
        #expect(scene.answers.entries.sorted { $0[0] < $1[0] } == [[2, -1], [3, -1]])
        scene.work.finish(1)
        await eventually(scene.answers.entries.count == 3)
        #expect(scene.answers.entries.last == [1, 10])
    }

    @Test("invalidate answers all callers")
    func invalidateAnswers() async throws {
        let scene = try Scene(.queueLatest)
        scene.burst(1)
        await eventually(scene.work.begun.entries == [1])
        scene.burst(2)
        scene.call(3)
        scene.limiter.invalidate()
        scene.call(4)
        #expect(!scene.limiter(5))
        await eventually(scene.answers.entries.count == 4)
        #expect(scene.answers.entries.sorted { $0[0] < $1[0] } == [[1, -2], [2, -1], [3, -1], [4, -1]])
    }

    @Test("The end of the loop answers or acts")
    func loopEndAnswers() async throws {
        for (release, expected) in [(RateLimitRelease.discard, [[1, -1], [2, -1]]), (.flush, [[1, 10], [2, -1]])] {
            let scene = try Scene(.queueLatest, whenReleased: release)
            scene.work.finish(1)
            scene.call(1)
            scene.thread.stop()
            scene.thread.joinBlocking()
            scene.call(2)
            await eventually(scene.answers.entries.count == 2)
            #expect(scene.answers.entries.sorted { $0[0] < $1[0] } == expected)
        }
    }

    @Test("Dropping the limiter answers pending calls")
    func dropAnswers() async throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let answers = Log<Int?>()
        do {
            let limiter = AsyncLimiter.debounce(interval: .seconds(1), on: thread.loop) { (input: Int) in input }
            limiter.call(1) { answers.add(try? $0.get()) }
            #expect(answers.entries == [])
        }
        #expect(answers.entries == [nil])
    }

    @Test("A call that a leading throttle limits away is answered nil")
    func limitedCallIsAnsweredNil() async throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let limiter = AsyncLimiter.throttle(interval: .seconds(1), on: thread.loop) { (input: Int) in input * 10 }
        #expect(try await limiter.run(1) == 10)
        #expect(try await limiter.run(2) == nil)
        limiter.interval = .zero
        #expect(limiter.interval == .zero)
        limiter.cancel()
        #expect(try await limiter.run(3) == 30)
    }

    @Test("Errors reach the caller")
    func errorsReachCaller() async throws {
        struct Failure: Error, Equatable {}
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let limiter = AsyncLimiter.throttle(interval: .zero, on: thread.loop) { (_: Int) throws -> Int in
            throw Failure()
        }
        await #expect(throws: Failure()) { try await limiter.run(1) }
    }

    @Test("Cancelling the waiting task ends its wait only")
    func cancelWaitingTask() async throws {
        let scene = try Scene(.queueLatest)
        scene.call(1)
        let waiting = Task { try await scene.limiter.run(2) }
        // Cancelled before, while or after it calls: it is answered at once in every case.
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        scene.work.finish(1)
        scene.work.finish(2)
        scene.clock.advance(by: .seconds(1))
        await eventually(scene.answers.entries == [[1, 20]])
    }

    @Test("An action that waits for its own limiter is answered")
    func actionAwaitsOwnLimiter() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        for overlap in [RateLimitOverlap.queueLatest, .skipWhileRunning] {
            let log = Log<[Int?]>()
            let box = Box<AsyncLimiter<Int, Int>>()
            box.value = .throttle(interval: .zero, on: thread.loop, whileRunning: overlap) { input in
                if input < 3 { log.add([input, try await box.value!.run(input + 1)]) }
                return input * 10
            }
            #expect(try await box.value!.run(1) == 10)
            // The queued action still starts afterwards.
            if overlap == .queueLatest {
                await eventually(log.entries.count == 2)
                #expect(log.entries == [[1, nil], [2, nil]])
            } else {
                #expect(log.entries == [[1, nil]])
            }
            box.value = nil
        }
    }

    @Test("Actions that wait for each other's limiters are answered")
    func mutualWaits() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let answers = Log<Int?>()
        let (first, second) = (Box<AsyncLimiter<Int, Int>>(), Box<AsyncLimiter<Int, Int>>())
        first.value = .throttle(interval: .zero, on: thread.loop) { input in
            if input == 1 { answers.add(try await second.value!.run(2)) }
            return input * 10
        }
        second.value = .throttle(interval: .zero, on: thread.loop) { input in
            answers.add(try await first.value!.run(input + 1))
            return input * 10
        }
        #expect(try await first.value!.run(1) == 10)
        #expect(answers.entries == [nil, 20])
        (first.value, second.value) = (nil, nil)
    }

    /// All of them run before the first one calls the next one's limiter, and the last one the first one's.
    @Test("Running actions that wait for each other in a ring are answered", arguments: [1, 2, 3, 10])
    func ringOfWaits(_ count: Int) async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let (begun, answers) = (Count(), Log<Int?>())
        let limiters = Box<[AsyncLimiter<Int, Int>]>()
        limiters.value = (0..<count).map { index in
            .throttle(interval: .zero, on: thread.loop) { input in
                if input == 1 {
                    begun.up()
                    await eventually(begun.value >= count)
                    answers.add(try await limiters.value![(index + 1) % count].run(2))
                }
                return input * 10
            }
        }
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for limiter in limiters.value! { group.addTask { try await limiter.run(1) } }
            for try await answer in group { #expect(answer == 10) }
        }
        // The action whose call comes last closes the ring.
        #expect(answers.entries.count == count && answers.entries.filter { $0 == nil }.count == 1)
        #expect(answers.entries.allSatisfy { $0 == nil || $0 == 20 })
        limiters.value = nil
    }

    @Test("An action may wait in another limiter's queue")
    func actionWaitsInOtherQueue() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let (work, answers) = (Work(), Log<Int?>())
        let busy = AsyncLimiter<Int, Int>.throttle(interval: .zero, on: thread.loop) { try await work.run($0) }
        let other = AsyncLimiter<Int, Int?>.throttle(interval: .zero, on: thread.loop) { try await busy.run($0) }
        busy.call(1) { answers.add(try? $0.get()) }
        await eventually(work.begun.entries == [1])
        async let answer = other.run(2)
        work.finish(1)
        work.finish(2)
        #expect(try await answer == 20)
        #expect(answers.entries == [10])
    }

    /// An answered action does not wait any more, and closes no ring.
    @Test("A cancelled wait closes no ring")
    func cancelledWait() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let (cancelled, called, answers) = (Gate(), Gate(), Log<Int?>())
        let (first, second) = (Box<AsyncLimiter<Int, Int>>(), Box<AsyncLimiter<Int, Int>>())
        let begun = Count()
        first.value = .throttle(interval: .zero, on: thread.loop) { input in
            if input == 1 {
                begun.up()
                await eventually(begun.value >= 2)
                let waiting = Task.immediate { try await second.value!.run(2) }
                try thread.performBlocking {}
                waiting.cancel()
                _ = await waiting.result
                cancelled.open()
                await eventually(called.isOpenNow)
            }
            return input * 10
        }
        second.value = .throttle(interval: .zero, on: thread.loop) { input in
            if input == 1 {
                begun.up()
                await eventually(cancelled.isOpenNow)
                let waiting = Task.immediate { try await first.value!.run(2) }
                try thread.performBlocking {}
                called.open()
                answers.add(try await waiting.value)
            }
            return input * 10
        }
        async let one = first.value!.run(1)
        async let other = second.value!.run(1)
        #expect(try await [one, other] == [10, 10])
        #expect(answers.entries == [20])
        (first.value, second.value) = (nil, nil)
    }

    @Test("A task that outlives its action is answered like any other")
    func taskOutlivesAction() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let answers = Log<Int?>()
        let go = Count()
        let box = Box<AsyncLimiter<Int, Int>>()
        box.value = .throttle(interval: .zero, on: thread.loop) { input in
            if input == 1 {
                Task {
                    await eventually(go.value > 0)
                    answers.add(try await box.value!.run(2))
                }
            }
            return input * 10
        }
        #expect(try await box.value!.run(1) == 10)
        go.up()
        await eventually(answers.entries == [20])
        box.value = nil
    }

    @Test("An action that throws lets the queued one start")
    func throwingAction() async throws {
        struct Failure: Error {}
        let thread = try LoopThread(clock: VirtualClock())
        let (go, answers) = (Count(), Log<Int>())
        let limiter = AsyncLimiter.throttle(interval: .zero, on: thread.loop) { (input: Int) throws -> Int in
            await eventually(go.value > 0)
            if input == 1 { throw Failure() }
            return input * 10
        }
        for input in 1...2 { limiter.call(input) { answers.add((try? $0.get()) ?? -2) } }
        try thread.performBlocking {}
        go.up()
        await eventually(answers.entries == [-2, 20])
    }

    @Test("A flush while an action runs follows the overlap")
    func flushFollowsOverlap() async throws {
        let scene = try Scene(.skipWhileRunning)
        scene.burst(1)
        await eventually(scene.work.begun.entries == [1])
        scene.call(2)
        #expect(scene.limiter.flush())
        await eventually(scene.answers.entries == [[2, -1]])
        scene.work.finish(1)
        await eventually(scene.answers.entries == [[2, -1], [1, 10]])
    }

    @Test("Dropping the limiter lets running and queued actions continue")
    func dropLetsActionsContinue() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let (work, answers) = (Work(), Log<Int?>())
        do {
            let limiter = AsyncLimiter<Int, Int>.throttle(interval: .zero, on: thread.loop) { try await work.run($0) }
            for input in 1...2 { limiter.call(input) { answers.add(try? $0.get()) } }
            try thread.performBlocking {}
        }
        for input in 1...2 { work.finish(input) }
        await eventually(answers.entries == [10, 20])
    }

    @Test("Every waiting caller is answered, whatever happens meanwhile")
    func everyCallerIsAnswered() async throws {
        for overlap in [RateLimitOverlap.skipWhileRunning, .queueLatest, .cancelPrevious] {
            let thread = try LoopThread(clock: VirtualClock())
            let limiter = AsyncLimiter.debounce(
                interval: .nanoseconds(10), edges: [.leading, .trailing], on: thread.loop, whileRunning: overlap
            ) { (input: Int) in
                await Task.yield()
                return input
            }
            await withTaskGroup(of: Void.self) { group in
                for input in 0..<200 {
                    group.addTask {
                        _ = try? await limiter.run(input)
                        switch input % 20 {
                        case 3: limiter.cancel()
                        case 5: limiter.flush()
                        case 7: limiter.interval = .nanoseconds(input)
                        default: if input == 190 { limiter.invalidate() }
                        }
                    }
                    if input % 17 == 0 { group.addTask { limiter(input) } }
                }
                if overlap == .queueLatest { thread.stop() }
            }
        }
    }
}
