import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

private let bothTriggers = Host.Trigger.allCases

/// Handlers that run the host, stop it, and end the hosting.
@Suite(.timeBound) struct HostingWithinTests {
    // MARK: The host inside handlers

    @Test(
        "An observer of a nested run that runs the host learns of work that the run has fetched",
        arguments: bothTriggers)
    private func observerOfANestedRun(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        nonisolated(unsafe) let host = try Host(loop, .default, trigger)
        let log = Log<String>()
        let ports = try (1...2).map { number in try Loop.PortSource { _ in log.add("port \(number)") } }
        for port in ports { loop.add(port, in: .default) }
        host.serve()
        let observer = Loop.Observer(.afterWaiting, repeats: false) { _, _ in
            host.serve()
            log.add("observer")
        }
        loop.perform {
            loop.add(observer, in: .default)
            for port in ports { port.send() }
            // Fetches both. The run serves the first, and makes no pass for the second.
            loop.run(mode: .default, for: .seconds(1), returnAfterSourceHandled: true)
        }
        host.serve()
        #expect(log.entries == ["port 2", "observer", "port 1"])
    }

    @Test("A handler in a nested run that runs the host learns of its timers", arguments: bothTriggers)
    private func timersOfANestedRun(_ trigger: Host.Trigger) throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            nonisolated(unsafe) let host = try Host(loop, .default, trigger)
            host.serve()
            let log = Log<String>()
            // The nested run arms the timerfd for this timer.
            loop.add(Loop.Timer(after: .seconds(3600)) { _ in }, in: .tracking)
            loop.perform {
                loop.add(Loop.Timer(after: .milliseconds(2)) { _ in log.add("timer") }, in: .default)
                let thread = try! System.startThread(stackSize: nil) {
                    spin(until: loop.isWaiting)
                    loop.perform(in: .tracking) {
                        while log.entries.isEmpty { host.sleepAndServe() }
                        log.add("block")
                        loop.stop()
                    }
                }
                loop.run(mode: .tracking, for: .seconds(7200))
                System.join(thread)
            }
            while log.entries.count < 2 { host.sleepAndServe() }
            #expect(log.entries == ["timer", "block"])
        }
    }

    @Test("A handler that runs the host learns of a block that was hidden from it before", arguments: bothTriggers)
    private func blockThatWasHidden(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        nonisolated(unsafe) let host = try Host(loop, .default, trigger)
        host.serve()
        let log = Log<String>()
        let timer = Loop.Timer(after: .seconds(1)) { _ in
            loop.perform { log.add("block") }
            // The step of this run hides the first block from the pass that the host makes.
            loop.perform(in: .tracking) { host.serve() }
            loop.run(mode: .tracking, for: .zero)
            host.serve()
            log.add("timer")
        }
        loop.add(timer, in: .default)
        host.serve()
        #expect(log.entries == ["block", "timer"])
    }

    @Test("A handler that runs the host learns of a block that the step before has hidden", arguments: bothTriggers)
    private func blockThatAStepHasHidden(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        nonisolated(unsafe) let host = try Host(loop, .default, trigger)
        host.serve()
        let log = Log<String>()
        let source = Loop.Source0 {
            host.serve()
            log.add("source")
        }
        loop.add(source, in: .tracking)
        let timer = Loop.Timer(after: .seconds(1)) { _ in
            loop.perform { log.add("block") }
            // The step hides the first block from the pass that the host makes; the source comes next in the same run.
            loop.perform(in: .tracking) { host.serve() }
            source.signal()
            loop.run(mode: .tracking, for: .zero)
            log.add("timer")
        }
        loop.add(timer)
        host.serve()
        #expect(log.entries == ["block", "source", "timer"])
        loop.hosting.end()
    }

    @Test("A handler that runs the host learns of what a budget has left")
    func restOfABudget() throws {
        let (loop, _) = Loop.inVirtualTime()
        nonisolated(unsafe) let host = try Host(loop, .default, budget: .zero)
        host.serve()
        let log = Log<String>()
        let port = Loop.MessagePort<Int> { _ in
            host.serve()
            log.add("message")
        }
        loop.add(port, in: .default)
        port.send(1)
        for number in 1...3 { loop.perform { log.add("block \(number)") } }
        host.serve()
        #expect(log.entries == ["block 1", "block 2", "block 3", "message"])
    }

    @Test("A timer's handler that runs the host learns of the other timers that are due", arguments: bothTriggers)
    private func otherDueTimers(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        nonisolated(unsafe) let host = try Host(loop, .default, trigger)
        host.serve()
        let log = Log<String>()
        let first = Loop.Timer(after: .seconds(1)) { _ in
            host.serve()
            log.add("first")
        }
        loop.add(first, in: .default)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in log.add("second") }, in: .default)
        host.serve()
        #expect(log.entries == ["second", "first"])
    }

    @Test("A timer is armed when the one before it has fired", arguments: bothTriggers)
    private func timerBehindAnother(_ trigger: Host.Trigger) throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            let host = try Host(loop, .default, trigger)
            host.serve()
            let log = Log<Int>()
            for number in 1...3 {
                loop.add(Loop.Timer(after: .milliseconds(number)) { _ in log.add(number) }, in: .default)
            }
            while log.entries.count < 3 { host.sleepAndServe() }
            #expect(log.entries == [1, 2, 3])
        }
    }

    @Test("An entry observer may run the host")
    func entryObserver() throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop)
        host.serve()
        loop.hosting.end()
        let descriptor = host.descriptor
        #expect(!host.isReadable)
        let log = Log<Bool>()
        loop.add(Loop.Observer(.entry) { _, _ in log.add(System.isReadable(descriptor)) }, in: .default)
        _ = try loop.hosting.begin()
        #expect(log.entries == [true])
    }

    @Test("An observer that runs the host before waiting learns of its timer", arguments: bothTriggers)
    private func beforeWaitingObserver(_ trigger: Host.Trigger) throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            nonisolated(unsafe) let host = try Host(loop, .default, trigger)
            host.serve()
            let log = Log<String>()
            let observer = Loop.Observer(.beforeWaiting, repeats: false) { _, _ in
                loop.add(Loop.Timer(after: .milliseconds(1)) { _ in log.add("timer") }, in: .default)
                while log.entries.isEmpty { host.sleepAndServe() }
                log.add("observer")
            }
            loop.add(observer, in: .default)
            loop.wakeUp()
            host.serve()
            #expect(log.entries == ["timer", "observer"])
        }
    }

    @Test("Virtual time stands still while a handler runs the host", arguments: bothTriggers)
    private func virtualTimeStandsStill(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        nonisolated(unsafe) let host = try Host(loop, .default, trigger)
        let log = Log<Loop.Instant>()
        loop.add(Loop.Timer(after: .seconds(1)) { _ in log.add(loop.now) }, in: .default)
        loop.perform {
            host.serve()
            log.add(loop.now)
        }
        host.serve()
        #expect(log.entries == [seconds(0), seconds(1)])
    }

    @Test("A handler of the first pass that runs the host learns of a post", arguments: bothTriggers)
    private func postInTheFirstPass(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        nonisolated(unsafe) let host = try Host(loop, .default, trigger)
        let log = Log<String>()
        loop.perform {
            loop.perform { log.add("inner") }
            host.serve()
            log.add("outer")
        }
        host.serve()
        #expect(log.entries == ["inner", "outer"])
        loop.hosting.end()
    }

    @Test("A handler that runs the host learns of a post at every depth", arguments: bothTriggers)
    private func postAtEveryDepth(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        nonisolated(unsafe) let host = try Host(loop, .default, trigger)
        host.serve()
        let log = Log<Int>()
        @Sendable func nest(_ depth: Int) {
            if depth < 4 {
                loop.perform { nest(depth + 1) }
                host.serve()
            }
            log.add(depth)
        }
        loop.perform { nest(1) }
        host.serve()
        #expect(log.entries == [4, 3, 2, 1])
        loop.hosting.end()
    }

    @Test("A message's handler that runs the host learns of the other messages", arguments: bothTriggers)
    private func otherMessages(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        nonisolated(unsafe) let host = try Host(loop, .default, trigger)
        host.serve()
        let log = Log<Int>()
        let port = Loop.MessagePort<Int> { number in
            host.serve()
            log.add(number)
        }
        loop.add(port)
        for number in 1...3 { port.send(number) }
        host.serve()
        #expect(log.entries == [3, 2, 1])
        loop.hosting.end()
    }

    // MARK: The end

    @Test("An afterWaiting follows every beforeWaiting, also when hosting ends")
    func activitiesPairUp() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let host = try Host(loop)
        host.serve()
        loop.add(
            Loop.Observer { _, activity in log.add("\(activity), current: \(Loop.current === loop)") }, in: .default)
        loop.hosting.end()
        #expect(log.entries == ["afterWaiting, current: true", "exit, current: true"])
    }

    @Test("A loop that is no longer hosted does not hold up virtual time")
    func noLongerHosted() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let other = Loop(clock: clock)
        try Host(loop).serve()
        loop.hosting.end()
        let log = Log<Loop.Instant>()
        other.add(Loop.Timer(after: .seconds(1)) { _ in log.add(other.now) }, in: .default)
        other.run()
        #expect(log.entries == [seconds(1)])
    }

    @Test("An exit observer may end hosting")
    func exitObserverEndsHosting() throws {
        for activity in [Loop.Activity.afterWaiting, .exit] {
            let (loop, _) = Loop.inVirtualTime()
            let exits = Count()
            let host = try Host(loop)
            host.serve()
            loop.add(Loop.Observer(activity) { _, _ in loop.hosting.end() }, in: .default)
            loop.add(Loop.Observer(.exit) { _, _ in exits.up() }, in: .default)
            loop.hosting.end()
            #expect(!loop.hosting.isActive)
            #expect(exits.value == 1)
            loop.end()
        }
    }

    // MARK: Stops

    @Test("A host that continues after a stop comes to rest", arguments: bothTriggers)
    private func hostAfterAStop(_ trigger: Host.Trigger) throws {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Loop.Instant>()
        let host = try Host(loop, .default, trigger)
        host.serve()
        let hold = clock.hold()
        loop.add(Loop.Timer(after: .seconds(5)) { _ in log.add(loop.now) }, in: .default)
        host.serve()
        loop.stop()
        #expect(loop.hosting.pass() == .stopped)
        hold.release()
        // Time does not pass before the host has decided to continue.
        #expect(loop.now == seconds(0))
        host.serve()
        #expect(log.entries == [seconds(5)])
        #expect(loop.isWaiting)
    }

    @Test("A stop that comes when a pass has looked for stops is for the run whose handler made the pass")
    func stopAtTheEndOfAPass() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        try Host(loop).serve()
        let passes = Log<Loop.HostedResult>()
        let runs = Log<Loop.RunResult>()
        loop.add(Loop.Source0 {})
        loop.perform {
            loop.perform {
                loop.add(Loop.Observer(.beforeWaiting, repeats: false) { _, _ in loop.stop() })
                passes.add(loop.hosting.pass())
            }
            runs.add(loop.run(mode: .default, for: .seconds(10)))
        }
        #expect(loop.hosting.pass() != .stopped)
        #expect(passes.entries == [.idle] && runs.entries == [.stopped] && loop.now == seconds(0))
        loop.hosting.end()
    }

    @Test("Ending inside a nested pass does not make the host spin")
    func endInANestedPass() throws {
        let (loop, _) = Loop.inVirtualTime()
        nonisolated(unsafe) let host = try Host(loop)
        host.serve()
        let passes = Log<Int>()
        loop.perform {
            loop.hosting.end()
            loop.wakeUp()
            passes.add(host.serve())
        }
        #expect(loop.hosting.pass() == .stopped)
        #expect(passes.entries.allSatisfy { $0 < 5 })
        #expect(!loop.hosting.isActive)
    }
}
