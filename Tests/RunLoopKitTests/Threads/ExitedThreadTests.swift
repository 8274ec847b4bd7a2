import LoopTestSupport
import Testing

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

private func exitThread() -> Never { pthread_exit(nil) }

extension Loop {
    fileprivate var postedBlocks: Int { waitingBlocks }
}

/// Threads that exit (`pthread_exit`) inside a block or a handler: every waiting caller gets an answer.
@Suite(.timeBound, .disabled(if: Kernel.hasSanitizer, "what the frames of exited threads hold is leaked"))
struct ExitedThreadTests {
    // MARK: Waiting callers

    @Test("performAndWait returns when the thread exits inside the block")
    func performAndWaitReturns() throws {
        let thread = try LoopThread(name: "leaving")
        let error = #expect(throws: LoopThread.Exited.self) {
            try thread.performAndWait { () -> Int in exitThread() }
        }
        #expect(error == LoopThread.Exited(thread: "leaving"))
        #expect(
            error?.description
                == "the LoopThread \"leaving\" exited inside the work (pthread_exit, or pthread_cancel): "
                + "it has begun, and there is no result")
        thread.join()
        #expect(throws: LoopThread.Stopped(thread: "leaving")) { try thread.performAndWait {} }
        #expect(!thread.perform {})
    }

    @Test("run returns when the thread exits inside the block")
    func runReturns() async throws {
        let thread = try LoopThread(name: "leaving")
        await #expect(throws: LoopThread.Exited(thread: "leaving")) {
            try await thread.run { () -> Int in exitThread() }
        }
        thread.joinBlocking()
    }

    @Test("A pool's map returns when a worker exits inside an element")
    func mapReturns() async throws {
        let pool = try LoopThreadPool(count: 2, options: .init(name: "leaving"))
        await #expect(throws: LoopThread.Exited(thread: "leaving")) {
            try await pool.map(Array(0..<10)) { number in if number == 3 { exitThread() } }
        }
        pool.stop()
        pool.joinBlocking()
    }

    @Test("A task that waits for the end is resumed when the thread exits")
    func waitForEndReturns() async throws {
        let thread = try LoopThread(name: "leaving")
        let waiter = Task.immediate { try await thread.waitForEnd() }
        thread.perform { exitThread() }
        try await waiter.value
        thread.joinBlocking()
    }

    @Test("A handler of the end that exits the thread leaves nobody waiting", arguments: ["end", "cancel", "flush"])
    func exitsAtTheEnd(_ handler: String) async throws {
        let thread = try LoopThread(name: "leaving")
        let loop = thread.loop
        let log = Log<String>()
        let sleeper = Task { try await LoopClock(loop).sleep(until: loop.now + .seconds(3600)) }
        while loop.nextTimerFireTime(in: .default) == nil { await Task.yield() }
        var debounce: Debounce<Int>?
        switch handler {
        case "end": loop.onEnd { exitThread() }
        case "cancel": loop.add(Loop.Source0(cancel: { _, _ in exitThread() }, perform: {}))
        default:
            debounce = Debounce(interval: .seconds(3600), on: loop, whenReleased: .flush) { _ in exitThread() }
            debounce?(1)
        }
        loop.onEnd { log.add("later handler") }
        let waiter = Task.immediate { try await thread.waitForEnd() }
        thread.stop()
        try await waiter.value
        await #expect(throws: Loop.Ended.self) { try await sleeper.value }
        #expect(log.entries == ["later handler"] && loop.waker.descriptor == -1)
        thread.joinBlocking()
        withExtendedLifetime(debounce) {}
    }

    @Test("The end of another loop of the thread goes on, too")
    func exitsAtTheEndOfAnotherLoop() throws {
        let thread = try LoopThread(name: "leaving")
        let (log, isOver) = (Log<String>(), Gate())
        thread.perform {
            let loop = Loop(clock: VirtualClock())
            loop.onEnd { exitThread() }
            loop.onEnd {
                log.add("later handler")
                isOver.open()
            }
            loop.end()
        }
        isOver.wait()
        thread.join()
        #expect(log.entries == ["later handler"])
    }

    /// Blocks that the thread had already taken out of the queue, and those in it, in this mode and in others.
    @Test("Callers that wait for a later block get an answer too")
    func blocksBehind() async throws {
        let thread = try LoopThread(name: "leaving")
        let (began, go) = (Gate(), Gate())
        let leaving = Task {
            try await thread.run {
                began.open()
                go.wait()
                // The next step takes the blocks posted meanwhile; this block is still in progress then.
                Loop.current.run(mode: .default, for: .zero)
            }
        }
        await eventually(began.isOpenNow)
        let exiting = Task { try await thread.run { () -> Void in exitThread() } }
        await eventually(thread.loop.postedBlocks == 1)
        let behind = (0..<3).map { number in Task { try await thread.run { number } } }
        await eventually(thread.loop.postedBlocks == 4)
        let elsewhere = Task { try await thread.run(in: "never run") {} }
        await eventually(thread.loop.postedBlocks == 5)
        go.open()
        await #expect(throws: LoopThread.Exited.self) { try await exiting.value }
        await #expect(throws: LoopThread.Exited.self, "the one that it was nested in") { try await leaving.value }
        for task in behind { await #expect(throws: LoopThread.Stopped.self) { try await task.value } }
        await #expect(throws: LoopThread.Stopped.self) { try await elsewhere.value }
        thread.joinBlocking()
    }

    @Test("Blocks that were to run in the same pass, or later, are released in the order of posting")
    func blocksOfTheSamePass() throws {
        final class Captured: Sendable {
            let number: Int
            let released: Log<Int>
            init(_ number: Int, _ released: Log<Int>) { (self.number, self.released) = (number, released) }
            deinit { released.add(number) }
        }
        let released = Log<Int>()
        @Sendable func post(_ number: Int) {
            let captured = Captured(number, released)
            Loop.current.perform { _ = captured }
        }
        let thread = try LoopThread(name: "leaving")
        try thread.performAndWait {
            Loop.current.perform {
                Loop.current.perform {
                    post(5)
                    exitThread()
                }
                post(3)
                post(4)
                Loop.current.run(mode: .default, for: .zero)
            }
            post(1)
            post(2)
        }
        thread.join()
        #expect(released.entries == [1, 2, 3, 4, 5])
        #expect(thread.loop.waitingBlocks == 0)
    }

    @Test("A pool answers, and its load counts are right")
    func poolAnswers() async throws {
        let pool = try LoopThreadPool(count: 2, options: .init(name: "pool"))
        await #expect(throws: LoopThread.Exited(thread: "pool")) {
            try await pool.run(for: "key") { () -> Int in exitThread() }
        }
        // The answer comes before the thread's loop has ended, which accepts blocks until then, and drops them: the
        // other thread would not get the block that ends it.
        await eventually(pool.loops.contains { loop in loop.lock.withLock { loop.hasEnded } })
        #expect(pool.perform { exitThread() } || pool.perform { exitThread() })
        try await pool.drain()
        #expect(pool.unfinished == [0, 0])
        pool.joinBlocking()
    }

    @Test("A task that sleeps on the loop is woken")
    func sleepingTask() async throws {
        let thread = try LoopThread()
        let sleeper = Task { try await LoopClock(thread.loop).sleep(for: .seconds(1_000_000)) }
        await eventually(thread.loop.nextTimerFireTime(in: .default) != nil)
        thread.perform { exitThread() }
        await #expect(throws: Loop.Ended.self) { try await sleeper.value }
    }

    // MARK: The thread and its loop

    /// In every kind of handler the end of the thread ends its loop, in the same orderly way.
    @Test(
        "Exiting in a handler ends the loop", arguments: ["block", "timer", "source", "port", "messages", "observer"])
    func exitInAHandler(_ kind: String) throws {
        let thread = try LoopThread(name: "leaving")
        let loop = thread.loop
        let log = Log<String>()
        let cancelled = Loop.Source0(cancel: { _, mode in log.add("cancelled in \(mode)") }, perform: {})
        loop.add(cancelled, in: .default)
        loop.add(cancelled, in: "other")
        loop.onEnd { log.add("end") }
        let messages = Loop.MessagePort<Int> { _ in exitThread() }
        loop.add(messages)
        let exiting: Loop.Item? =
            switch kind {
            case "timer": Loop.Timer(after: .zero) { _ in exitThread() }
            case "source": Loop.Source0 { exitThread() }
            case "port": try Loop.PortSource { _ in exitThread() }
            case "observer": Loop.Observer(.beforeSources) { _, _ in exitThread() }
            default: nil
            }
        if let exiting { loop.add(exiting) }
        switch kind {
        case "block": thread.perform { exitThread() }
        case "messages": messages.send(1)
        default: break
        }
        (exiting as? Loop.Source0)?.signal()
        (exiting as? Loop.PortSource)?.send()
        loop.wakeUp()
        thread.join()
        #expect(loop.waker.descriptor == -1, "closed")
        #expect(log.entries == ["cancelled in default", "cancelled in other", "end"])
        #expect(!loop.add(Loop.Source0 {}) && !thread.perform {} && !messages.send(2))
        thread.stop()
        thread.stop(discardingPending: true)
        thread.join()
    }

    @Test("A timer whose handler exits is called in another loop")
    func laterLoop() throws {
        let (calls, isCalledAgain) = (Count(), Gate())
        let item = Loop.Timer(every: .milliseconds(1)) { _ in
            calls.up()
            if calls.value == 1 { exitThread() }
            isCalledAgain.open()
        }
        let (first, second) = (try LoopThread(name: "first"), try LoopThread(name: "second"))
        first.loop.add(item)
        first.loop.wakeUp()
        first.join()
        second.loop.add(item)
        second.loop.wakeUp()
        isCalledAgain.wait()
        item.invalidate()
        second.stop()
        second.join()
    }

    @Test("A timer that is called once, and whose handler exits, is over")
    func calledOnce() throws {
        let timer = Loop.Timer(after: .zero) { _ in exitThread() }
        let thread = try LoopThread(name: "leaving")
        thread.loop.add(timer)
        thread.join()
        #expect(!timer.isValid)
    }

    // MARK: Hosted loops

    @Test(
        "A hosted loop ends when its thread exits inside a pass",
        arguments: ["block", "timer", "timer of a nested run"])
    func exitsInsideHostedPass(kind: String) throws {
        let log = Log<String>()
        let thread = try System.startThread(stackSize: nil) {
            let loop = Loop.current
            _ = try! loop.hosting.begin()
            let source = Loop.Source0(cancel: { loop, _ in
                let run = loop.currentMode == nil ? "no run" : "a run"
                log.add("cancelled, \(run), \(loop.stopFlag.load(ordering: .relaxed))")
            }) {}
            loop.add(source)
            switch kind {
            case "block": loop.perform { exitThread() }
            case "timer": loop.add(Loop.Timer(after: .zero) { _ in exitThread() })
            default:
                loop.perform {
                    Loop.current.add(Loop.Timer(after: .zero) { _ in exitThread() })
                    Loop.current.run(for: .seconds(3_600))
                }
            }
            while true { loop.hosting.pass() }
        }
        System.join(thread)
        #expect(log.entries == ["cancelled, no run, noRun"])
    }
}
