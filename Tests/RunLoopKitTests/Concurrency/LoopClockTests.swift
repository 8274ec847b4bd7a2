import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

@Suite(.timeBound) struct LoopClockTests {
    /// A thread whose loop runs in virtual time, with what the tests of sleepers read.
    private struct Stage {
        let time: VirtualClock
        let thread: LoopThread
        let clock: LoopClock

        init(_ advance: VirtualClock.Advance = .automatic) throws {
            time = VirtualClock(advance)
            thread = try LoopThread(clock: time)
            clock = LoopClock(thread.loop)
        }

        var sleepers: Int { "\(thread.loop)".split(separator: "timer \"sleep of a task\"").count - 1 }

        func task<Value: Sendable>(
            _ body: @escaping @Sendable () async throws -> Value
        ) -> Task<Value, any Error> {
            Task(executorPreference: thread.loop.taskExecutor, operation: body)
        }
    }

    @Test("Tasks sleep in virtual time")
    func virtualTime() async throws {
        let stage = try Stage()
        let clock = stage.clock
        let slept = stage.task {
            let start = clock.now
            try await Task.sleep(for: .seconds(3600), clock: .loop(clock.loop))
            try await clock.sleep(until: clock.now.advanced(by: .nanoseconds(1)))
            return start.duration(to: clock.now)
        }
        #expect(try await slept.value == .seconds(3600) + .nanoseconds(1))
        #expect(stage.sleepers == 0)
    }

    @Test("An actor sleeps on its own loop")
    func actorSleeps() async throws {
        actor Sleeper {
            let stage: Stage
            nonisolated var unownedExecutor: UnownedSerialExecutor { stage.thread.loop.asUnownedSerialExecutor() }
            init() throws { stage = try Stage() }
            func nap() async throws -> [Loop.Instant] {
                var times: [Loop.Instant] = []
                for _ in 0..<3 {
                    try await stage.clock.sleep(until: stage.clock.now.advanced(by: .seconds(1)))
                    #expect(stage.thread.isCurrent)
                    times.append(stage.clock.now)
                }
                return times
            }
        }
        let sleeper = try Sleeper()
        // Swift resumes a task on its preferred executor before it returns to its actor: only if that is the loop too
        // does the task never leave it.
        let task = Task(executorPreference: sleeper.stage.thread.loop.taskExecutor) { try await sleeper.nap() }
        #expect(try await task.value == [seconds(1), seconds(2), seconds(3)])
    }

    @Test("Sleepers wake in the order of their deadlines")
    func orderOfDeadlines() async throws {
        let stage = try Stage()
        let (clock, order) = (stage.clock, Log<Int64>())
        // The tasks are created and sleep before the loop is idle.
        let tasks = try stage.thread.performBlocking {
            [30, 10, 20, 10, 0, -5].map { delay in
                Task(executorPreference: clock.loop.taskExecutor) {
                    try await Task.sleep(for: .seconds(delay), clock: clock)
                    order.add(clock.now.nanoseconds / 1_000_000_000)
                }
            }
        }
        for task in tasks { try await task.value }
        #expect(order.entries == [0, 0, 10, 10, 20, 30])
    }

    @Test("At one instant a limiter's edge and a timer come before the tasks that wake, even those that slept first")
    func edgesBeforeTasks() async throws {
        let stage = try Stage()
        let (clock, loop) = (stage.clock, stage.thread.loop)
        let log = Log<String>()
        let throttle = Throttle<Int>(interval: .seconds(1), edges: [.leading, .trailing], on: loop) {
            log.add("edge \($0)")
        }
        let test = stage.task {
            let sleepers = (0..<2).map { number in
                Task.immediate(executorPreference: loop.taskExecutor) {
                    try await clock.sleep(until: clock.now.advanced(by: .seconds(1)))
                    log.add("task \(number)")
                }
            }
            for input in 0..<2 { throttle(input) }
            loop.add(Loop.Timer(after: .seconds(1)) { _ in log.add("timer") })
            for sleeper in sleepers { try await sleeper.value }
        }
        try await test.value
        #expect(log.entries == ["edge 0", "edge 1", "timer", "task 0", "task 1"])
    }

