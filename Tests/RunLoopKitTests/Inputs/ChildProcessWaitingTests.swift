import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Tasks that wait for the end of a child.
@Suite(.timeBound) struct ChildProcessWaitingTests {
    private typealias Child = Loop.ChildProcess

    @Test("Any number of tasks get the exit, beside a handler and without one", arguments: [false, true])
    func awaited(_ hasHandler: Bool) async throws {
        let (thread, log) = (try LoopThread(), Log<Loop.ProcessSource.Exit>())
        let gate = Ends.blockingPipe()
        let child = try Child("sh", ["-c", "read line; exit 3"], input: .descriptor(gate.reader))
        if hasHandler { child.setHandler { _, exit in log.add(exit) } }
        thread.loop.add(child)
        let waiters = (0..<3).map { _ in Task.immediate { try await child.waitForEnd() } }
        gate.hangUp()
        for waiter in waiters { #expect(try await waiter.value == .exited(3)) }
        try await thread.run {}
        #expect(log.entries == (hasHandler ? [.exited(3)] : []) && !child.isValid && !isChild(child.process))
    }

    @Test("An end that came before is kept for the first task that waits")
    func awaitedLate() async throws {
        let thread = try LoopThread()
        let child = try Child("sh", ["-c", "exit 4"])
        thread.loop.add(child)
        waitForEnd(of: child.process)
        #expect(try await child.waitForEnd() == .exited(4))
        #expect(try await child.waitForEnd() == .unknown, "it is invalid now")
    }

    @Test("A task that waits for a child that becomes invalid gets no exit")
    func awaitedAndInvalidated() async throws {
        let child = try Child("sleep", ["1000"])
        let waiter = Task.immediate { try await child.waitForEnd() }
        child.invalidate()
        #expect(try await waiter.value == .unknown)
        #expect(child.signal(SIGKILL))
        spin(until: !isChild(child.process))
    }

    @Test("A cancelled task waits no longer, and the child runs on")
    func cancelledWait() async throws {
        let thread = try LoopThread()
        let child = try Child("sleep", ["1000"])
        thread.loop.add(child)
        let waiter = Task.immediate { try await child.waitForEnd() }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        #expect(child.isValid && isChild(child.process) && child.waiters == nil)
        let second = Task.immediate { try await child.waitForEnd() }
        child.signal(SIGINT)
        #expect(try await second.value == .signalled(SIGINT, coreDumped: false))
    }

    @Test("An end that comes after a cancelled wait is kept, for a task or a handler", arguments: [false, true])
    func endAfterCancelledWait(_ hasHandler: Bool) async throws {
        let (thread, log) = (try LoopThread(), Log<Loop.ProcessSource.Exit>())
        let gate = Ends.blockingPipe()
        let child = try Child("sh", ["-c", "read line; exit 3"], input: .descriptor(gate.reader))
        thread.loop.add(child)
        let waiter = Task.immediate { try await child.waitForEnd() }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        gate.hangUp()
        waitForEnd(of: child.process)
        // The loop looks at the descriptor, and finds nobody who waits.
        for _ in 0..<3 { try await thread.run {} }
        #expect(child.isValid)
        if hasHandler {
            child.setHandler { _, exit in log.add(exit) }
            spin(until: !child.isValid)
        } else {
            log.add(try await child.waitForEnd())
        }
        try await thread.run {}
        #expect(log.entries == [.exited(3)])
    }
}
