import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// Generic code that uses a clock and does not know loops: helpers over `Clock`, as a program or a package has them.
private struct TimeLimit: Error {}

private func withTimeLimit<C: Clock, Value: Sendable>(
    _ limit: C.Duration, clock: C, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask(operation: body)
        group.addTask {
            try await Task.sleep(for: limit, clock: clock)
            throw TimeLimit()
        }
        defer { group.cancelAll() }
        return try await group.next()!
    }
}

private func ticks<C: Clock>(_ count: Int, every interval: C.Duration, clock: C) async throws -> [C.Instant] {
    var (due, times) = (clock.now, [C.Instant]())
    for _ in 0..<count {
        due = due.advanced(by: interval)
        try await clock.sleep(until: due, tolerance: nil)
        times.append(clock.now)
    }
    return times
}

private func retrying<C: Clock>(
    from pause: Duration, clock: C, _ body: () async throws -> Void
) async throws where C.Duration == Duration {
    var pause = pause
    while true {
        do { return try await body() } catch is TimeLimit {
            try await clock.sleep(for: pause)
            pause *= 2
        }
    }
}

@Suite(.timeBound) struct GenericClockTests {
    /// Runs a task that prefers a loop in virtual time, and returns its result and the time at its end.
    private func inVirtualTime<Value: Sendable>(
        _ body: @escaping @Sendable (LoopClock) async throws -> Value
    ) async throws -> (Value, Loop.Instant) {
        let time = VirtualClock()
        let thread = try LoopThread(clock: time)
        let task = Task(executorPreference: thread.loop.taskExecutor) { try await body(LoopClock(thread.loop)) }
        return (try await task.value, time.now)
    }

    @Test("A time limit is reached")
    func timeLimitReached() async throws {
        let (isReached, end) = try await inVirtualTime { clock in
            do {
                try await withTimeLimit(.seconds(60), clock: clock) { try await clock.sleep(until: .distantFuture) }
                return false
            } catch is TimeLimit {
                return true
            }
        }
        #expect(isReached && end == seconds(60))
    }

    @Test("A time limit is not reached")
    func timeLimitNotReached() async throws {
        let (value, end) = try await inVirtualTime { clock in
            try await withTimeLimit(.seconds(60), clock: clock) {
                try await clock.sleep(for: .seconds(59))
                return 1
            }
        }
        #expect(value == 1 && end == seconds(59))
    }

    @Test("A loop over a clock ticks on the grid")
    func ticksOnTheGrid() async throws {
        let (times, _) = try await inVirtualTime { try await ticks(4, every: .seconds(2), clock: $0) }
        #expect(times == [seconds(2), seconds(4), seconds(6), seconds(8)])
    }

    @Test("A retry sleeps for growing pauses")
    func growingPauses() async throws {
        let (_, end) = try await inVirtualTime { clock in
            var attempts = 0
            try await retrying(from: .seconds(1), clock: clock) {
                attempts += 1
                if attempts < 5 { throw TimeLimit() }
            }
        }
        #expect(end == seconds(1 + 2 + 4 + 8))
    }

    @Test("Cancellation ends a sleep of any length")
    func cancelledSleep() async throws {
        let thread = try LoopThread()
        let clock = LoopClock(thread.loop)
        for length in [Duration.seconds(Int64.max), .nanoseconds(Int64.max), .seconds(1 << 40)] {
            let task = Task { try await Task.sleep(for: length, clock: clock) }
            await eventually("\(thread.loop)".contains("timer \""))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(!"\(thread.loop)".contains("timer \""))
        }
        // A sleep into the past returns at once.
        try await clock.sleep(for: .seconds(Int64.min))
    }

    /// The time does not wait for a task between a pool thread and the loop, but it does wait for a hold.
    @Test("A hold keeps the time while a task is elsewhere")
    func holdKeepsTheTime() async throws {
        let time = VirtualClock()
        let thread = try LoopThread(clock: time)
        let clock = LoopClock(thread.loop)
        let hold = time.hold()
        thread.loop.add(Loop.Timer(after: .seconds(100)) { _ in }, in: .default)
        let task = Task {
            try await clock.sleep(for: .seconds(1))
            return clock.now
        }
        await eventually("\(thread.loop)".contains("timer \"sleep of a task\""))
        #expect(time.now == seconds(0))
        hold.release()
        #expect(try await task.value >= seconds(1))
    }
}
