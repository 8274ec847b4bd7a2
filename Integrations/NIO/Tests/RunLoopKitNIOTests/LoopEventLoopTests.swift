import Dispatch
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

    @Test("A deadline is kept to the nanosecond, so tasks run in the order of their deadlines")
    func deadlines() throws {
        let thread = try LoopThread(name: "worker")
        let eventLoop = LoopEventLoop(thread.loop)
        let deadline = eventLoop.now + .hours(1)
        let scheduled = eventLoop.scheduleTask(deadline: deadline) {}
        let fireTime = try #require(thread.loop.nextTimerFireTime(in: .default))
        #expect(fireTime.nanoseconds == Int64(deadline.uptimeNanoseconds))
        scheduled.cancel()
    }

    @Test("Times at the ends of the range are past, or never come")
    func extremeTimes() async throws {
        let thread = try LoopThread(name: "worker")
        let eventLoop = LoopEventLoop(thread.loop)
        let never = [
            eventLoop.scheduleTask(deadline: .distantFuture) {}, eventLoop.scheduleTask(in: .nanoseconds(.max)) {},
        ]
        try await eventLoop.scheduleTask(deadline: .distantPast) {}.futureResult.get()
        try await eventLoop.scheduleTask(in: .nanoseconds(.min)) {}.futureResult.get()
        for scheduled in never {
            scheduled.cancel()
            await #expect(throws: EventLoopError.cancelled) { try await scheduled.futureResult.get() }
        }
    }

    /// Notes which of its functions is called.
    private final class CallbackHandler: NIOScheduledCallbackHandler, Sendable {
        let calls: AsyncStream<String>
        private let continuation: AsyncStream<String>.Continuation
        private let cancelsItself: Bool
        let callback = Mutex<NIOScheduledCallback?>(nil)

        init(cancelsItself: Bool = false) {
            (calls, continuation) = AsyncStream.makeStream()
            self.cancelsItself = cancelsItself
        }

        func handleScheduledCallback(eventLoop: some EventLoop) {
            continuation.yield("called at \(eventLoop.now.uptimeNanoseconds), \(eventLoop.inEventLoop)")
            if cancelsItself { callback.withLock { $0 }?.cancel() }
        }

        func didCancelScheduledCallback(eventLoop: some EventLoop) {
            continuation.yield("cancelled, \(eventLoop.inEventLoop)")
        }

        /// The calls so far, of which there must be one.
        var all: [String] {
            get async {
                var iterator = calls.makeAsyncIterator()
                var all = [await iterator.next()!]
                continuation.finish()
                while let call = await iterator.next() { all.append(call) }
                return all
            }
        }
    }

    @Test("A scheduled callback comes on the loop's clock, and either is called or cancelled")
    func scheduledCallbacks() async throws {
        let clock = VirtualClock()
        let thread = try LoopThread(name: "virtual", clock: clock)
        let eventLoop = LoopEventLoop(thread.loop)
        let (called, itself, cancelled) = (
            CallbackHandler(), CallbackHandler(cancelsItself: true), CallbackHandler()
        )
        let hold = clock.hold()
        _ = eventLoop.scheduleCallback(in: .nanoseconds(5), handler: called)
        let own = eventLoop.scheduleCallback(at: eventLoop.now + .nanoseconds(7), handler: itself)
        itself.callback.withLock { $0 = own }
        let callback = eventLoop.scheduleCallback(in: .hours(1), handler: cancelled)
        callback.cancel()
        callback.cancel()
        hold.release()
        #expect(await cancelled.all == ["cancelled, true"])
        #expect(await called.all == ["called at 5, true"])
        try await eventLoop.scheduleTask(in: .hours(2)) {}.futureResult.get()
        #expect(await itself.all == ["called at 7, true"])
        // On the loop's thread: the timer of the task that was awaited has returned there.
        let left = try await thread.run { Loop.current.nextTimerFireTime(in: .default) }
        #expect(left == nil)
    }

    @Test("A callback whose loop ends, or has ended, is cancelled")
    func callbacksOfAnEndedLoop() async throws {
        let thread = try LoopThread(name: "ended")
        let eventLoop = LoopEventLoop(thread.loop)
        let (waiting, late) = (CallbackHandler(), CallbackHandler())
        _ = eventLoop.scheduleCallback(in: .hours(1), handler: waiting)
        thread.stop()
        try await thread.waitForEnd()
        _ = eventLoop.scheduleCallback(in: .hours(1), handler: late)
        #expect(await waiting.all == ["cancelled, true"])
        #expect(await late.all == ["cancelled, true"])
    }

    @Test("The tasks that a discarding stop drops run in the order of submission, whichever thread drops them")
    func orderOfDroppedTasks() async throws {
        let thread = try LoopThread(name: "ended")
        let eventLoop = LoopEventLoop(thread.loop)
        let order = Mutex<[Int]>([])
        let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
        let isStopped = DispatchSemaphore(value: 0)
        // In one step of blocks: the loop's thread drops those that are left of it, and the stop the others.
        try await thread.run {
            for number in 0..<10 {
                eventLoop.execute {
                    order.withLock { $0.append(number) }
                    guard number == 0 else { return }
                    continuation.finish()
                    isStopped.wait()
                }
            }
        }
        for await _ in begun {}
        for number in 10..<20 { eventLoop.execute { order.withLock { $0.append(number) } } }
        thread.stop(discardingPending: true)
        for number in 20..<30 { eventLoop.execute { order.withLock { $0.append(number) } } }
        isStopped.signal()
        try await thread.waitForEnd()
        try await eventLoop.submit {}.get()
        #expect(order.withLock { $0 } == Array(0..<30))
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
