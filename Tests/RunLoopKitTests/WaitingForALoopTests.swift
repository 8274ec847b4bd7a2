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
        #expect(try loop.performAndWait { loop.isOnOwnThread })
        #expect(try loop.performAndWait(for: .seconds(3600)) { 3 } == 3)
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
        try thread.performAndWait { thread.loop.run(mode: "another mode", for: .zero) }
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
        thread.join()
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

    @Test("A cancelled task withdraws a block that has not begun")
    func cancelled() async throws {
        let thread = try LoopThread(name: "worker")
        let loop = thread.loop
        let task = Task { try await loop.run(in: "another mode") {} }
        // A mode exists once a block was posted for it. Not by spinning: the task needs a thread of the pool.
        await eventually(loop.modes.contains("another mode"))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(Loop.NoAnswer.timeIsUp(thread: "t", hasBegun: false).description.contains("did not begin"))
    }
}