    @Test("Tolerance lets sleepers share a wake-up")
    func tolerance() async throws {
        let stage = try Stage()
        let clock = stage.clock
        let tasks = try stage.thread.performBlocking {
            [(10, Duration.seconds(5)), (12, .zero), (20, .seconds(-1))].map { delay, tolerance in
                Task(executorPreference: clock.loop.taskExecutor) {
                    try await clock.sleep(until: seconds(Int64(delay)), tolerance: tolerance)
                    return clock.now
                }
            }
        }
        var times: [Loop.Instant] = []
        for task in tasks { times.append(try await task.value) }
        #expect(times == [seconds(12), seconds(12), seconds(20)])
    }

    @Test("Cancelling wakes at once and removes the timer")
    func cancellation() async throws {
        let stage = try Stage(.manual)
        let clock = stage.clock
        let task = Task { try await clock.sleep(until: seconds(1)) }
        await eventually(stage.sleepers == 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(stage.sleepers == 0 && stage.time.now == seconds(0))
    }

    @Test("A cancelled task does not sleep")
    func cancelledTask() async throws {
        let stage = try Stage(.manual)
        let clock = stage.clock
        for deadline in [seconds(1), seconds(-1)] {
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await clock.sleep(until: deadline)
            }
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(stage.sleepers == 0)
    }

    @Test("A sleep until a passed deadline does not wait for a busy loop")
    func passedDeadline() async throws {
        let stage = try Stage(.manual)
        let (began, go) = (Gate(), Gate())
        stage.thread.perform {
            began.open()
            go.wait()
        }
        began.wait()
        try await stage.clock.sleep(until: seconds(0))
        try await stage.clock.sleep(until: .distantPast)
        #expect(stage.sleepers == 0)
        go.open()
    }

    @Test("The end of the loop wakes sleepers with an error", arguments: [false, true])
    func endOfTheLoop(_ discarding: Bool) async throws {
        let stage = try Stage(.manual)
        let clock = stage.clock
        let tasks = [seconds(1), .distantFuture].map { deadline in Task { try await clock.sleep(until: deadline) } }
        await eventually(stage.sleepers == 2)
        stage.thread.stop(discardingPending: discarding)
        for task in tasks { await #expect(throws: Loop.Ended()) { try await task.value } }
        await #expect(throws: Loop.Ended()) { try await clock.sleep(until: seconds(1)) }
        await #expect(throws: Loop.Ended()) { try await clock.sleep(until: seconds(-1)) }
        #expect("\(Loop.Ended())".contains("LoopThread"))
    }

    /// Fires, cancellations and the end, all at once: each sleeper gets one answer. A continuation that is resumed
    /// twice traps, and one that is never resumed prints a warning and hangs.
    @Test("Every sleeper gets an answer")
    func everySleeper() async throws {
        for round in 0..<50 {
            let thread = try LoopThread()
            let clock = LoopClock(thread.loop)
            let tasks = (0..<40).map { number in
                Task { try? await Task.sleep(for: .microseconds(number * 5), clock: clock) }
            }
            for task in tasks.shuffled().prefix(20) { task.cancel() }
            if round % 2 == 0 { thread.stop() }
            for task in tasks { await task.value }
            // A timer whose handler has just answered still counts until the handler has returned.
            await eventually(thread.loop.nextTimerFireTime(in: .default) == nil)
        }
    }

    @Test("The clock's time is the loop's")
    func timeOfTheLoop() async throws {
        let stage = try Stage(.manual)
        stage.time.advance(by: .seconds(5))
        #expect(stage.clock.now == seconds(5) && stage.clock.minimumResolution == .nanoseconds(1))
        let thread = try LoopThread()
        let clock = LoopClock(thread.loop)
        let start = clock.now
        let elapsed = try await clock.measure { try await clock.sleep(until: start.advanced(by: .milliseconds(2))) }
        #expect(elapsed > .zero && clock.now >= start.advanced(by: .milliseconds(2)))
    }

    @Test("A clock may count in a mode of its own")
    func modeOfItsOwn() async throws {
        let stage = try Stage(.manual)
        let clock = LoopClock(stage.thread.loop, in: "modal")
        let task = Task { try await clock.sleep(until: seconds(1)) }
        await eventually(stage.sleepers == 1)
        stage.time.advance(by: .seconds(2))
        #expect(stage.sleepers == 1)
        stage.thread.perform { Loop.current.run(mode: "modal", for: .zero) }
        try await task.value
    }
}
