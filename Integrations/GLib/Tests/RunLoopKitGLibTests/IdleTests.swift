import CRunLoopKitGLib
import Foundation
import RunLoopKit
import RunLoopKitGLib
import Synchronization
import TestSupport
import Testing

/// What a context does between events: nothing. Its poll function is replaced by one that counts.
@Suite(.timeBound, .serialized) struct IdleTests {
    @Test("An idle loop makes no pass and its context no poll until something happens")
    func idle() throws {
        let context = TestContext()
        let passes = Log<Int>()
        Polls.reset()
        g_main_context_set_poll_func(context.pointer) { Polls.poll($0, $1, $2) }
        let poster = try LoopThread(name: "poster")
        try onAnotherThread {
            let loop = Loop.current
            let attachment = try loop.attach(to: context.context)
            // The loop has much to wait for.
            let timer = Loop.Timer(every: .seconds(3600)) { _ in }
            let port = try Loop.PortSource { _ in }
            loop.add(timer)
            loop.add(port)
            context.serve()
            Polls.reset()
            for number in 1...3 {
                // Posted when the context sleeps, without a time limit and with nothing ready.
                poster.perform {
                    Polls.waitForSleep(number)
                    loop.perform { passes.add(loop.counters.passes) }
                }
                context.serve(until: passes.entries.count == number)
            }
            attachment.detach()
        }
        // One sleep, one event, one pass: three times.
        #expect(Polls.counts == Polls.Counts(sleeps: 3, others: 0))
        let first = try #require(passes.entries.first)
        #expect(passes.entries == [first, first + 1, first + 2])
    }
}

/// What the loop costs the context between polls.
@Suite(.timeBound) struct PostCostTests {
    @Test("A post on the context's own thread makes no system call, also one of a source of GLib")
    func ownPosts() throws {
        let context = TestContext()
        let log = Log<Int>()
        try onAnotherThread {
            let loop = Loop.current
            let attachment = try loop.attach(to: context.context)
            context.serve()
            let before = loop.counters
            for number in 1...3 {
                loop.perform { log.add(number) }
                #expect(context.serve() == 1)
            }
            let idle = g_idle_source_new()
            let post: GSourceFunc = { log in
                let log = Unmanaged<Log<Int>>.fromOpaque(log!).takeUnretainedValue()
                Loop.current.perform { log.add(4) }
                return 0
            }
            g_source_set_callback(idle, post, Unmanaged.passUnretained(log).toOpaque(), nil)
            g_source_attach(idle, context.pointer)
            context.serve()
            #expect(loop.counters.wakeWrites == before.wakeWrites)
            // Once after each sleep of the context.
            #expect(loop.counters.polls <= before.polls + 4)
            attachment.detach()
        }
        #expect(log.entries == [1, 2, 3, 4])
    }

    @Test("Posts of many threads all run while the context sleeps and wakes")
    func othersPosts() throws {
        let context = TestContext()
        let log = Log<Int>()
        try onAnotherThread {
            let loop = Loop.current
            let attachment = try loop.attach(to: context.context)
            let senders = try (0..<3).map { _ in try LoopThread() }
            for round in 1...100 {
                for sender in senders { sender.perform { loop.perform { log.add(round) } } }
                context.serve(until: log.entries.count == 3 * round)
            }
            attachment.detach()
        }
        #expect(log.entries.count == 300)
    }
}

/// The polls of a context.
private enum Polls {
    struct Counts: Equatable {
        /// Without a time limit, and with nothing ready when they began.
        var sleeps = 0
        var others = 0
    }

    private static let shared = Mutex(Counts())
    static var counts: Counts { shared.withLock { $0 } }

    static func reset() { shared.withLock { $0 = Counts() } }

    static func poll(_ requests: UnsafeMutablePointer<GPollFD>?, _ count: guint, _ timeout: gint) -> gint {
        // A GPollFD has the layout of a pollfd.
        let sleeps = timeout == -1 && g_poll(requests, count, 0) == 0
        shared.withLock { if sleeps { $0.sleeps += 1 } else { $0.others += 1 } }
        return g_poll(requests, count, timeout)
    }

    /// Waits until so many sleeps have begun.
    static func waitForSleep(_ number: Int) {
        while counts.sleeps < number { Thread.sleep(forTimeInterval: 0.0001) }
    }
}
