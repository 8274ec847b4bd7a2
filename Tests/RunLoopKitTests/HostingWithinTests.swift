import Testing

@testable import RunLoopKit

private let bothTriggers = Host.Trigger.allCases

/// Hosts, runs and ends of hosting inside one another.
@Suite struct HostingWithinTests {
    // MARK: The host inside handlers

    @Test(arguments: bothTriggers)
    private func anObserverOfANestedRunThatRunsTheHostHearsOfWhatTheRunHasFetched(_ trigger: Host.Trigger) throws {
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
            // Fetches both. The first is the run's own, and for the second it makes no pass.
            loop.run(mode: .default, for: .seconds(1), returnAfterSourceHandled: true)
        }
        host.serve()
        #expect(log.entries == ["port 2", "observer", "port 1"])
    }

    @Test(arguments: bothTriggers)
    private func aHandlerInANestedRunThatRunsTheHostHearsOfItsTimers(_ trigger: Host.Trigger) throws {
        try onThreadOfItsOwn {
            let loop = Loop.current
            nonisolated(unsafe) let host = try Host(loop, .default, trigger)
            host.serve()
            let log = Log<String>()
            // The nested run arms the timerfd for this one.
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

    @Test(arguments: bothTriggers)
    private func aTimersHandlerThatRunsTheHostHearsOfTheOtherTimersThatAreDue(_ trigger: Host.Trigger) throws {
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

    @Test(arguments: bothTriggers)
    private func aTimerIsArmedWhenTheOneBeforeItHasFired(_ trigger: Host.Trigger) throws {
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

    @Test func anEntryObserverMayRunTheHost() throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop)
        host.serve()
        loop.endHosting()
        let descriptor = host.descriptor
        #expect(!host.isReadable)
        let log = Log<Bool>()
        loop.add(Loop.Observer(.entry) { _, _ in log.add(System.isReadable(descriptor)) }, in: .default)
        _ = try loop.beginHosting()
        #expect(log.entries == [true])
    }

    @Test(arguments: bothTriggers)
    private func anObserverThatRunsTheHostBeforeWaitingHearsOfItsTimer(_ trigger: Host.Trigger) throws {
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

    @Test(arguments: bothTriggers)
    private func virtualTimeStandsStillWhileAHandlerRunsTheHost(_ trigger: Host.Trigger) throws {
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

    @Test(arguments: bothTriggers)
    private func aHandlerOfTheFirstPassThatRunsTheHostHearsOfAPost(_ trigger: Host.Trigger) throws {
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
        loop.endHosting()
    }

    @Test(arguments: bothTriggers)
    private func aHandlerThatRunsTheHostHearsOfAPostAtEveryDepth(_ trigger: Host.Trigger) throws {
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
        loop.endHosting()
    }

    @Test(arguments: bothTriggers)
    private func aMessagesHandlerThatRunsTheHostHearsOfTheOtherMessages(_ trigger: Host.Trigger) throws {
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
        loop.endHosting()
    }

    // MARK: The host inside handlers of a nested run

    @Test(arguments: bothTriggers)
    private func aStopOfANestedRunIsNotTakenByTheHostThatItsHandlerThenRuns(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        nonisolated(unsafe) let host = try Host(loop, .default, trigger)
        host.serve()
        let log = Log<String>()
        // By a handler, and by an observer right before the run would sleep.
        let observer = Loop.Observer(.beforeWaiting, repeats: false) { _, _ in
            loop.stop()
            host.serve()
        }
        loop.add(Loop.Timer(after: .seconds(20)) { _ in }, in: .tracking)
        loop.perform {
            loop.perform(in: .tracking) {
                loop.stop()
                host.serve()
            }
            for _ in 1...2 {
                log.add("\(loop.run(mode: .tracking, for: .seconds(10))) at \(loop.now)")
                loop.add(observer, in: .tracking)
            }
        }
        host.serve()
        #expect(log.entries == ["stopped at \(seconds(0))", "stopped at \(seconds(0))"])
        #expect(!host.results.contains(.stopped))
        loop.endHosting()
    }

    @Test func aStopInAPassInsideANestedRunIsThePassesAndNotTheRuns() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        nonisolated(unsafe) let host = try Host(loop)
        host.serve()
        let log = Log<String>()
        loop.add(Loop.Timer(after: .seconds(20)) { _ in }, in: .tracking)
        loop.perform {
            loop.perform(in: .tracking) {
                loop.perform { loop.stop() }
                log.add("\(loop.hostedPass())")
                // A run inside the pass's handler has stops of its own, too.
                loop.perform {
                    loop.perform(in: .tracking) { loop.stop() }
                    log.add("\(loop.run(mode: .tracking, for: .seconds(10)))")
                }
                host.serve()
            }
            log.add("\(loop.run(mode: .tracking, for: .seconds(10)))")
        }
        host.serve()
        #expect(log.entries == ["stopped", "stopped", "timedOut"])
        loop.endHosting()
    }

    /// With a message the run would make another pass in any case.
    @Test(arguments: bothTriggers, [false, true])
    private func whatIsPostedForANestedRunIsNotForgottenBecauseItsHandlerRunsTheHost(
        _ trigger: Host.Trigger, sends: Bool
    ) throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        nonisolated(unsafe) let host = try Host(loop, .default, trigger)
        host.serve()
        let log = Log<Loop.Instant>()
        let source = Loop.Source0 { log.add(loop.now) }
        loop.add(source, in: .tracking)
        let port = Loop.MessagePort<Int> { _ in log.add(loop.now) }
        loop.add(port, in: .tracking)
        let observer = Loop.Observer(.beforeWaiting, repeats: false) { _, _ in
            if sends { port.send(1) }
            loop.perform(in: .tracking) {
                log.add(loop.now)
                // Seen only in the next pass, too: sources come after blocks, and then the run would sleep.
                loop.perform(in: .tracking) { log.add(loop.now) }
                host.serve()
            }
            source.signal()
            host.serve()
        }
        loop.add(observer, in: .tracking)
        loop.perform { loop.run(mode: .tracking, for: .seconds(10)) }
        host.serve()
        #expect(log.entries == Array(repeating: seconds(0), count: sends ? 4 : 3))
        loop.endHosting()
    }

    @Test(arguments: bothTriggers, [false, true])
    private func theOuterOfTwoRunsIsToldOfWhatAHostWithinTheInnerHasTaken(_ trigger: Host.Trigger, sends: Bool) throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        nonisolated(unsafe) let host = try Host(loop, .default, trigger)
        host.serve()
        let log = Log<String>()
        let port = Loop.MessagePort<Int> { _ in log.add("message at \(loop.now)") }
        loop.add(port, in: .tracking)
        loop.add(Loop.Timer(after: .seconds(20)) { _ in }, in: .tracking)
        let source = Loop.Source0 { log.add("source at \(loop.now)") }
        loop.add(source, in: .tracking)
        loop.add(
            Loop.Observer(.beforeWaiting, repeats: false) { _, _ in
                loop.perform(in: "inner") {
                    loop.perform(in: .tracking) { log.add("block at \(loop.now)") }
                    source.signal()
                    if sends { port.send(1) }
                    host.serve()
                }
                loop.run(mode: "inner", for: .zero)
            }, in: .tracking)
        loop.perform { loop.run(mode: .tracking, for: .seconds(10)) }
        host.serve()
        let expected = sends ? ["block", "message", "source"] : ["block", "source"]
        #expect(log.entries.sorted() == expected.map { "\($0) at \(seconds(0))" })
        loop.endHosting()
    }

    // MARK: Loops that host loops

    /// Which loop runs nested in a handler of which, all on one thread and one clock.
    @Test func loopsThatHostEachOtherOnOneThreadDoNotWaitForEachOther() throws {
        let clock = VirtualClock()
        let (outer, inner) = (Loop(clock: clock), Loop(clock: clock))
        defer { for loop in [outer, inner] { loop.end() } }
        let log = Log<String>()
        let source = try Loop.FileDescriptorSource(try inner.beginHosting()) { _, _ in inner.hostedPass() }
        outer.add(source)
        @Sendable func run(_ name: String, _ loop: Loop, _ mode: Loop.Mode) {
            let result = loop.run(mode: mode, for: .seconds(5))
            log.add("\(name) in \(mode.name): \(result) at \(clock.now.nanoseconds / 1_000_000_000)")
        }
        @Sendable func at(_ second: Int64, on loop: Loop, _ body: @escaping @Sendable () -> Void) {
            loop.add(Loop.Timer(at: seconds(second)) { _ in body() })
        }
        for loop in [outer, inner] { loop.add(Loop.Timer(at: seconds(1000)) { _ in }, in: .tracking) }
        // Between two passes, and inside a pass.
        at(10, on: outer) { run("inner in outer", inner, .default) }
        at(20, on: inner) { run("inner in inner", inner, .tracking) }
        at(30, on: inner) { run("outer in inner", outer, .tracking) }
        // Nobody watches the inner loop while this runs, and it has something to do meanwhile.
        at(40, on: outer) { run("outer in outer", outer, .tracking) }
        at(42, on: inner) { log.add("inner at \(clock.now.nanoseconds / 1_000_000_000)") }
        at(50, on: outer) { outer.stop() }
        #expect(outer.run(mode: .default, until: .distantFuture) == .stopped)
        #expect(
            log.entries == [
                "inner in outer in default: timedOut at 15", "inner in inner in tracking: timedOut at 25",
                "outer in inner in tracking: timedOut at 35", "outer in outer in tracking: timedOut at 45",
                "inner at 45",
            ])
        source.invalidate()
        inner.endHosting()
    }

    /// A loop on another thread counts by itself, whoever sleeps here.
    @Test func aBusyLoopOfAnotherThreadKeepsTheTimeWhileAHostedOneRuns() throws {
        let clock = VirtualClock()
        let thread = try LoopThread(clock: clock)
        let loop = Loop(clock: clock)
        defer { loop.end() }
        let (began, go) = (Gate(), Gate())
        let log = Log<Loop.Instant>()
        thread.perform {
            began.open()
            go.wait()
            log.add(clock.now)
        }
        began.wait()
        let host = try Host(loop)
        loop.add(Loop.Timer(after: .seconds(1)) { _ in }, in: .tracking)
        let other = try System.startThread(stackSize: nil) {
            spin(until: loop.isWaiting && loop.currentMode == .tracking)
            go.open()
        }
        loop.run(mode: .tracking, for: .seconds(3))
        System.join(other)
        #expect(log.entries == [seconds(0)])
        host.serve()
        loop.endHosting()
    }

    @Test func endHostingInAHandlerOfAnotherLoopDoesNotMakeThatCountAsIdle() throws {
        let clock = VirtualClock()
        let (outer, ends, stays) = (Loop(clock: clock), Loop(clock: clock), Loop(clock: clock))
        defer { for loop in [outer, ends, stays] { loop.end() } }
        nonisolated(unsafe) let hosts = try [ends, stays].map { try Host($0) }
        for host in hosts { host.serve() }
        stays.add(Loop.Timer(after: .seconds(5)) { _ in })
        let log = Log<Loop.Instant>()
        outer.perform {
            hosts[1].serve()
            ends.endHosting()
            log.add(clock.now)
        }
        outer.run(mode: .default, for: .zero)
        #expect(log.entries == [seconds(0)])
        stays.endHosting()
    }

    // MARK: Budgets

    @Test func withoutTimeAPassCallsOneHandlerOfEachKind() throws {
        let (loop, _) = Loop.inVirtualTime(.manual)
        let log = Log<String>()
        let sources = (1...3).map { number in Loop.Source0 { log.add("source \(number)") } }
        for source in sources {
            loop.add(source, in: .default)
            source.signal()
        }
        for number in 1...3 { loop.add(Loop.Timer(after: .zero) { _ in log.add("timer \(number)") }, in: .default) }
        _ = try loop.beginHosting()
        for number in 1...3 {
            loop.hostedPass(for: .zero)
            #expect(log.entries.suffix(2) == ["source \(number)", "timer \(number)"])
            #expect(log.entries.count == 2 * number)
        }
    }

    // MARK: Runs between passes

    @Test(arguments: bothTriggers)
    private func virtualTimeGoesOnInARunBetweenPassesAndAfterIt(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let log = Log<String>()
        let host = try Host(loop, .default, trigger)
        host.serve()
        let observer = Loop.Observer([.beforeWaiting, .afterWaiting]) { _, activity in log.add("\(activity)") }
        loop.add(observer, in: .default)
        let tracking = Loop.Timer(after: .seconds(1)) { _ in log.add("tracking") }
        loop.add(tracking, in: .tracking)
        #expect(loop.run(mode: .tracking, for: .seconds(3)) == .finished)
        loop.add(Loop.Timer(after: .seconds(5)) { _ in log.add("default") }, in: .default)
        host.serve()
        #expect(loop.isWaiting)
        #expect(loop.now == seconds(6))
        #expect(
            log.entries == [
                "afterWaiting", "tracking", "beforeWaiting", "afterWaiting", "default", "beforeWaiting",
            ])
    }

    @Test(arguments: bothTriggers)
    private func aRunBeforeTheFirstPassDoesNotTakeItsWakeUp(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let port = try Loop.PortSource { _ in }
        loop.add(port, in: .default)
        let host = try Host(loop, .default, trigger)
        loop.run(mode: .default, for: .zero)
        host.serve()
        #expect(loop.isWaiting)
    }

    @Test func hostingEndsInsideARunBetweenPassesWhenThatReturns() throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop)
        host.serve()
        let log = Log<String>()
        loop.add(Loop.Observer(.exit) { _, _ in log.add("exit") }, in: .default)
        loop.perform(in: .tracking) {
            loop.endHosting()
            log.add("mode \(loop.currentMode!.name), hosted: \(loop.isHosted)")
        }
        loop.run(mode: .tracking, for: .zero)
        #expect(log.entries == ["mode tracking, hosted: true", "exit"])
        #expect(!loop.isHosted)
        #expect(loop.currentMode == nil)
        // It may be hosted, or end.
        _ = try loop.beginHosting()
        loop.endHosting()
        loop.end()
    }

    // MARK: The end

    @Test func whatBeforeWaitingBeganAfterWaitingEndsAlsoWhenHostingEnds() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let host = try Host(loop)
        host.serve()
        loop.add(
            Loop.Observer { _, activity in log.add("\(activity), current: \(Loop.current === loop)") }, in: .default)
        loop.endHosting()
        #expect(log.entries == ["afterWaiting, current: true", "exit, current: true"])
    }

    @Test func aLoopThatIsNoLongerHostedDoesNotHoldUpVirtualTime() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let other = Loop(clock: clock)
        try Host(loop).serve()
        loop.endHosting()
        let log = Log<Loop.Instant>()
        other.add(Loop.Timer(after: .seconds(1)) { _ in log.add(other.now) }, in: .default)
        other.run()
        #expect(log.entries == [seconds(1)])
    }

    @Test func anObserverOfTheEndMayEndHosting() throws {
        for activity in [Loop.Activity.afterWaiting, .exit] {
            let (loop, _) = Loop.inVirtualTime()
            let exits = Count()
            let host = try Host(loop)
            host.serve()
            loop.add(Loop.Observer(activity) { _, _ in loop.endHosting() }, in: .default)
            loop.add(Loop.Observer(.exit) { _, _ in exits.up() }, in: .default)
            loop.endHosting()
            #expect(!loop.isHosted)
            #expect(exits.value == 1)
            loop.end()
        }
    }

    // MARK: Stops

    @Test(arguments: bothTriggers)
    private func aHostThatGoesOnAfterAStopComesToRest(_ trigger: Host.Trigger) throws {
        let (loop, clock) = Loop.inVirtualTime()
        let log = Log<Loop.Instant>()
        let host = try Host(loop, .default, trigger)
        host.serve()
        let hold = clock.hold()
        loop.add(Loop.Timer(after: .seconds(5)) { _ in log.add(loop.now) }, in: .default)
        host.serve()
        loop.stop()
        #expect(loop.hostedPass() == .stopped)
        hold.release()
        // Time does not move before the host has decided to go on.
        #expect(loop.now == seconds(0))
        host.serve()
        #expect(log.entries == [seconds(5)])
        #expect(loop.isWaiting)
    }

    @Test func endingInsideANestedPassDoesNotMakeTheHostSpin() throws {
        let (loop, _) = Loop.inVirtualTime()
        nonisolated(unsafe) let host = try Host(loop)
        host.serve()
        let passes = Log<Int>()
        loop.perform {
            loop.endHosting()
            loop.wakeUp()
            passes.add(host.serve())
        }
        #expect(loop.hostedPass() == .stopped)
        #expect(passes.entries.allSatisfy { $0 < 5 })
        #expect(!loop.isHosted)
    }
}
