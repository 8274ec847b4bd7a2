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
        try thread.performAndWait {}
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

    // MARK: The end

    @Test("A clean stop runs what was accepted")
    func cleanStop() throws {
        let thread = try LoopThread()
        let (began, go) = (Gate(), Gate())
        let ran = Log<String>()
        thread.perform {
            began.open()
            go.wait()
        }
        began.wait()
        for number in 0..<10 { thread.perform { ran.add("\(number)") } }
        // Also blocks for a mode that never runs.
        thread.loop.perform(in: "never run") { ran.add("other mode") }
        thread.stop()
        #expect(!thread.perform { ran.add("late") })
        #expect(!thread.loop.perform { ran.add("late") })
        #expect(thread.perform(after: .zero) { ran.add("late") } == nil)
        go.open()
        thread.join()
        #expect(ran.entries == (0..<10).map { "\($0)" } + ["other mode"])
    }

    @Test("A discarding stop drops blocks that have not begun and answers those that wait")
    func discardingStop() async throws {
        let thread = try LoopThread(name: "brief")
        let (began, go) = (Gate(), Gate())
        let ran = Count()
        thread.perform {
            began.open()
            go.wait()
        }
        began.wait()
        for _ in 0..<10 { thread.perform { ran.up() } }
        let waiting = Task { try await thread.run { ran.up() } }
        let other = try LoopThread()
        let answer = Task {
            try await other.run { () -> LoopThread.Stopped? in
                do throws(any Error) { try thread.performAndWait { ran.up() } } catch {
                    return error as? LoopThread.Stopped
                }
                return nil
            }
        }
        // Both have been handed over: ten and two. Yields the thread, which the tasks may need.
        await eventually("\(thread.loop)".contains("12 blocks posted"))
        thread.stop(discardingPending: true)
        await #expect(throws: LoopThread.Stopped(thread: "brief")) { try await waiting.value }
        #expect(try await answer.value == LoopThread.Stopped(thread: "brief"))
        go.open()
        thread.join()
        #expect(ran.value == 0)
    }

    @Test("Blocks that a pass has already taken out are discarded too")
    func discardedInAPass() throws {
        let thread = try LoopThread()
        let ran = Count()
        let go = Gate()
        try thread.performAndWait {
            // One drain has both: the first waits until the stop has come.
            Loop.current.perform { go.wait() }
            Loop.current.perform { ran.up() }
        }
        thread.stop(discardingPending: true)
        go.open()
        thread.join()
        #expect(ran.value == 0)
    }

    @Test("Work offered after the end is refused")
    func workAfterTheEnd() async throws {
        let thread = try LoopThread(name: "gone")
        thread.stop()
        thread.stop()
        thread.join()
        thread.join()
        #expect(!thread.perform {})
        #expect(thread.perform(after: .zero) {} == nil)
        #expect(throws: LoopThread.Stopped(thread: "gone")) { try thread.performAndWait {} }
        await #expect(throws: LoopThread.Stopped(thread: "gone")) { try await thread.run {} }
        #expect("\(LoopThread.Stopped(thread: "gone"))".contains("\"gone\" has been stopped"))
        thread.stop(discardingPending: true)
    }

    @Test("A stop right after the start is not lost")
    func immediateStop() throws {
        for _ in 0..<300 {
            let thread = try LoopThread()
            thread.stop()
            thread.join()
        }
    }

    @Test("Many threads may stop and join a thread")
    func manyStopsAndJoins() throws {
        for _ in 0..<50 {
            let thread = try LoopThread()
            let helpers = try (0..<3).map { _ in
                let helper = try LoopThread()
                helper.perform {
                    thread.stop()
                    thread.join()
                }
                return helper
            }
            for helper in helpers {
                helper.stop()
                helper.join()
            }
            #expect(!thread.perform {})
        }
    }

    @Test("A stop inside a nested run ends all runs")
    func stopInANestedRun() throws {
        let thread = try LoopThread()
        let inside = Gate()
        thread.perform {
            Loop.current.perform {
                inside.open()
                Loop.current.run(mode: .default, until: .distantFuture)
            }
            Loop.current.run(mode: .default, until: .distantFuture)
        }
        inside.wait()
        thread.stop()
        thread.join()
    }

    @Test("A stop also ends a nested run in a mode of its own")
    func stopInAModeOfItsOwn() throws {
        let thread = try LoopThread()
        let inside = Gate()
        let keep = Loop.Source0 {}
        thread.loop.add(keep, in: "modal")
        thread.perform {
            Loop.current.perform(in: "modal") { inside.open() }
            Loop.current.run(mode: "modal", until: .distantFuture)
        }
        inside.wait()
        thread.stop()
        thread.join()
    }

    @Test("Accepted blocks run at the end although their mode cannot")
    func blocksOfIdleModes() throws {
        let thread = try LoopThread()
        let ran = Count()
        thread.loop.add(Loop.Observer(.entry) { _, _ in Loop.current.stop() }, in: "stubborn")
        thread.perform(in: "stubborn") { ran.up() }
        thread.stop()
        thread.join()
        #expect(ran.value == 1)
    }

    @Test("Joining closes all descriptors of the thread")
    func joinClosesDescriptors() async {
        await #expect(processExitsWith: .success) {
            let before = Kernel.descriptors
            let threads = (0..<100).map { _ in
                let thread = try! LoopThread()
                try! thread.performAndWait {}
                thread.stop()
                thread.join()
                return thread
            }
            // A margin for what the runtime opens for itself: a descriptor leaked by each thread would be a hundred.
            precondition(Kernel.descriptors < before + 20, "\(Kernel.descriptors) \(before)")
            withExtendedLifetime(threads) {}
        }
    }

    @Test("A thread can stop itself")
    func threadStopsItself() throws {
        let thread = try LoopThread()
        thread.perform { thread.stop() }
        thread.join()
    }

    @Test("Joining the own thread traps and says so")
    func joinOneself() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let thread = try! LoopThread(name: "me")
            try! thread.performAndWait { thread.join() }
        }
        expect(result, says: ["LoopThread.join() was called on the thread \"me\" itself"])
    }

    // MARK: Lifetime

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
        thread.join()
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
