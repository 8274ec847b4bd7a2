import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Calls of one actor to one object are entered in the order in which they are made: each asynchronous function takes
/// effect before its task first suspends.
@Suite(.timeBound) struct CallOrderTests {
    private typealias Call = nonisolated(nonsending) @Sendable () async throws -> Void

    /// Calls from tasks of its own, on a thread of its own.
    private actor Caller {
        nonisolated let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }

        init() throws { thread = try LoopThread() }

        /// Begins a call and checks, as soon as its task has suspended or ended, whether the call has been entered.
        /// Also returns the task.
        func begin(
            _ call: nonisolated(nonsending) @escaping @Sendable () async throws -> Void,
            _ isEntered: @Sendable () -> Bool
        ) -> (isEntered: Bool, task: Task<Void, any Error>) {
            let task = Task.immediate {
                _ = self
                try await call()
            }
            return (isEntered(), task)
        }

        /// Begins calls, one after the other.
        func call(_ calls: [Call]) -> [Task<Void, any Error>] {
            calls.map { call in
                Task {
                    _ = self
                    try await call()
                }
            }
        }
    }

    private func expectEntered(
        _ call: nonisolated(nonsending) @escaping @Sendable () async throws -> Void,
        _ isEntered: @escaping @Sendable () -> Bool, at location: SourceLocation = #_sourceLocation
    ) async throws {
        let (isEntered, task) = await (try Caller()).begin(call, isEntered)
        #expect(isEntered, sourceLocation: location)
        task.cancel()
        _ = await task.result
    }

    // MARK: Every asynchronous function

    @Test("A limiter is called before the task suspends")
    func limiterCall() async throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        let limiter = AsyncLimiter.debounce(interval: .seconds(1), on: thread.loop) { (input: Int) in input }
        try await expectEntered {
            _ = try await limiter.run(1)
        } _: {
            limiter.isPending
        }
    }

    @Test("A thread has the block before the task suspends")
    func threadBlock() async throws {
        let worker = try LoopThread()
        try await occupied({ worker.perform($0) }) {
            try await expectEntered {
                try await worker.run {}
            } _: {
                "\(worker.loop)".contains("1 block posted")
            }
        }
    }

    @Test("A pool has the block before the task suspends")
    func poolBlock() async throws {
        let pool = try LoopThreadPool(count: 1)
        try await occupied({ pool.perform($0) }) {
            try await expectEntered {
                try await pool.run {}
            } _: {
                pool.unfinished == [2]
            }
            try await expectEntered {
                try await pool.run(for: "key") {}
            } _: {
                pool.unfinished == [2]
            }
        }
    }

    @Test("A drain knows what it waits for before the task suspends")
    func drainCall() async throws {
        let pool = try LoopThreadPool(count: 1)
        let drained = Count()
        // Without anything to wait for, it need not suspend.
        try await expectEntered {
            try await pool.drain()
            drained.up()
        } _: {
            drained.value == 1
        }
    }

    @Test("A sleep has its timer before the task suspends")
    func sleepTimer() async throws {
        let thread = try LoopThread(clock: VirtualClock(.manual))
        try await expectEntered {
            try await LoopClock(thread.loop).sleep(until: seconds(1))
        } _: {
            thread.loop.count(of: "timer") == 1
        }
    }

    @Test("A waiting element is taken without suspending", arguments: [false, true])
    func waitingElement(_ isIsolated: Bool) async throws {
        let thread = try LoopThread(clock: VirtualClock())
        let taken = Count()
        let iterator = Box<Loop.Ticks.Iterator>()
        iterator.value = thread.loop.ticks(every: .zero).makeAsyncIterator()
        await eventually(thread.loop.count(of: "timer") == 0)
        try await expectEntered {
            if isIsolated {
                _ = await iterator.value!.next(isolation: #isolation)
            } else {
                _ = await iterator.value!.next()
            }
            taken.up()
        } _: {
            taken.value > 0
        }
    }

    // MARK: In many rounds

    // All at once, because the test suite leaves the threads of the pool little time.

    @Test("A limiter acts on the last call of an actor")
    func lastCallOfAnActor() async throws {
        let clock = VirtualClock(.manual)
        let (thread, caller, ended) = (try LoopThread(clock: clock), try Caller(), Count())
        let logs = (0..<500).map { _ in Log<String>() }
        let limiters = logs.map { log in
            AsyncLimiter.debounce(interval: .seconds(1), on: thread.loop) { (text: String) in log.add(text) }
        }
        let tasks = await caller.call(
            limiters.flatMap { limiter in
                ["", "loops"].map { text -> Call in
                    {
                        try await limiter.run(text)
                        ended.up()
                    }
                }
            })
        while ended.value < tasks.count {
            clock.advance(by: .seconds(1))
            await Task.yield()
        }
        #expect(logs.filter { $0.entries.last != "loops" }.isEmpty)
    }

    @Test("A thread runs the blocks of an actor in order")
    func blocksOfAnActor() async throws {
        let (worker, caller, log) = (try LoopThread(), try Caller(), Log<Int>())
        let tasks = await caller.call((0..<1000).map { number -> Call in { try await worker.run { log.add(number) } } })
        for task in tasks { try await task.value }
        let misplaced = zip(log.entries, 0...).filter { $0 != $1 }
        #expect(log.entries.count == 1000 && misplaced.isEmpty)
    }

    // MARK: Support

    /// During `body`, keeps the thread busy that runs blocks of `post`.
    private func occupied(
        _ post: (@escaping @Sendable () -> Void) -> Bool, _ body: () async throws -> Void
    ) async throws {
        let (began, end) = (Gate(), Gate())
        defer { end.open() }
        _ = post {
            began.open()
            end.wait()
        }
        await eventually(began.isOpenNow)
        try await body()
    }
}
