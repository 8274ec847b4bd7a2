import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Attempts with pauses between them, in virtual time except where stated.
@Suite(.timeBound) struct RetryTests {
    private struct Failure: Error, Equatable { let attempt: Int }

    /// Calls that fail, and when they came.
    private struct Stage: Sendable {
        let thread: LoopThread
        let log = Log<String>()

        init() throws { thread = try LoopThread(clock: VirtualClock()) }

        var loop: Loop { thread.loop }

        /// Retries in a task on the loop: each attempt fails before the one that succeeds.
        func retry(
            _ backoff: Loop.Backoff = .init(), attempts: Int, succeeding: Int,
            while condition: @escaping @Sendable (any Error) -> Bool = { _ in true }
        ) -> Task<Int, any Error> {
            Task(executorPreference: loop.taskExecutor) {
                try await backoff.retry(attempts: attempts, clock: .loop(loop), while: condition) { attempt in
                    note("\(attempt)")
                    if attempt < succeeding { throw Failure(attempt: attempt) }
                    return attempt * 10
                }
            }
        }

        func note(_ text: String) { log.add("\(text) at \(loop.now.nanoseconds / 1_000_000)") }

        /// Performs a block of the loop at a virtual time.
        func at(_ milliseconds: Int64, _ block: @escaping @Sendable () -> Void) {
            loop.add(Loop.Timer(at: .init(nanoseconds: milliseconds * 1_000_000)) { _ in block() }, in: .common)
        }
    }

    @Test("The pauses are the backoff's, and the result that of the attempt that succeeds")
    func succeeds() async throws {
        let stage = try Stage()
        #expect(try await stage.retry(attempts: 10, succeeding: 4).value == 40)
        #expect(stage.log.entries == ["1 at 0", "2 at 100", "3 at 300", "4 at 700"])
    }

    @Test("The last error is thrown after so many attempts, and at least one is made", arguments: [-3, 0, 1, 3])
    func givesUp(_ attempts: Int) async throws {
        let stage = try Stage()
        let most = max(1, attempts)
        let task = stage.retry(attempts: attempts, succeeding: .max)
        await #expect(throws: Failure(attempt: most)) { try await task.value }
        #expect(stage.log.entries == Array(["1 at 0", "2 at 100", "3 at 300"].prefix(most)))
    }

    @Test("An error that is not worth another attempt is thrown at once")
    func condition() async throws {
        let stage = try Stage()
        let asked = Count()
        let task = stage.retry(attempts: 4, succeeding: .max) { error in
            asked.up()
            return (error as? Failure)?.attempt != 2
        }
        await #expect(throws: Failure(attempt: 2)) { try await task.value }
        #expect(stage.log.entries == ["1 at 0", "2 at 100"] && asked.value == 2)
        let last = stage.retry(attempts: 1, succeeding: .max) { _ in
            asked.up()
            return true
        }
        await #expect(throws: Failure(attempt: 1)) { try await last.value }
        #expect(asked.value == 2)
    }

    @Test("A pause ends at once when the task is cancelled")
    func cancelledInAPause() async throws {
        let stage = try Stage()
        let backoff = Loop.Backoff(from: .seconds(1000), to: .seconds(1000))
        let task = try await stage.thread.run {
            let task = stage.retry(backoff, attempts: 9, succeeding: .max)
            stage.at(5000) { task.cancel() }
            return task
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(stage.log.entries == ["1 at 0"] && stage.loop.now == .init(nanoseconds: 5_000_000_000))
    }

    @Test("A cancelled task makes no other attempt, even without a pause; its last error is thrown as it is")
    func cancelledInAnAttempt() async throws {
        for (attempts, isLast) in [(1, true), (2, false)] {
            let calls = Count()
            let task = Task {
                try await Loop.Backoff(from: .zero).retry(attempts: attempts) { attempt in
                    calls.up()
                    withUnsafeCurrentTask { $0?.cancel() }
                    throw Failure(attempt: attempt)
                }
            }
            let result = await task.result
            #expect(calls.value == 1)
            let error = #expect(throws: (any Error).self) { try result.get() }
            #expect(isLast ? error is Failure : error is CancellationError)
        }
    }

    @Test("A loop that ends ends the pause")
    func endedLoop() async throws {
        let stage = try Stage()
        let task = try await stage.thread.run {
            let task = stage.retry(.init(from: .seconds(1000)), attempts: 9, succeeding: .max)
            stage.at(5000) { stage.thread.stop() }
            return task
        }
        await #expect(throws: Loop.Ended.self) { try await task.value }
        #expect(stage.log.entries == ["1 at 0"])
    }

    /// An actor on a loop.
    private actor Client {
        nonisolated let stage: Stage
        nonisolated var unownedExecutor: UnownedSerialExecutor { stage.loop.asUnownedSerialExecutor() }
        private var attempts = 0

        init(_ stage: Stage) { self.stage = stage }

        func connect() async throws -> Int {
            try await Loop.Backoff().retry(attempts: 20, clock: .loop(stage.loop)) { attempt in
                attempts += 1
                stage.note("\(attempts)")
                if attempt < 5 { throw Failure(attempt: attempt) }
                return attempts
            }
        }
    }

    @Test("An actor on a loop retries in its own state, by the pauses if its task prefers the loop")
    func actor() async throws {
        let stage = try Stage()
        let task = Task(executorPreference: stage.loop.taskExecutor) {
            stage.at(250) { stage.note("timer") }
            return try await Client(stage).connect()
        }
        #expect(try await task.value == 5)
        #expect(
            stage.log.entries == ["1 at 0", "2 at 100", "timer at 250", "3 at 300", "4 at 700", "5 at 1500"])
    }

    @Test("It begins where the backoff is, and leaves it there; without a clock it pauses in real time")
    func copy() async throws {
        var backoff = Loop.Backoff(from: .milliseconds(1), to: .milliseconds(2))
        _ = backoff.next()
        let (before, start) = (backoff, Loop.Instant.now)
        let found = try await backoff.retry(attempts: 3) { attempt in
            if attempt < 3 { throw Failure(attempt: attempt) }
            return attempt
        }
        #expect(found == 3 && backoff == before && start.duration(to: .now) >= .milliseconds(4))
    }
}
