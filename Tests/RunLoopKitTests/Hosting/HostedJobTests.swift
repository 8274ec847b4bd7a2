import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// Jobs of Swift concurrency on a loop that a foreign one hosts.
@Suite(.timeBound) struct HostedJobTests {
    private actor Guest {
        nonisolated let loop: Loop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        private(set) var calls = 0

        init(_ loop: Loop) { self.loop = loop }

        func call() { calls += 1 }
    }

    /// Jobs that are enqueued before the host first serves the loop.
    private func enqueue(_ count: Int, on loop: Loop, _ job: @escaping @Sendable () -> Void) {
        for _ in 0..<count { Task(executorPreference: loop.taskExecutor) { job() } }
    }

    @Test("A job makes the descriptor readable, and then it is quiet")
    func jobMakesItReadable() throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop)
        host.serve()
        let ran = Count()
        enqueue(1, on: loop) { ran.up() }
        #expect(host.isReadable)
        host.serve()
        #expect(ran.value == 1 && !host.isReadable)
        loop.hosting.end()
        loop.end()
    }

    @Test("A hosted pass runs three drains at most")
    func drainsPerPass() throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop)
        let ran = Count()
        enqueue(10 * Loop.jobsPerDrain, on: loop) { ran.up() }
        var served: [Int] = []
        while host.isReadable {
            let before = ran.value
            loop.hosting.pass()
            served.append(ran.value - before)
        }
        #expect(ran.value == 10 * Loop.jobsPerDrain)
        #expect(served.max()! <= 3 * Loop.jobsPerDrain)
        loop.hosting.end()
        loop.end()
    }

    /// A pass checks its budget after every callout, and a job is one: sixteen jobs would take too long in a frame.
    @Test("A budget that is spent ends a drain")
    func spentBudget() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let host = try Host(loop)
        host.serve()
        let ran = Count()
        enqueue(10, on: loop) {
            ran.up()
            clock.advance(by: .milliseconds(3))
        }
        var served: [Int] = []
        while host.isReadable {
            let before = ran.value
            loop.hosting.pass(for: .milliseconds(4))
            served.append(ran.value - before)
        }
        #expect(ran.value == 10)
        #expect(served.filter { $0 > 0 } == [2, 2, 2, 2, 2])
        loop.hosting.end()
        loop.end()
    }

    /// Also if the time never suffices for sixteen.
    @Test("A job of low priority does not wait for ever under a small budget")
    func lowPriority() throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop)
        host.serve()
        let (low, high, isOver) = (Gate(), Count(), Gate())
        Task(executorPreference: loop.taskExecutor, priority: .background) { low.open() }
        for _ in 0..<2 {
            Task(executorPreference: loop.taskExecutor, priority: .userInitiated) {
                while !isOver.isOpenNow {
                    high.up()
                    await Task.yield()
                }
            }
        }
        while !low.isOpenNow, high.value < 1000 { loop.hosting.pass(for: .zero) }
        // A yield is two jobs.
        #expect(high.value < Loop.jobsPerDrain)
        isOver.open()
        host.serve()
        loop.hosting.end()
        loop.end()
    }

    @Test("An actor can be accessed in hosted passes and between them")
    func actorAccess() throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop)
        let guest = Guest(loop)
        loop.add(Loop.Timer(after: .seconds(1), isolation: guest) { guest, _ in guest.call() }, in: .default)
        loop.perform { guest.assumeIsolated { $0.call() } }
        host.serve()
        guest.assumeIsolated { $0.call() }
        #expect(guest.assumeIsolated { $0.calls } == 3)
        loop.hosting.end()
        loop.end()
    }
}
