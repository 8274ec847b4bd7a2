import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

@Suite(.timeBound) struct LoopThreadTests {
    private struct Failure: Error, Equatable {}

    // MARK: Work

    @Test("Blocks run on the thread in order")
    func blocksInOrder() throws {
        let thread = try LoopThread(name: "worker")
        let order = LoopBound<[Int]>([], on: thread.loop)
        for number in 0..<1000 { #expect(thread.perform { order.value.append(number) }) }
        #expect(try thread.performAndWait { order.value } == Array(0..<1000))
        #expect(!thread.isCurrent)
        #expect(try thread.performAndWait { thread.isCurrent })
    }

    @Test("performAndWait returns and throws what the block does")
    func performAndWaitReturns() throws {
        let thread = try LoopThread()
        let local = 1
        #expect(try thread.performAndWait { local + 41 } == 42)
        #expect(throws: Failure.self) { try thread.performAndWait { throw Failure() } }
    }

    /// The block is isolated to the thread on which it runs, not to its caller's actor.
    @MainActor @Test("performAndWait works from the main actor")
    func performAndWaitOnMainActor() throws {
        let thread = try LoopThread()
        #expect(try thread.performAndWait { (0..<3).map { $0 + 1 } } == [1, 2, 3])
    }

    @Test("performAndWait on its own thread calls the block directly")
    func performAndWaitOnOwnThread() throws {
        let thread = try LoopThread()
        #expect(try thread.performAndWait { try thread.performAndWait { try thread.performAndWait { 7 } } } == 7)
    }

    @Test("run suspends until the block is done")
    func runSuspends() async throws {
        let thread = try LoopThread()
        #expect(try await thread.run { thread.isCurrent })
        await #expect(throws: Failure.self) { try await thread.run { throw Failure() } }
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...100 { group.addTask { try await thread.run { number } } }
            return try await group.reduce(0, +)
        }
        #expect(sum == 5050)
    }

