import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Limiters whose asynchronous action prefers an executor.
@Suite(.timeBound) struct AsyncLimiterExecutorTests {
    private typealias Limiter = AsyncLimiter<Int, Int>

    private static let overlaps = [RateLimitOverlap.skipWhileRunning, .queueLatest, .cancelPrevious]

    /// Calls a closure at each enqueue, with the number of enqueues so far, and passes the job on.
    private final class CallingExecutor: TaskExecutor {
        private let (loop, count) = (Box<LoopTaskExecutor>(), Count())
        private let (whenEnqueued, whenPassedOn): (@Sendable (Int) -> Void, @Sendable () -> Void)

        /// - Parameter loop: Runs the jobs; nil to run each in its enqueue.
        init(
            _ loop: Loop?, whenPassedOn: @escaping @Sendable () -> Void = {},
            _ whenEnqueued: @escaping @Sendable (Int) -> Void
        ) {
            self.loop.value = loop?.taskExecutor
            (self.whenEnqueued, self.whenPassedOn) = (whenEnqueued, whenPassedOn)
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            // The job that is passed on may end before this does, and with its task the last reference to this object.
            let (loop, whenPassedOn) = (loop.value, whenPassedOn)
            whenEnqueued(count.up())
            if let loop {
                loop.enqueue(ExecutorJob(job))
            } else {
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
            whenPassedOn()
        }
    }

    @Test("The action runs on the thread of the loop that it prefers", arguments: [true, false])
    func runsOnLoopThread(isDebounce: Bool) async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let action: @Sendable (Int) async throws -> Int = { input in
            #expect(thread.isCurrent)
            await Task.yield()
            #expect(thread.isCurrent)
            try await Task.sleep(for: .seconds(1), clock: .loop(thread.loop))
            #expect(thread.isCurrent)
            return input * 10
        }
        let executor = thread.loop.taskExecutor
        let limiter =
            isDebounce
            ? Limiter.debounce(
                interval: .seconds(1), on: thread.loop, executorPreference: executor, action: action)
            : Limiter.throttle(
                interval: .seconds(1), on: thread.loop, executorPreference: executor, action: action)
        #expect(try await limiter.run(1) == 10)
    }

