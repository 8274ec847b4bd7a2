import Dispatch
import Logging
import RunLoopKit
import RunLoopKitServiceLifecycle
import ServiceLifecycle
import ServiceLifecycleTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct LoopThreadServiceTests {
    /// A block that occupies its thread until it is released.
    private final class Blockade: Sendable {
        private let (entered, hasEntered) = AsyncStream.makeStream(of: Never.self)
        private let released = DispatchSemaphore(value: 0)

        func block() {
            hasEntered.finish()
            released.wait()
        }

        func waitUntilEntered() async { for await _ in entered {} }

        func release() { released.signal() }
    }

    private final class Counter: Sendable {
        private let count = Atomic(0)
        var value: Int { count.load(ordering: .relaxed) }
        func add() { count.add(1, ordering: .relaxed) }
    }

    private actor Resident {
        private let thread: LoopThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
        private(set) var jobsAtHome = 0

        init(_ thread: LoopThread) { self.thread = thread }

        func work() { if thread.isCurrent { jobsAtHome += 1 } }
    }

    @Test("A graceful shutdown runs the posted blocks and the jobs that were accepted, then ends the thread")
    func gracefulShutdown() async throws {
        let thread = try LoopThread(name: "disk")
        let service = LoopThreadService(thread)
        let blockade = Blockade()
        let resident = Resident(thread)
        let performed = Counter()
        try await testGracefulShutdown { trigger in
            async let end: Void = service.run()
            thread.perform { blockade.block() }
            await blockade.waitUntilEntered()
            for _ in 0..<100 { thread.perform { performed.add() } }
            let job = Task.immediate { await resident.work() }
            trigger.triggerGracefulShutdown()
            // The task that runs the service may only be about to begin.
            while thread.acceptsWork { await Task.yield() }
            #expect(performed.value == 0)
            blockade.release()
            try await end
            await job.value
        }
        #expect(performed.value == 100)
        try await thread.waitForEnd()
    }

    @Test("A cancellation ends the thread after the running block, and drops the blocks behind it")
    func cancellation() async throws {
        let thread = try LoopThread(name: "disk")
        let service = LoopThreadService(thread)
        let blockade = Blockade()
        let performed = Counter()
        thread.perform { blockade.block() }
        await blockade.waitUntilEntered()
        thread.perform { performed.add() }
        let end = Task { try await service.run() }
        end.cancel()
        while thread.acceptsWork { await Task.yield() }
        blockade.release()
        await #expect(throws: CancellationError.self) { try await end.value }
        #expect(performed.value == 0)
    }

    @Test("A cancellation follows a graceful shutdown that takes too long")
    func cancellationAfterGracefulShutdown() async throws {
        let thread = try LoopThread(name: "disk")
        let service = LoopThreadService(thread)
        let blockade = Blockade()
        let performed = Counter()
        thread.perform { blockade.block() }
        await blockade.waitUntilEntered()
        thread.perform { performed.add() }
        await testGracefulShutdown { trigger in
            trigger.triggerGracefulShutdown()
            let end = Task { try await service.run() }
            while thread.acceptsWork { await Task.yield() }
            end.cancel()
            blockade.release()
            await #expect(throws: CancellationError.self) { try await end.value }
        }
        #expect(performed.value == 0)
    }

    @Test("A graceful shutdown drains all threads of a pool")
    func pool() async throws {
        let pool = try LoopThreadPool(count: 3, options: .init(name: "files"))
        let service = LoopThreadService(pool)
        #expect("\(service)" == "LoopThreadService(files)")
        let performed = Counter()
        try await testGracefulShutdown { trigger in
            async let end: Void = service.run()
            for _ in 0..<300 { pool.perform { performed.add() } }
            trigger.triggerGracefulShutdown()
            try await end
        }
        #expect(performed.value == 300)
        #expect(pool.unfinished == [0, 0, 0])
        let isAccepted = pool.perform {}
        #expect(!isAccepted)
    }

    @Test("A service whose thread was stopped returns, also if it runs later")
    func stoppedThread() async throws {
        let thread = try LoopThread(name: "disk")
        let service = LoopThreadService(thread)
        thread.stop()
        try await service.run()
        try await LoopThreadService(thread).run()
    }

    @Test("A group shuts the services that use a thread down before the thread")
    func group() async throws {
        let thread = try LoopThread(name: "disk")
        let (accepted, continuation) = AsyncStream.makeStream(of: Bool.self)
        struct User: Service {
            let thread: LoopThread
            let continuation: AsyncStream<Bool>.Continuation

            func run() async throws {
                try await ServiceLifecycle.gracefulShutdown()
                continuation.yield(thread.acceptsWork)
                continuation.finish()
            }
        }
        let group = ServiceGroup(
            services: [LoopThreadService(thread), User(thread: thread, continuation: continuation)],
            logger: Logger(label: "tests", factory: { _ in SwiftLogNoOpLogHandler() }))
        async let end: Void = group.run()
        await group.triggerGracefulShutdown()
        try await end
        #expect(await accepted.reduce(into: []) { $0.append($1) } == [true])
        #expect(!thread.acceptsWork)
    }
}

extension LoopThread {
    fileprivate var acceptsWork: Bool { perform {} }
}
