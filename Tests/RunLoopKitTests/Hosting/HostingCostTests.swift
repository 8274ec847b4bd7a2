import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// The system calls of a hosted loop, by the loop's counters. In real time, with a host that makes what it is told to.
@Suite(.timeBound) struct HostingCostTests {
    /// A hosted loop on a thread of its own, after its first pass.
    private func hosted(
        _ trigger: Host.Trigger, _ body: @escaping @Sendable (Host, Loop) throws -> Void
    ) throws {
        try onThreadOfItsOwn {
            let host = try Host(Loop.current, .default, trigger)
            host.serve()
            try body(host, Loop.current)
            Loop.current.hosting.end()
        }
    }

    /// What the loop has done while `body` ran.
    private func counts(of loop: Loop, _ body: () throws -> Void) rethrows -> Loop.Counters {
        let before = loop.counters
        try body()
        return loop.counters.since(before)
    }

    @Test("A post on the thread of a host writes the eventfd; if the host says when it sleeps, it makes no system call")
    func ownPosts() throws {
        try hosted(.level) { host, loop in
            let counts = counts(of: loop) {
                loop.perform {}
                host.serve()
            }
            #expect(counts == Loop.Counters(passes: 1, polls: 1, wakeWrites: 1))
        }
        try hosted(.asks) { host, loop in
            // The question after the sleep that comes before the first post.
            loop.perform {}
            host.serve()
            let counts = counts(of: loop) {
                for _ in 1...10 {
                    loop.perform {}
                    #expect(!loop.hosting.willSleep())
                    loop.hosting.pass()
                }
            }
            #expect(counts == Loop.Counters(passes: 10, polls: 1))
        }
    }

    @Test("Posts of another thread write only while a host that says so sleeps")
    func othersPosts() throws {
        try hosted(.asks) { host, loop in
            let log = Log<Int>()
            let whileAwake = try counts(of: loop) {
                try onThreadOfItsOwn { for number in 1...3 { loop.perform { log.add(number) } } }
            }
            #expect(whileAwake.wakeWrites == 0 && !System.isReadable(host.descriptor))
            #expect(host.serve() == 1)

            #expect(loop.hosting.willSleep())
            let whileAsleep = try counts(of: loop) {
                try onThreadOfItsOwn { for number in 4...6 { loop.perform { log.add(number) } } }
            }
            #expect(whileAsleep.wakeWrites == 1 && System.isReadable(host.descriptor))
            #expect(host.serve() == 1)
            #expect(log.entries == [1, 2, 3, 4, 5, 6])
        }
    }

    @Test("A host that is awake for something else loses no note, and finds the loop's work before it sleeps")
    func awakeForSomethingElse() throws {
        try hosted(.asks) { host, loop in
            #expect(loop.hosting.willSleep())
            try onThreadOfItsOwn { loop.perform {} }
            // The host serves something else first, and goes on.
            loop.hosting.didWake()
            #expect(!loop.hosting.willSleep())
            #expect(loop.hosting.timeout == .zero)
            loop.hosting.pass()
            #expect(!host.isReadable && loop.hosting.timeout == nil)
        }
    }

    @Test("A run that has nothing to wait for leaves the notes of other work to the host")
    func emptyRunOfTheProgram() throws {
        try hosted(.asks) { host, loop in
            let log = Log<Int>()
            #expect(loop.hosting.willSleep())
            loop.hosting.didWake()
            try onThreadOfItsOwn { loop.perform { log.add(1) } }
            #expect(loop.run(mode: "empty", for: .zero) == .finished)
            #expect(!loop.hosting.willSleep())
            loop.hosting.pass()
            #expect(log.entries == [1])
        }
    }

    @Test("A host need not say that it is awake: a pass does")
    func passWithoutAWord() throws {
        try hosted(.asks) { _, loop in
            #expect(loop.hosting.willSleep())
            #expect(loop.hosting.pass() == .finished)
            let counts = counts(of: loop) { loop.perform {} }
            #expect(counts.wakeWrites == 0)
            #expect(!loop.hosting.willSleep())
        }
    }

    /// Timers that fire once, so that none is due again on a slow machine.
    @Test("A hosted timer arms the timerfd once and writes nothing", arguments: Host.Trigger.allCases)
    private func timers(_ trigger: Host.Trigger) throws {
        try hosted(trigger) { host, loop in
            let counts = counts(of: loop) {
                for _ in 1...20 {
                    let calls = Count()
                    loop.add(Loop.Timer(after: .milliseconds(1)) { _ in calls.up() })
                    while calls.value == 0 { host.sleepAndServe() }
                    host.serve()
                }
            }
            #expect(counts.wakeWrites == 0)
            #expect(counts.timerArms <= 20)
        }
    }

    @Test("A host that has ended hosting begins anew")
    func hostedAgain() throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            for trigger in [Host.Trigger.asks, .level, .edge, .asks] {
                let host = try Host(loop, .default, trigger)
                let log = Log<Int>()
                try onThreadOfItsOwn { loop.perform { log.add(1) } }
                host.serve()
                #expect(log.entries == [1])
                loop.hosting.end()
            }
            // Runs as ever.
            try onThreadOfItsOwn { loop.perform { loop.stop() } }
            loop.add(Loop.Timer(every: .seconds(3600)) { _ in })
            loop.run()
        }
    }

    /// Under ThreadSanitizer too. Each round ends with a sleep that only the last post ends.
    @Test("No post of many threads is lost to a host that says when it sleeps")
    func manyPosts() throws {
        try hosted(.asks) { host, loop in
            let ran = LoopBound(0, on: loop)
            let senders = try (0..<4).map { _ in try LoopThread() }
            for round in 1...200 {
                for sender in senders { sender.perform { loop.perform { ran.value += 1 } } }
                while ran.value < 4 * round { host.sleepAndServe() }
            }
            for sender in senders {
                sender.stop()
                sender.join()
            }
        }
    }
}