    /// Each action runs within the call that starts it: no thread is faster than a caller that waits after its call.
    @Test("An action that a call starts waits after its caller: its own wait closes the ring")
    func callerWaitsFirst() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let executor = CallingExecutor(nil) { _ in }
        let second = Box<AsyncLimiter<Int, Int>>()
        let first = Limiter.throttle(interval: .zero, on: thread.loop, executorPreference: executor) { input in
            try await second.value?.run(input + 1) ?? 100
        }
        second.value = Limiter.throttle(interval: .zero, on: thread.loop, executorPreference: executor) {
            [weak first] input in try await first?.run(input + 1) ?? input
        }
        #expect(try await first.run(1) == 2)
    }

    @Test("An action without a preference does not run on the loop's thread")
    func noPreference() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let limiter = AsyncLimiter.throttle(interval: .zero, on: thread.loop) { (_: Int) in thread.isCurrent }
        #expect(try await limiter.run(1) == false)
    }

    @Test("The loop that decides and the loop that the action prefers may be two")
    func otherLoop() async throws {
        let (decides, runs) = (try LoopThread(clock: VirtualClock()), try LoopThread())
        let limiter = AsyncLimiter.debounce(
            interval: .seconds(1), on: decides.loop, executorPreference: runs.loop.taskExecutor
        ) { (_: Int) in runs.isCurrent }
        #expect(try await limiter.run(1) == true)
    }

    /// One thread runs the limiter, the actions and their sleeps, so all times are exact.
    @Test("In virtual time the action begins when its burst is over, and sleeps on the loop's clock")
    func virtualTime() {
        let (loop, clock) = Loop.inVirtualTime()
        let (log, answers) = (Log<String>(), Log<[Int?]>())
        let milliseconds: @Sendable () -> Int64 = { clock.now.nanoseconds / 1_000_000 }
        let limiter = Limiter.debounce(
            interval: .milliseconds(300), on: loop, whileRunning: .cancelPrevious,
            executorPreference: loop.taskExecutor
        ) { input in
            log.add("\(milliseconds()): \(input) begins")
            do {
                try await Task.sleep(for: .milliseconds(700), clock: .loop(loop))
            } catch {
                log.add("\(milliseconds()): \(input) is cancelled")
                throw error
            }
            log.add("\(milliseconds()): \(input) ends")
            return input * 10
        }
        for (time, input) in [(0, 1), (100, 2), (600, 3)] {
            let call = Loop.Timer(after: .milliseconds(time)) { _ in
                limiter.call(input) { answers.add([input, try? $0.get()]) }
            }
            loop.add(call)
        }
        loop.run()
        #expect(log.entries == ["400: 2 begins", "900: 2 is cancelled", "900: 3 begins", "1600: 3 ends"])
        #expect(answers.entries == [[1, nil], [2, nil], [3, 30]])
    }

    @Test("The running action can be cancelled, and its callers get its error", arguments: overlaps)
    func cancelRunning(_ overlap: RateLimitOverlap) {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<String>()
        let limiter = Limiter.debounce(
            interval: .milliseconds(300), on: loop, whileRunning: overlap, executorPreference: loop.taskExecutor
        ) { input in
            try await Task.sleep(for: .milliseconds(700), clock: .loop(loop))
            return input * 10
        }
        limiter.cancelRunning()
        for (time, input) in [(0, 1), (500, 2)] {
            let call = Loop.Timer(after: .milliseconds(time)) { _ in
                limiter.cancelRunning()
                limiter.call(input) { result in
                    let text = (try? result.get()).map { "\($0)" } ?? "cancelled"
                    log.add("\(clock.now.nanoseconds / 1_000_000): \(input) \(text)")
                }
            }
            loop.add(call)
        }
        loop.run()
        // The second one begins when its own burst is over.
        #expect(log.entries == ["500: 1 cancelled", "1500: 2 20"])
    }

    @Test("cancelPrevious cancels a task that has not begun")
    func cancelsBeforeBeginning() {
        let (loop, _) = Loop.inVirtualTime()
        let (log, answers) = (Log<String>(), Log<[Int?]>())
        let limiter = Limiter.throttle(
            interval: .zero, on: loop, whileRunning: .cancelPrevious, executorPreference: loop.taskExecutor
        ) { input in
            log.add("\(input), cancelled: \(Task.isCancelled)")
            return input * 10
        }
        for input in 1...2 { limiter.call(input) { answers.add([input, try? $0.get()]) } }
        #expect(log.entries == [])
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == ["1, cancelled: true", "2, cancelled: false"])
        #expect(answers.entries == [[1, nil], [2, 20]])
    }

    @Test("invalidate cancels a task that has not begun")
    func invalidatesBeforeBeginning() {
        let (loop, _) = Loop.inVirtualTime()
        let wasCancelled = Log<Bool>()
        let limiter = AsyncLimiter.throttle(interval: .zero, on: loop, executorPreference: loop.taskExecutor) {
            (_: Int) in wasCancelled.add(Task.isCancelled)
        }
        limiter(1)
        limiter.invalidate()
        loop.run(mode: .default, for: .zero)
        #expect(wasCancelled.entries == [true])
    }

    @Test("An executor whose enqueue calls the limiter again does not deadlock", arguments: overlaps)
    func enqueueCallsLimiter(_ overlap: RateLimitOverlap) {
        let (loop, _) = Loop.inVirtualTime()
        let (log, answers, box) = (Log<String>(), Log<[Int?]>(), Box<Limiter>())
        let call: @Sendable (Int) -> Void = { input in
            box.value!.call(input) { answers.add([input, try? $0.get()]) }
        }
        let executor = CallingExecutor(loop) { if $0 == 1 { call(2) } }
        box.value = .throttle(
            interval: .zero, on: loop, whileRunning: overlap, executorPreference: executor
        ) { input in
            log.add("\(input), cancelled: \(Task.isCancelled)")
            return input * 10
        }
        call(1)
        loop.run(mode: .default, for: .zero)
        switch overlap {
        case .skipWhileRunning:
            #expect(log.entries == ["1, cancelled: false"])
            #expect(answers.entries == [[2, nil], [1, 10]])
        case .queueLatest:
            #expect(log.entries == ["1, cancelled: false", "2, cancelled: false"])
            #expect(answers.entries == [[1, 10], [2, 20]])
        case .cancelPrevious:
            // The second one replaces the first before the first has a task.
            #expect(log.entries == ["2, cancelled: false", "1, cancelled: true"])
            #expect(answers.entries == [[1, nil], [2, 20]])
        }
        box.value = nil
    }

    /// The thread that starts the first action goes on between the answer to its caller and its cancellation.
    @Test("Callers are answered before their action is cancelled, whichever thread cancels it")
    func answeredBeforeOtherThreadCancels() async throws {
        let (decides, runs, starts) = (
            try LoopThread(clock: VirtualClock(.manual)), try LoopThread(), try LoopThread()
        )
        let (begun, log, mayReturn, mayEnd) = (Count(), Log<String>(), Gate(), Gate())
        let executor = CallingExecutor(runs.loop, whenPassedOn: { if starts.isCurrent { mayReturn.wait() } }) { _ in }
        let limiter = Limiter.throttle(
            interval: .zero, on: decides.loop, whileRunning: .cancelPrevious, executorPreference: executor)
        limiter.call(1) { _ in
            mayReturn.open()
            try? starts.performAndWait {}
            log.add("answered")
        }
        try await decides.run {}
        starts.perform {
            limiter.setHandler { input in
                await withTaskCancellationHandler {
                    begun.up()
                    await eventually(mayEnd.isOpenNow)
                } onCancel: {
                    log.add("cancelled: \(input)")
                }
                return input
            }
        }
        await eventually(begun.value == 1)
        limiter(2)
        await eventually(log.entries.count == 2)
        #expect(log.entries == ["answered", "cancelled: 1"])
        mayEnd.open()
    }

    @Test("An executor whose enqueue invalidates the limiter cancels the task")
    func enqueueInvalidates() {
        let (loop, _) = Loop.inVirtualTime()
        let (wasCancelled, box) = (Log<Bool>(), Box<AsyncLimiter<Int, Void>>())
        let executor = CallingExecutor(loop) { _ in box.value!.invalidate() }
        box.value = .throttle(interval: .zero, on: loop, executorPreference: executor) { _ in
            wasCancelled.add(Task.isCancelled)
        }
        box.value!(1)
        loop.run(mode: .default, for: .zero)
        #expect(wasCancelled.entries == [true])
        box.value = nil
    }

    @Test("An action may end in the enqueue of its executor", arguments: overlaps)
    func endsInEnqueue(_ overlap: RateLimitOverlap) {
        let (loop, _) = Loop.inVirtualTime()
        let answers = Log<[Int?]>()
        let limiter = Limiter.throttle(
            interval: .zero, on: loop, whileRunning: overlap, executorPreference: CallingExecutor(nil) { _ in }
        ) { $0 * 10 }
        for input in 1...3 { limiter.call(input) { answers.add([input, try? $0.get()]) } }
        #expect(answers.entries == [[1, 10], [2, 20], [3, 30]])
    }

    /// All of it happens within one callout of the timer.
    @Test("For callers that have an answer the action is over, and the others get theirs", arguments: overlaps)
    func answeredCallerCalls(_ overlap: RateLimitOverlap) {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        let answers = Log<[Int?]>()
        let limiter = Limiter.debounce(
            interval: .seconds(1), on: loop, whileRunning: overlap, executorPreference: CallingExecutor(nil) { _ in }
        ) { $0 * 10 }
        limiter.call(1) {
            answers.add([1, try? $0.get()])
            limiter.call(3) { answers.add([3, try? $0.get()]) }
            #expect(limiter.flush())
        }
        limiter.call(2) { answers.add([2, try? $0.get()]) }
        clock.advance(by: .seconds(1))
        #expect(answers.entries == [[1, 20], [3, 30], [2, 20]])
    }

    @Test("The action that is due when its loop ends runs nevertheless")
    func endOfLoop() async throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let limiter = AsyncLimiter.debounce(
            interval: .seconds(1), on: thread.loop, whenReleased: .flush,
            executorPreference: thread.loop.taskExecutor
        ) { (input: Int) in
            await Task.yield()
            return input * 10
        }
        let answer = limiter.call(1)
        thread.stop()
        thread.joinBlocking()
        #expect(try await answer.value == 10)
        #expect(try await limiter.run(2) == nil)
    }

    @Test("A running and a queued action outlive the loop that they prefer")
    func actionsOutliveLoop() async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let (begun, ended) = (Log<Int>(), Gate())
        let limiter = Limiter.throttle(
            interval: .zero, on: thread.loop, executorPreference: thread.loop.taskExecutor
        ) { input in
            begun.add(input)
            while !ended.isOpenNow { await Task.yield() }
            return input * 10
        }
        let answers = (1...2).map { limiter.call($0) }
        await eventually(begun.entries == [1])
        thread.stop()
        thread.joinBlocking()
        ended.open()
        #expect(try await answers[0].value == 10)
        #expect(try await answers[1].value == 20)
    }

    @Test("The limiter and its tasks release the executor")
    func releasesExecutor() {
        let (loop, _) = Loop.inVirtualTime()
        weak var remains: CallingExecutor?
        do {
            let executor = CallingExecutor(loop) { _ in }
            remains = executor
            let limiter = Limiter.throttle(interval: .zero, on: loop, executorPreference: executor) { $0 }
            for input in 1...3 { limiter(input) }
        }
        #expect(remains != nil)
        loop.run(mode: .default, for: .zero)
        #expect(remains == nil)
    }
}
