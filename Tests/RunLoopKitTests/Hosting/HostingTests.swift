import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Runs `body` on another thread, and waits until it has returned.
private func elsewhere(_ body: @escaping @Sendable () -> Void) throws { try onThreadOfItsOwn(body) }

private let bothTriggers = Host.Trigger.allCases

@Suite(.timeBound) struct HostingTests {
    // MARK: What makes the descriptor readable

    @Test("The first pass comes by itself, and then it is quiet", arguments: bothTriggers)
    private func firstPass(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop, .default, trigger)
        #expect(host.serve() == 1)
        #expect(host.results == [.finished])
        #expect(!host.isReadable)
        #expect(loop.hosting.timeout == nil)
        loop.hosting.end()
    }

    @Test("A post from another thread is served", arguments: bothTriggers)
    private func postFromAnotherThread(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop, .default, trigger)
        host.serve()
        let log = Log<Int>()
        for number in 1...3 {
            try elsewhere { loop.perform { log.add(number) } }
            #expect(loop.hosting.timeout == .zero)
            #expect(host.serve() == 1)
            #expect(log.entries.last == number)
        }
        loop.hosting.end()
    }

    @Test("A timer added between passes is served", arguments: bothTriggers)
    private func timerBetweenPasses(_ trigger: Host.Trigger) throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            let host = try Host(loop, .default, trigger)
            host.serve()
            let log = Log<String>()
            loop.add(Loop.Timer(after: .seconds(3600)) { _ in log.add("late") }, in: .default)
            #expect(!host.isReadable)
            #expect(try #require(loop.hosting.timeout) > .seconds(3000))

            loop.add(Loop.Timer(after: .milliseconds(1)) { _ in log.add("own thread") }, in: .default)
            while log.entries.isEmpty { host.sleepAndServe() }
            try elsewhere {
                loop.add(Loop.Timer(after: .milliseconds(1)) { _ in log.add("other thread") }, in: .default)
            }
            while log.entries.count < 2 { host.sleepAndServe() }
            #expect(log.entries == ["own thread", "other thread"])
            host.serve()
            #expect(!host.isReadable)
        }
    }

    @Test("Timers keep their times", arguments: bothTriggers)
    private func timersKeepTheirTimes(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop, .default, trigger)
        let log = Log<Loop.Instant>()
        let timer = Loop.Timer(every: .seconds(1)) { firing in
            log.add(loop.now)
            if log.entries.count == 4 { firing.timer.invalidate() }
        }
        loop.add(timer, in: .default)
        loop.add(Loop.Timer(after: .milliseconds(1500)) { _ in log.add(loop.now) }, in: .default)
        host.serve()
        #expect(log.entries == [1_000_000_000, 1_500_000_000, 2_000_000_000, 3_000_000_000])
        #expect(host.results.last == .finished)
    }

    @Test("A wake-up alone in a handler gives the host another pass", arguments: bothTriggers)
    private func wakeUpInAHandler(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop, .default, trigger)
        let passes = Count()
        loop.add(Loop.Observer(.beforeTimers) { _, _ in passes.up() })
        host.serve()
        let before = (host.results.count, passes.value)
        loop.add(Loop.Timer(after: .zero) { _ in loop.wakeUp() })
        #expect(host.serve() == 2)
        #expect(host.results.dropFirst(before.0) == [.more, .finished])
        #expect(passes.value == before.1 + 2)
        loop.hosting.end()
    }

    @Test("A send to a port is served", arguments: bothTriggers)
    private func sendToAPort(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop, .default, trigger)
        let counts = Log<Int>()
        let port = try Loop.PortSource { counts.add($0) }
        loop.add(port, in: .default)
        host.serve()
        #expect(host.results.last == .idle)
        try elsewhere { for _ in 1...3 { port.send() } }
        #expect(host.serve() == 1)
        #expect(counts.entries == [3])
    }

    @Test("Many ports ready at once are all served", arguments: bothTriggers)
    private func manyPorts(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop, .default, trigger)
        let served = Log<Int>()
        // More than one fetch from the kernel returns.
        let ports = try (0..<3 * Poller.capacity).map { number in try Loop.PortSource { _ in served.add(number) } }
        for port in ports { loop.add(port, in: .default) }
        host.serve()
        for port in ports { port.send() }
        host.serve()
        #expect(served.entries == Array(ports.indices))
        #expect(!host.isReadable)
    }

    @Test("A stop is not lost", arguments: bothTriggers)
    private func stopIsNotLost(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop, .default, trigger)
        loop.stop()
        host.serve()
        #expect(host.results.contains(.stopped))
        #expect(!host.isReadable)
        try elsewhere { loop.stop() }
        #expect(host.isReadable)
        #expect(loop.hosting.pass() == .stopped)
        host.serve()
        #expect(loop.hosting.pass() == .finished)
    }

    @Test("A signalled source is served", arguments: bothTriggers)
    private func signalledSource(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop, .default, trigger)
        let count = Count()
        let source = Loop.Source0 { count.up() }
        loop.add(source, in: .default)
        host.serve()
        try elsewhere { source.signal() }
        host.serve()
        #expect(count.value == 1)
        // As in CF, a signal without a wake-up waits for another reason to make a pass.
        source.signal(wake: false)
        #expect(!host.isReadable)
        loop.wakeUp()
        host.serve()
        #expect(count.value == 2)
    }

    @Test("Posts of handlers are served too", arguments: bothTriggers)
    private func postsOfHandlers(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop, .default, trigger)
        let log = Log<Int>()
        @Sendable func post(_ number: Int, wake: Bool) {
            loop.perform(wake: wake) {
                log.add(number)
                if number < 5 { post(number + 1, wake: !wake) }
            }
        }
        post(1, wake: true)
        host.serve()
        #expect(log.entries == [1, 2, 3, 4, 5])
        #expect(!host.isReadable)
    }

    @Test("Work from before hosting begins is served", arguments: bothTriggers)
    private func workBeforeHosting(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let port = try Loop.PortSource { _ in log.add("port") }
        loop.add(port, in: .default)
        loop.perform { log.add("block") }
        port.send()
        let host = try Host(loop, .default, trigger)
        host.serve()
        #expect(log.entries == ["block", "port"])
    }

    // MARK: One long run

    @Test("The host does the sleeping of one long run")
    func hostSleeps() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let observer = Loop.Observer { _, activity in log.add("\(activity)") }
        loop.add(observer, in: .default)
        let host = try Host(loop)
        host.serve()
        #expect(loop.currentMode == .default)
        #expect(loop.isWaiting)
        #expect(loop.hosting.isActive)
        loop.perform { log.add("block, waiting: \(loop.isWaiting)") }
        host.serve()
        loop.hosting.end()
        #expect(
            log.entries == [
                "entry", "beforeTimers", "beforeSources", "beforeWaiting",
                "afterWaiting", "beforeTimers", "beforeSources", "block, waiting: false", "beforeWaiting",
                "afterWaiting", "exit",
            ])
        #expect(loop.currentMode == nil)
        #expect(!loop.isWaiting)
        #expect(!loop.hosting.isActive)
    }

    @Test("A wake-up before waiting makes another pass", arguments: bothTriggers)
    private func wakeUpBeforeWaiting(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop, .default, trigger)
        host.serve()
        let log = Log<String>()
        loop.add(Loop.Observer(.beforeWaiting, repeats: false) { _, _ in loop.wakeUp() }, in: .default)
        loop.add(Loop.Observer(.beforeTimers) { _, _ in log.add("pass") }, in: .default)
        loop.wakeUp()
        host.serve()
        #expect(log.entries.count == 2)
    }

    @Test("A mode of its own can be hosted")
    func modeOfItsOwn() throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let common = try Loop.PortSource { _ in log.add("common") }
        let own = try Loop.PortSource { _ in log.add("default") }
        loop.addCommonMode(.tracking)
        loop.add(common, in: .common)
        loop.add(own, in: .default)
        let host = try Host(loop, .tracking)
        own.send()
        common.send()
        loop.perform(in: .default) { log.add("block for default") }
        host.serve()
        #expect(log.entries == ["common"])
        loop.hosting.end()
        let other = try Host(loop, .default)
        #expect(other.descriptor != host.descriptor)
        other.serve()
        #expect(log.entries == ["common", "block for default", "default"])
    }

    @Test("hosting.end inside a pass takes effect when the pass returns")
    func endHostingInAPass() throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop)
        let log = Log<String>()
        loop.add(Loop.Observer(.exit) { _, _ in log.add("exit") }, in: .default)
        loop.perform {
            loop.hosting.end()
            log.add("still hosted: \(loop.hosting.isActive)")
        }
        loop.perform { log.add("the rest of the pass") }
        #expect(loop.hosting.pass() == .stopped)
        #expect(log.entries == ["still hosted: true", "the rest of the pass", "exit"])
        #expect(!loop.hosting.isActive)
        // The loop runs as any other again.
        loop.perform { log.add("run") }
        #expect(loop.run(mode: .default, for: .zero) == .timedOut)
        #expect(log.entries.contains("run"))
        _ = host
    }

    @Test("A hosted loop does not retain itself")
    func hostingRetainsNothing() throws {
        weak var remains: Loop?
        try {
            let (loop, _) = Loop.inVirtualTime()
            remains = loop
            try Host(loop).serve()
        }()
        #expect(remains == nil)
    }

    // MARK: Runs within runs

    @Test("A run between passes loses nothing", arguments: bothTriggers)
    private func runBetweenPasses(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<Int>()
        let ports = try (1...3).map { number in try Loop.PortSource { _ in log.add(number) } }
        for port in ports { loop.add(port, in: .default) }
        let host = try Host(loop, .default, trigger)
        host.serve()
        for port in ports { port.send() }
        // Fetches all three and serves one.
        loop.run(mode: .default, for: .zero)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in log.add(4) }, in: .default)
        host.serve()
        #expect(log.entries == [1, 2, 3, 4])
    }

    @Test("A nested run loses nothing", arguments: bothTriggers)
    private func nestedRun(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let host = try Host(loop, .default, trigger)
        host.serve()
        loop.add(Loop.Timer(after: .seconds(5)) { _ in log.add("timer") }, in: .default)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in loop.stop() }, in: .tracking)
        loop.perform {
            loop.perform { log.add("posted before the nested run") }
            loop.run(mode: .tracking, for: .seconds(10))
            log.add("nested run ended")
        }
        host.serve()
        #expect(log.entries == ["nested run ended", "posted before the nested run", "timer"])
        #expect(loop.now == seconds(5))
    }

    @Test("A handler may run the host", arguments: bothTriggers)
    private func handlerRunsTheHost(_ trigger: Host.Trigger) throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            nonisolated(unsafe) let host = try Host(loop, .default, trigger)
            host.serve()
            let log = Log<String>()
            // A modal dialogue: the loop serves everything else while the handler waits.
            let ports = try (1...2).map { number in try Loop.PortSource { _ in log.add("port \(number)") } }
            let modal = try Loop.PortSource { _ in
                loop.add(Loop.Timer(after: .milliseconds(1)) { _ in log.add("timer") }, in: .default)
                let thread = try! System.startThread(stackSize: nil) {
                    loop.perform { log.add("post") }
                }
                while log.entries.count < 4 { host.sleepAndServe() }
                System.join(thread)
                log.add("modal ended")
            }
            for port in [modal] + ports { loop.add(port, in: .default) }
            for port in [modal] + ports { port.send() }
            while !log.entries.contains("modal ended") { host.sleepAndServe() }
            #expect(Set(log.entries) == ["port 1", "port 2", "timer", "post", "modal ended"])
            host.serve()
            #expect(!host.isReadable)
        }
    }

    // MARK: Time

    @Test("The timeout is the time until the next timer")
    func timeout() throws {
        let (loop, clock) = Loop.inVirtualTime(.manual)
        _ = try loop.hosting.begin()
        while loop.hosting.pass() == .more {}
        #expect(loop.hosting.timeout == nil)
        loop.add(Loop.Timer(after: .seconds(2), tolerance: .seconds(1)) { _ in }, in: .default)
        loop.hosting.pass()
        #expect(loop.hosting.timeout == .seconds(3))
        clock.advance(by: .seconds(3))
        #expect(loop.hosting.timeout == .zero)
        loop.hosting.pass()
        #expect(loop.hosting.timeout == nil)
    }

    @Test("The host serves manual time that another thread advances")
    func manualTime() throws {
        let clock = VirtualClock(.manual)
        let log = Log<Loop.Instant>()
        let isReady = Gate()
        let ends = Count()
        let end = try Loop.PortSource { _ in ends.up() }
        let thread = try System.startThread(stackSize: nil) {
            let loop = Loop(clock: clock)
            loop.add(Loop.Timer(every: .seconds(1)) { _ in log.add(loop.now) }, in: .default)
            loop.add(end, in: .default)
            loop.perform { isReady.open() }
            let host = try! Host(loop)
            while ends.value == 0 { host.sleepAndServe() }
            loop.hosting.end()
            loop.end()
        }
        isReady.wait()
        clock.advance(by: .seconds(3))
        #expect(log.entries == [seconds(1), seconds(2), seconds(3)])
        end.send()
        System.join(thread)
    }

    // MARK: Stress

    @Test("Many posters lose nothing", arguments: bothTriggers)
    private func manyPosters(_ trigger: Host.Trigger) throws {
        try onThreadOfItsOwn {
            let (threads, posts) = (4, 500)
            let loop = Loop.current
            let host = try Host(loop, .default, trigger)
            let (blocks, sends) = (Count(), Count())
            let port = try Loop.PortSource { sends.upBy($0) }
            loop.add(port, in: .default)
            let posters = try (0..<threads).map { _ in
                try System.startThread(stackSize: nil) {
                    for _ in 0..<posts {
                        loop.perform { blocks.up() }
                        port.send()
                    }
                }
            }
            // Sleeps for ever if a wake-up is lost.
            while blocks.value < threads * posts || sends.value < threads * posts { host.sleepAndServe() }
            for poster in posters { System.join(poster) }
            host.serve()
            #expect(!host.isReadable)
        }
    }
}
