import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// Tasks that wait for the end of a thread.
@Suite(.timeBound) struct LoopThreadEndTests {
    @Test("Several tasks wait for the end, also those that begin after the stop or after the end")
    func waitingForTheEnd() async throws {
        let thread = try LoopThread()
        let (began, go, hasCalledHandler) = (Gate(), Gate(), Gate())
        thread.loop.onEnd { hasCalledHandler.open() }
        let tasks = (0..<4).map { _ in
            Task.immediate {
                try await thread.waitForEnd()
                return hasCalledHandler.isOpenNow
            }
        }
        thread.perform {
            began.open()
            go.wait()
        }
        await eventually(began.isOpenNow)
        thread.stop()
        let late = Task.immediate {
            try await thread.waitForEnd()
            return hasCalledHandler.isOpenNow
        }
        #expect(!hasCalledHandler.isOpenNow)
        go.open()
        for task in tasks + [late] { #expect(try await task.value) }
        try await thread.waitForEnd()
        thread.joinBlocking()
        try await thread.waitForEnd()
    }

    @Test("A task that begins to wait while an end handler runs is resumed after it")
    func waiterDuringEndHandlers() async throws {
        let thread = try LoopThread()
        let order = Log<String>()
        let (began, go) = (Gate(), Gate())
        thread.loop.onEnd {
            began.open()
            go.wait()
            order.add("handler")
        }
        thread.stop()
        await eventually(began.isOpenNow)
        let waiter = Task.immediate {
            try await thread.waitForEnd()
            order.add("task")
        }
        go.open()
        try await waiter.value
        #expect(order.entries == ["handler", "task"])
    }

    @Test("A task that waits for the end is resumed after all end handlers, and once the descriptors are closed")
    func endHandlersBeforeWaiters() async throws {
        let thread = try LoopThread()
        let order = Log<String>()
        let waiter = Task.immediate {
            try await thread.waitForEnd()
            order.add("task")
        }
        for number in 0..<3 { thread.loop.onEnd { order.add("handler \(number)") } }
        thread.stop()
        try await waiter.value
        #expect(order.entries == ["handler 0", "handler 1", "handler 2", "task"])
        #expect(thread.loop.onEnd {} == nil)
    }

    @Test("Cancelling a task ends its wait for the end, and nothing else")
    func cancelledWaitForEnd() async throws {
        let thread = try LoopThread()
        let (cancelled, other) = (
            Task.immediate { try await thread.waitForEnd() },
            Task.immediate {
                try await thread.waitForEnd()
            }
        )
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(try await thread.run { true })
        thread.stop()
        try await other.value
        // There is nothing left to wait for.
        cancelled.cancel()
        try await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await thread.waitForEnd()
        }.value
    }

    @Test("Cancellations and the end race, and each task gets one answer")
    func cancellationsRaceWithTheEnd() async throws {
        for _ in 0..<100 {
            let thread = try LoopThread()
            let tasks = (0..<4).map { _ in Task.immediate { try await thread.waitForEnd() } }
            thread.stop()
            tasks[0].cancel()
            tasks[1].cancel()
            for task in tasks[0...1] {
                do { try await task.value } catch { #expect(error is CancellationError) }
            }
            for task in tasks[2...] { try await task.value }
        }
    }

    @Test("A task that waits for the end keeps the thread")
    func waiterKeepsTheThread() async throws {
        weak var remains: LoopThread?
        let task = try {
            let thread = try LoopThread()
            remains = thread
            return Task.immediate { try await thread.waitForEnd() }
        }()
        let isKept = remains != nil
        #expect(isKept)
        remains?.stop()
        try await task.value
    }

    @Test("A pool ends for its waiters when all of its threads have")
    func waitingForThePoolsEnd() async throws {
        let pool = try LoopThreadPool(count: 3)
        let cancelled = Task.immediate { try await pool.waitForEnd() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let hasEnded = Count()
        for loop in pool.loops { loop.onEnd { hasEnded.up() } }
        let waiter = Task.immediate {
            try await pool.waitForEnd()
            return hasEnded.value
        }
        pool.stop()
        #expect(try await waiter.value == 3)
        try await pool.waitForEnd()
    }
}
