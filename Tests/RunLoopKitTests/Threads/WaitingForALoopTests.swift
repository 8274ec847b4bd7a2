import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// `performAndWait` and `run` of a loop. Those of a `LoopThread` have tests of their own.
@Suite(.timeBound) struct WaitingForALoopTests {
    private struct Refusal: Error {}

    @Test("The caller gets the result, or the error")
    func result() async throws {
        let thread = try LoopThread(name: "worker")
        let loop = thread.loop
        #expect(try loop.performBlocking { loop.isOnOwnThread })
        #expect(try loop.performBlocking(for: .seconds(3600)) { 3 } == 3)
        #expect(try thread.performBlocking(for: .seconds(3600)) { 3 } == 3)
        #expect(try await loop.run { loop.isOnOwnThread })
        #expect(throws: Refusal.self) { try loop.performAndWait { throw Refusal() } }
        await #expect(throws: Refusal.self) { try await loop.run { throw Refusal() } }
    }

    @Test("On the loop's own thread the block runs at once")
    func onOwnThread() throws {
        let loop = Loop(clock: VirtualClock())
        #expect(try loop.performAndWait { 3 } == 3)
        loop.end()
    }

    @Test("A block that has not begun when the time is up never begins")
    func neverBegins() throws {
        let thread = try LoopThread(name: "worker")
        let ran = Count()
        #expect(throws: Loop.NoAnswer.timeIsUp(thread: "worker", hasBegun: false)) {
            try thread.loop.performAndWait(in: "another mode", for: .milliseconds(1)) { ran.up() }
        }
        #expect(throws: Loop.NoAnswer.timeIsUp(thread: "worker", hasBegun: false)) {
            try thread.performAndWait(in: "another mode", for: .milliseconds(1)) { ran.up() }
        }
        #expect(try thread.performAndWait { thread.loop.run(mode: "another mode", for: .zero) } == .finished)
        #expect(ran.value == 0)
    }

    @Test("A block that has begun when the time is up continues")
    func continues() throws {
        let thread = try LoopThread(name: "worker")
        let (mayEnd, ended) = (Gate(), Gate())
        let (errors, isUp) = (Log<Loop.NoAnswer>(), Gate())
        try inParallel(
            {
                do {
                    try thread.loop.performAndWait(for: .milliseconds(20)) {
                        mayEnd.wait()
                        ended.open()
                    }
                } catch {
                    if let error = error as? Loop.NoAnswer { errors.add(error) }
                }
                isUp.open()
            },
            {
                isUp.wait()
                mayEnd.open()
            })
        // On a busy machine the time may be up before the block begins.
        let hasBegun = errors.entries == [.timeIsUp(thread: "worker", hasBegun: true)]
        #expect(hasBegun || errors.entries == [.timeIsUp(thread: "worker", hasBegun: false)])
        if hasBegun { ended.wait() }
    }

    @Test("The end of the loop answers, before and after")
    func end() async throws {
        let thread = try LoopThread(name: "worker")
        let loop = thread.loop
        let answer = Task { try await loop.run(in: "another mode") {} }
        // A mode exists once a block was posted for it. Not by spinning: the task needs a thread of the pool.
        await eventually(loop.modes.contains("another mode"))
        thread.stop(discardingPending: true)
        thread.joinBlocking()
        await #expect(throws: Loop.NoAnswer.loopHasEnded(thread: "worker")) { try await answer.value }
        #expect(throws: Loop.NoAnswer.loopHasEnded(thread: "worker")) { try loop.performAndWait {} }
    }

    @Test("Threads that would wait for each other get an error, with a limit too")
    func ring() throws {
        let (one, other) = (try LoopThread(name: "one"), try LoopThread(name: "other"))
        let error = try one.performAndWait {
            try other.loop.performAndWait {
                #expect(throws: LoopThread.WaitRing.self) { try one.loop.performAndWait(for: .seconds(3600)) {} }
                return "found"
            }
        }
        #expect(error == "found")
    }

    /// Both `run` methods that take a time limit.
    private func runs(
        of thread: LoopThread
    ) -> [@Sendable (Loop.Mode, Duration, @escaping @Sendable () -> Int) async throws -> Int] {
        [
            { mode, limit, block in try await thread.run(in: mode, for: limit, block) },
            { mode, limit, block in try await thread.loop.run(in: mode, for: limit, block) },
        ]
    }

    @Test("A task gets its result, or the error of a thread that was stopped, before its time is up")
    func taskInTime() async throws {
        let thread = try LoopThread(name: "worker")
        for run in runs(of: thread) { #expect(try await run(.common, .seconds(3600)) { 3 } == 3) }
        thread.stop()
        thread.joinBlocking()
        await #expect(throws: LoopThread.Stopped(thread: "worker")) { try await thread.run(for: .seconds(3600)) {} }
        await #expect(throws: Loop.NoAnswer.loopHasEnded(thread: "worker")) {
            try await thread.loop.run(for: .seconds(3600)) {}
        }
    }

    @Test("A block for which a task's time is up before it begins never begins")
    func taskGivesUp() async throws {
        let thread = try LoopThread(name: "worker")
        let ran = Count()
        for run in runs(of: thread) {
            for limit in [Duration.milliseconds(1), .zero, .seconds(-1)] {
                await #expect(throws: Loop.NoAnswer.timeIsUp(thread: "worker", hasBegun: false)) {
                    try await run("another mode", limit) { ran.up() }
                }
            }
        }
        try thread.performBlocking { _ = Loop.current.run(mode: "another mode", for: .zero) }
        #expect(ran.value == 0)
    }

    @Test("A task whose time is up continues beside its block")
    func taskLeaves() async throws {
        let thread = try LoopThread(name: "worker")
        for run in runs(of: thread) {
            let (mayEnd, ended) = (Gate(), Count())
            var (hasBegun, limit) = (false, Duration.milliseconds(10))
            // On a busy machine the time may be up before the block begins.
            while !hasBegun {
                limit *= 2
                do {
                    _ = try await run(.common, limit) {
                        mayEnd.wait()
                        return ended.up()
                    }
                    Issue.record("The block cannot have ended.")
                } catch Loop.NoAnswer.timeIsUp("worker", let began) {
                    hasBegun = began
                }
            }
            #expect(ended.value == 0)
            mayEnd.open()
            await eventually(ended.value == 1)
        }
    }

    @Test("A limit that is over the largest time is none")
    func hugeLimit() async throws {
        let thread = try LoopThread(name: "worker")
        for run in runs(of: thread) { #expect(try await run(.common, .seconds(Int64.max)) { 3 } == 3) }
        #expect(try thread.performBlocking(for: .seconds(Int64.max)) { 3 } == 3)
    }

    @Test("A limit that was not needed leaves nothing behind")
    func limitsLeaveNothing() async throws {
        let thread = try LoopThread(name: "worker")
        for _ in 0..<1000 { try await thread.run(for: .seconds(3600)) {} }
        let timer = try TimeLimits.shared.timer(after: .seconds(3600)) {}
        defer { timer.invalidate() }
        let loop = try #require(timer.allModes.first?.loop)
        // Other tests have some.
        #expect(loop.lock.withLock { loop.defaultState.timers.all.count } < 500)
    }

    /// Neither the time limit nor the cancellation begins the work, whichever comes first.
    @Test("Work that was cancelled when its time was up has not begun")
    func limitAndCancellation() async throws {
        let thread = try LoopThread(name: "worker")
        let mayEnd = Gate()
        thread.perform { mayEnd.wait() }
        for round in 0..<200 {
            let task = Task { try await thread.run(for: .microseconds(200)) { _ = Issue.record("It never begins.") } }
            leaveProcessor(forMicroseconds: UInt32(150 + round % 100))
            task.cancel()
            do {
                try await task.value
            } catch let error as Loop.NoAnswer {
                #expect(error == .timeIsUp(thread: "worker", hasBegun: false))
            } catch {
                #expect(error is CancellationError)
            }
        }
        mayEnd.open()
    }

    @Test("A cancelled task withdraws a block that has not begun, with a limit too")
    func cancelledWithLimit() async throws {
        let thread = try LoopThread(name: "worker")
        let loop = thread.loop
        let task = Task { try await loop.run(in: "another mode", for: .seconds(3600)) {} }
        await eventually(loop.modes.contains("another mode"))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("A cancelled task withdraws a block that has not begun")
    func cancelled() async throws {
        let thread = try LoopThread(name: "worker")
        let loop = thread.loop
        let task = Task { try await loop.run(in: "another mode") {} }
        // A mode exists once a block was posted for it. Not by spinning: the task needs a thread of the pool.
        await eventually(loop.modes.contains("another mode"))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // It has left the loop.
        #expect(try thread.performBlocking { loop.run(mode: "another mode", for: .zero) } == .finished)
        #expect(Loop.NoAnswer.timeIsUp(thread: "t", hasBegun: false).description.contains("did not begin"))
    }
}