    @Test("Cancelling the task withdraws a block that has not begun")
    func cancelledRun() async throws {
        let thread = try LoopThread()
        let (began, go) = (Gate(), Gate())
        thread.perform {
            began.open()
            go.wait()
        }
        began.wait()
        let ran = Count()
        let task = Task { try await thread.run { ran.up() } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await thread.run { ran.up() }
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        go.open()
        try thread.performBlocking {}
        #expect(ran.value == 0)
    }

    @Test("Delayed blocks run after their delay unless cancelled")
    func delayedBlocks() throws {
        let clock = VirtualClock(.manual)
        let thread = try LoopThread(clock: clock)
        let ran = Log<String>()
        thread.perform(after: .seconds(2)) { ran.add("two") }
        let cancelled = try #require(thread.perform(after: .seconds(1)) { ran.add("one") })
        thread.perform(after: .seconds(-1)) { ran.add("now") }
        clock.advance(by: .zero)
        #expect(ran.entries == ["now"])
        cancelled.invalidate()
        clock.advance(by: .seconds(2))
        #expect(ran.entries == ["now", "two"])
    }

    @Test("Blocks wait for their mode")
    func blocksWaitForTheirMode() throws {
        let thread = try LoopThread()
        let ran = Log<String>()
        thread.perform(in: "modal") { ran.add("modal") }
        try thread.performAndWait { ran.add("default") }
        #expect(ran.entries == ["default"])
        // Not a block: a run inside a drain does not see the blocks that the drain has taken out.
        let done = Gate()
        thread.perform(after: .zero) {
            Loop.current.run(mode: "modal", for: .zero)
            done.open()
        }
        done.wait()
        #expect(ran.entries == ["default", "modal"])
    }

    @Test("A handler that stops the loop does not end the thread")
    func handlerStopsTheLoop() throws {
        let thread = try LoopThread()
        for _ in 0..<10 { try thread.performAndWait { Loop.current.stop() } }
        #expect(try thread.performAndWait { true })
    }

    // MARK: Lifetime

    @Test("Releasing the last reference stops the thread")
    func lastReference() throws {
        weak var loop: Loop?
        let ended = Count()
        let ran = Count()
        do {
            let thread = try LoopThread()
            loop = thread.loop
            thread.loop.add(Loop.Source0(cancel: { _, _ in ended.up() }, perform: {}), in: .default)
            thread.perform { ran.up() }
        }
        spin(until: loop == nil)
        #expect(ended.value == 1 && ran.value == 1)
    }

    @Test("The thread itself may release the last reference")
    func lastReferenceOnTheThread() throws {
        weak var loop: Loop?
        let owner = Box<LoopThread>()
        let isOnlyOwner = Gate()
        do {
            let thread = try LoopThread()
            owner.value = thread
            loop = thread.loop
            thread.perform {
                isOnlyOwner.wait()
                owner.value = nil
            }
        }
        isOnlyOwner.open()
        spin(until: loop == nil)
    }

    @Test("An owner that starts work on its thread is deallocated")
    func ownerIsDeallocated() throws {
        final class Owner: Sendable {
            let thread: LoopThread
            let ticks = Count()
            init() throws { thread = try LoopThread() }
            func start() {
                thread.loop.add(
                    Loop.Timer(every: .microseconds(100)) { [weak self] _ in self?.ticks.up() }, in: .default)
                thread.perform { [weak self] in self?.ticks.up() }
            }
        }
        weak var remains: Owner?
        weak var loop: Loop?
        do {
            let owner = try Owner()
            remains = owner
            loop = owner.thread.loop
            owner.start()
            spin(until: owner.ticks.value > 3)
        }
        spin(until: remains == nil && loop == nil)
    }

    // MARK: Creation

    @Test("Stack sizes are honoured or refused")
    func stackSizes() throws {
        let thread = try LoopThread(name: "small", stackSize: 64 * 1024)
        #expect(try thread.performAndWait { 1 } == 1)
        #expect(throws: LoopError.self) { try LoopThread(stackSize: 1) }
        #expect(throws: LoopError.self) { try LoopThread(stackSize: -1) }
        do throws(LoopError) { _ = try LoopThread(stackSize: 17) } catch {
            #expect("\(error)".hasPrefix("pthread_attr_setstacksize(17): ") && "\(error)".contains("(EINVAL)"))
        }
    }

    @Test(
        "A thread may have any name",
        arguments: [
            "", "short", "a name that is longer than the kernel keeps", "zwölf Boxkämpfer jagen",
            "日本語のスレッド名",
        ])
    func names(_ name: String) throws {
        let thread = try LoopThread(name: name)
        #expect(thread.name == name)
        #expect(name.hasPrefix(try thread.performAndWait { Kernel.threadName }))
    }

    @Test("Threads that are released free their stacks")
    func stacksAreFreed() async {
        await #expect(processExitsWith: .success) {
            func comeAndGo(_ count: Int) throws {
                for _ in 0..<count {
                    let before = Kernel.threads
                    do { _ = try LoopThread(stackSize: 8 << 20) }
                    spin(until: Kernel.threads <= before)
                }
            }
            try! comeAndGo(20)
            let bytes = Kernel.mappedBytes
            try! comeAndGo(200)
            // The C library keeps a few stacks for later threads. A thread that is neither joined nor detached keeps
            // its own.
            let growth = Kernel.mappedBytes - bytes
            precondition(Kernel.hasSanitizer || growth < 100 * 8 << 20, "\(growth) bytes more")
        }
    }

    @Test("Ten thousand threads start and end without leaving a trace")
    func tenThousandThreads() async {
        await #expect(processExitsWith: .success) {
            func comeAndGo(_ count: Int) throws {
                for _ in 0..<count {
                    let thread = try LoopThread()
                    try thread.performAndWait {}
                    thread.stop()
                    thread.join()
                }
            }
            try! comeAndGo(500)
            let (descriptors, threads, bytes) = (Kernel.descriptors, Kernel.threads, Kernel.residentBytes)
            try! comeAndGo(10_000)
            // A margin for what the runtime opens and starts for itself, now or later.
            precondition(Kernel.descriptors < descriptors + 20, "\(Kernel.descriptors) \(descriptors)")
            precondition(Kernel.threads < threads + 20, "\(Kernel.threads) \(threads)")
            // A leak of a single small object for each thread would be more than this. Sanitizers keep additional data
            // in memory.
            let growth = Kernel.residentBytes - bytes
            precondition(Kernel.hasSanitizer || growth < 10_000 * 64, "\(growth) bytes more")
        }
    }
}
