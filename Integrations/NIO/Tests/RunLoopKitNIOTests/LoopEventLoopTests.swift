import NIOCore
import RunLoopKit
import RunLoopKitNIO
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct LoopEventLoopTests {
    @Test("Tasks run on the loop's thread, in the order of submission")
    func tasks() async throws {
        let thread = try LoopThread(name: "worker")
        let eventLoop = LoopEventLoop(thread.loop)
        let order = Mutex<[Int]>([])
        #expect(!eventLoop.inEventLoop)
        for number in 0..<100 {
            eventLoop.execute {
                eventLoop.assertInEventLoop()
                order.withLock { $0.append(number) }
            }
        }
        #expect(try await eventLoop.submit { thread.isCurrent }.get())
        #expect(order.withLock { $0 } == Array(0..<100))
        await #expect(throws: EventLoopError.unsupportedOperation) { try await eventLoop.shutdownGracefully() }
    }

    @Test("A promise that is completed on the loop's thread calls its callbacks at once")
    func completionOnTheThread() throws {
        let thread = try LoopThread(name: "worker")
        let eventLoop = LoopEventLoop(thread.loop)
        let isCalledAtOnce = try thread.performAndWait {
            let isCalled = Atomic(false)
            let promise = eventLoop.makePromise(of: Void.self)
            promise.futureResult.assumeIsolated().whenSuccess { isCalled.store(true, ordering: .relaxed) }
            promise.succeed()
            return isCalled.load(ordering: .relaxed)
        }
        #expect(isCalledAtOnce)
    }

    @Test("Tasks are scheduled on the loop's clock, and a cancelled one leaves no timer")
    func scheduling() async throws {
        let clock = VirtualClock()
        let thread = try LoopThread(name: "virtual", clock: clock)
        let eventLoop = LoopEventLoop(thread.loop)
        let hold = clock.hold()
        let start = eventLoop.now
        let cancelled = eventLoop.scheduleTask(in: .minutes(1)) { Issue.record("a cancelled task runs") }
        let deadline = eventLoop.scheduleTask(deadline: start + .hours(1)) { eventLoop.now }
        let failing = eventLoop.scheduleTask(in: .hours(2)) { () throws -> Void in throw CancellationError() }
        cancelled.cancel()
        hold.release()
        #expect(try await deadline.futureResult.get() == start + .hours(1))
        await #expect(throws: CancellationError.self) { try await failing.futureResult.get() }
        await #expect(throws: EventLoopError.cancelled) { try await cancelled.futureResult.get() }
        #expect(thread.loop.nextTimerFireTime(in: .default) == nil)
    }

    private actor Resident {
        private let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
        private(set) var count = 0
        init(_ thread: LoopThread) { self.thread = thread }
        func add() { count += 1 }
    }

    @Test("A task of the event loop may enter an actor of the loop")
    func actors() async throws {
        let thread = try LoopThread(name: "worker")
        let eventLoop = LoopEventLoop(thread.loop)
        let resident = Resident(thread)
        try await eventLoop.submit { resident.assumeIsolated { $0.add() } }.get()
        #expect(await resident.count == 1)
        #expect(eventLoop.executor === thread.loop)
    }

    @Test("Tasks for a loop that ends or has ended still run, and scheduled tasks fail")
    func endedLoop() async throws {
        let thread = try LoopThread(name: "ended")
        let eventLoop = LoopEventLoop(thread.loop)
        let scheduled = eventLoop.scheduleTask(in: .hours(1)) {}
        // In the block that stops the thread, so that it is dropped.
        let dropped = try await thread.run {
            defer { thread.stop(discardingPending: true) }
            return eventLoop.submit { eventLoop.inEventLoop }
        }
        try await thread.waitForEnd()
        #expect(try await dropped.get())
        #expect(try await eventLoop.submit { eventLoop.inEventLoop && !thread.isCurrent }.get())
        await #expect(throws: EventLoopError.shutdown) { try await scheduled.futureResult.get() }
        let refused = eventLoop.scheduleTask(in: .zero) {}
        await #expect(throws: EventLoopError.shutdown) { try await refused.futureResult.get() }
    }

    @Test("The callbacks of a future whose loop has ended are called")
    func futuresOfAnEndedLoop() async throws {
        let thread = try LoopThread(name: "ended")
        let promise = LoopEventLoop(thread.loop).makePromise(of: Int.self)
        thread.stop()
        try await thread.waitForEnd()
        promise.succeed(42)
        #expect(try await promise.futureResult.map { $0 + 1 }.get() == 43)
    }
}
