import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// So many tasks at once. Their jobs run on one loop, so that the order is certain.
@Suite(.timeBound) struct ConcurrencyLimitTests {
    private struct Failure: Error {}

    /// Tasks that wait inside the body until the test lets them go.
    private final class Stage: Sendable {
        let thread: LoopThread
        let limit: ConcurrencyLimit
        let log = Log<String>()
        private let gates = (0..<10).map { _ in Gate() }

        init(_ count: Int) throws { (thread, limit) = (try LoopThread(), ConcurrencyLimit(count)) }

        func task(_ number: Int, fails: Bool = false) -> Task<Int, any Error> {
            Task(executorPreference: thread.loop.taskExecutor) { [self] in
                try await limit.run {
                    log.add("begin \(number)")
                    while !gates[number].isOpenNow { await Task.yield() }
                    log.add("end \(number)")
                    if fails { throw Failure() }
                    return number
                }
            }
        }

        func end(_ number: Int) { gates[number].open() }
    }

    @Test("Tasks get their places in the order of their calls, one when another has returned or thrown")
    func order() async throws {
        let stage = try Stage(2)
        let tasks = (0..<5).map { stage.task($0, fails: $0 == 0) }
        await eventually(stage.limit.waitingCount == 3)
        #expect(stage.log.entries == ["begin 0", "begin 1"] && stage.limit.runningCount == 2)
        #expect("\(stage.limit)" == "ConcurrencyLimit: 2 of 2 run, 3 wait")
        for number in 0..<5 {
            stage.end(number)
            if number == 0 {
                await #expect(throws: Failure.self) { try await tasks[0].value }
            } else {
                #expect(try await tasks[number].value == number)
            }
        }
        let begins = stage.log.entries.filter { $0.hasPrefix("begin") }
        #expect(begins == (0..<5).map { "begin \($0)" })
        #expect(stage.limit.runningCount == 0 && stage.limit.waitingCount == 0)
    }

    @Test("A cancelled task leaves the line; one that has its place goes on")
    func cancellation() async throws {
        let stage = try Stage(1)
        let tasks = (0..<3).map { stage.task($0) }
        await eventually(stage.limit.waitingCount == 2)
        tasks[1].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[1].value }
        #expect(stage.limit.waitingCount == 1)
        tasks[0].cancel()
        stage.end(0)
        stage.end(2)
        #expect(try await tasks[0].value == 0)
        #expect(try await tasks[2].value == 2)
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await stage.limit.run { true }
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(stage.limit.runningCount == 0)
    }

    @Test("With free places the body begins without a suspension, in the caller's isolation", arguments: [-1, 0, 1, 7])
    @MainActor func freePlaces(_ count: Int) async throws {
        let limit = ConcurrencyLimit(count)
        #expect(limit.count == max(1, count))
        var isInside = false
        let task = Task.immediate { @MainActor in
            try await limit.run {
                MainActor.assertIsolated()
                isInside = true
            }
        }
        #expect(isInside)
        try await task.value
    }

    @Test("A thousand tasks: never more at once than the limit says")
    func many() async throws {
        let (limit, running, most) = (ConcurrencyLimit(3), Count(), Log<Int>())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    try await limit.run {
                        most.add(running.up())
                        if number % 7 == 0 { await Task.yield() }
                        running.upBy(-1)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(most.entries.count == 1000 && most.entries.max()! <= 3)
        #expect("\(limit)" == "ConcurrencyLimit: 0 of 3 run, 0 wait")
    }
}
