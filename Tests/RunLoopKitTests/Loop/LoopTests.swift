import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// What ConformanceTests cannot compare: features that CF lacks, and invalid input.
@Suite(.timeBound) struct LoopTests {
    // MARK: Whose loop

    @Test("Every thread has one loop")
    func oneLoopPerThread() throws {
        let a = try LoopThread()
        let b = try LoopThread()
        let loops = try [
            a.performAndWait { Loop.current }, a.performAndWait { Loop.current }, b.performAndWait { Loop.current },
        ]
        #expect(loops[0] === loops[1] && loops[0] === a.loop)
        #expect(loops[2] === b.loop && loops[2] !== loops[0])
        #expect(!a.loop.isOnOwnThread)
        #expect(try a.performAndWait { a.loop.isOnOwnThread && !b.loop.isOnOwnThread })
        #expect(Loop.main === Loop.main)
    }

    @Test("A virtual loop is the current one inside its handlers")
    func virtualLoopIsCurrent() {
        let (loop, _) = Loop.inVirtualTime()
        let inner = Loop(clock: VirtualClock())
        let seen = Log<ObjectIdentifier>()
        inner.perform { seen.add(ObjectIdentifier(Loop.current)) }
        loop.perform {
            seen.add(ObjectIdentifier(Loop.current))
            inner.run(mode: .default, for: .zero)
            seen.add(ObjectIdentifier(Loop.current))
        }
        loop.run(mode: .default, for: .zero)
        #expect(seen.entries == [loop, inner, loop].map(ObjectIdentifier.init))
        #expect(Loop.current !== loop)
    }

    // MARK: Results of add and perform

    @Test("add returns whether the item is in the mode")
    func addReturnsMembership() throws {
        let (loop, _) = Loop.inVirtualTime()
        let items: [Loop.Item] = [
            Loop.Source0 {}, try Loop.PortSource { _ in }, Loop.Timer(after: .seconds(1)) { _ in },
            Loop.Observer { _, _ in },
        ]
        for item in items {
            #expect(loop.add(item, in: .default))
            #expect(loop.add(item, in: .default), "twice changes nothing")
            #expect(loop.contains(item, in: .default) && !loop.contains(item, in: "other"))
            #expect(loop.add(item, in: .common))
            #expect(loop.contains(item, in: .common))
            loop.remove(item, in: "other")
            loop.remove(item, in: "nowhere")
            item.invalidate()
            item.invalidate()
            #expect(!item.isValid)
            #expect(!loop.contains(item, in: .default) && !loop.contains(item, in: .common))
            #expect(!loop.add(item, in: .default), "an invalid item is refused")
            #expect(!loop.add(item, in: .common))
            loop.remove(item, in: .default)
        }
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
        #expect(loop.modes == [.default])
    }

    @Test("Timers and observers are in one loop at a time, sources in many")
    func loopsOfAnItem() throws {
        let clock = VirtualClock()
        let (one, two) = (Loop(clock: clock), Loop(clock: clock))
        for item in [Loop.Timer(after: .seconds(1)) { _ in }, Loop.Observer { _, _ in }] as [Loop.Item] {
            #expect(one.add(item, in: .default))
            #expect(!two.add(item, in: .default) && !two.add(item, in: .common))
            #expect(!two.contains(item, in: .default))
            one.remove(item, in: .default)
            #expect(two.add(item, in: .default))
        }
        let source = Loop.Source0 {}
        let port = try Loop.PortSource { _ in }
        for item in [source, port] as [Loop.Item] {
            #expect(one.add(item, in: .default) && two.add(item, in: .default))
            item.invalidate()
            #expect(!one.contains(item, in: .default) && !two.contains(item, in: .default))
        }
    }

    @Test("A source in two loops is performed by the first that looks")
    func sourceInTwoLoops() throws {
        let clock = VirtualClock()
        let (one, two) = (Loop(clock: clock), Loop(clock: clock))
        let performed = Log<ObjectIdentifier>()
        let source = Loop.Source0 { performed.add(ObjectIdentifier(Loop.current)) }
        let port = try Loop.PortSource { _ in performed.add(ObjectIdentifier(Loop.current)) }
        for loop in [one, two] {
            loop.add(source, in: .default)
            loop.add(port, in: .default)
        }
        source.signal()
        port.send()
        for loop in [two, one, two] { loop.run(mode: .default, for: .zero) }
        #expect(performed.entries == [two, two].map(ObjectIdentifier.init))
    }

    @Test("A port counts its sends")
    func portCountsSends() throws {
        let (loop, _) = Loop.inVirtualTime()
        let counts = Log<Int>()
        let port = try Loop.PortSource { counts.add($0) }
        port.send()
        port.send()
        loop.add(port, in: .default)
        loop.run(mode: .default, for: .zero)
        port.send()
        loop.run(mode: .default, for: .zero)
        loop.run(mode: .default, for: .zero)
        #expect(counts.entries == [2, 1])
        port.invalidate()
        port.send()
        #expect(counts.entries == [2, 1])
    }

    @Test("An event of a port that has left is not taken for another's")
    func eventOfARemovedPort() throws {
        let (loop, _) = Loop.inVirtualTime()
        let served = Log<String>()
        let late = try Loop.PortSource { _ in served.add("late") }
        let leaves = try Loop.PortSource { _ in served.add("leaves") }
        let first = try Loop.PortSource { _ in
            served.add("first")
            // Takes the place of the other port in the loop's table, while that port's event waits to be served.
            leaves.invalidate()
            Loop.current.add(late, in: .default)
            late.send()
        }
        let last = try Loop.PortSource { _ in served.add("last") }
        for port in [first, leaves, last] {
            loop.add(port, in: .default)
            port.send()
        }
        for _ in 0..<4 { loop.run(mode: .default, for: .zero) }
        #expect(served.entries == ["first", "last", "late"])
    }

    /// A nested run that serves a port when the wake-up for the outer run's work comes must not keep it from the outer
    /// run.
    @Test("A wake-up during a nested run's callout reaches the outer run")
    func wakeUpInANestedRun() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let times = Log<Loop.Instant>()
        let port = try Loop.PortSource { _ in Loop.current.perform { times.add(Loop.current.now) } }
        loop.add(port, in: "modal")
        loop.add(Loop.Source0 {}, in: .default)
        loop.perform {
            port.send()
            Loop.current.run(mode: "modal", for: .seconds(1))
        }
        loop.run(mode: .default, for: .seconds(100))
        #expect(times.entries == [seconds(1)] && clock.now == seconds(100))
        // The same from a beforeWaiting observer, for a source.
        let source = Loop.Source0 { times.add(Loop.current.now) }
        let signaller = try Loop.PortSource { _ in source.signal() }
        loop.add(source, in: .default)
        loop.add(signaller, in: "modal")
        loop.add(
            Loop.Observer(.beforeWaiting, repeats: false) { _, _ in
                signaller.send()
                Loop.current.run(mode: "modal", for: .seconds(1))
            }, in: .default)
        loop.run(mode: .default, for: .seconds(100))
        #expect(times.entries == [seconds(1), seconds(101)])
    }

    @Test("Every source is notified of leaving, also when another one invalidates it")
    func cancelIsAlwaysCalled() {
        let log = Log<String>()
        let (loop, _) = Loop.inVirtualTime()
        let second = Loop.Source0(cancel: { _, _ in log.add("second") }, perform: {})
        let first = Loop.Source0(
            cancel: { _, _ in
                log.add("first")
                second.invalidate()
            }, perform: {})
        loop.add(first, in: .default)
        loop.add(second, in: .default)
        loop.end()
        #expect(log.entries == ["first", "second"])
        // And of every mode, if it invalidates itself at the first.
        let (other, _) = Loop.inVirtualTime()
        other.addCommonMode("joined")
        let own = Log<Loop.Source0>()
        own.add(
            Loop.Source0(
                cancel: { _, mode in
                    log.add("\(mode)")
                    own.entries[0].invalidate()
                }, perform: {}))
        other.add(own.entries[0], in: .common)
        other.remove(own.entries[0], in: .common)
        #expect(log.entries == ["first", "second", "default", "joined"])
    }

    @Test("A poll whose leftovers are stale asks the kernel")
    func staleLeftovers() throws {
        let log = Log<String>()
        let (loop, _) = Loop.inVirtualTime()
        let ports = try ["p", "q", "r"].map { name in try Loop.PortSource { _ in log.add(name) } }
        for port in ports { loop.add(port, in: .default) }
        ports[0].send()
        ports[1].send()
        loop.run(mode: .default, for: .zero)
        loop.remove(ports[1], in: .default)
        ports[2].send()
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == ["p", "r"])
    }

    @Test("A wake-up that a run did not reach is not for the next run")
    func laterWakeUp() throws {
        let log = Log<String>()
        let (loop, _) = Loop.inVirtualTime()
        let port = try Loop.PortSource { _ in log.add("port") }
        loop.add(port, in: .default)
        let observer = Loop.Observer(.beforeWaiting) { _, _ in
            Loop.current.stop()
            port.send()
        }
        loop.add(observer, in: .default)
        #expect(loop.run(mode: .default, for: .seconds(5)) == .stopped)
        observer.invalidate()
        port.send()
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == ["port", "port"])
    }

    @Test("A stop of a nested run is no wake-up for the outer run")
    func stopOfANestedRun() throws {
        let passes = Count()
        let (loop, _) = Loop.inVirtualTime()
        let inner = try Loop.PortSource { _ in Loop.current.stop() }
        loop.add(inner, in: "inner")
        loop.add(Loop.Source0 {}, in: .default)
        loop.add(Loop.Observer(.beforeWaiting) { _, _ in passes.up() }, in: .default)
        loop.perform {
            inner.send()
            Loop.current.run(mode: "inner", for: .seconds(1))
        }
        loop.run(mode: .default, for: .seconds(1))
        #expect(passes.value == 1)
    }

    @Test("Blocks that were withdrawn between two others leave no room, and the others run in their order")
    func withdrawnBetween() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let ran = Log<Int>()
        let blocks = (0..<300).map { number in loop.performCancellable { ran.add(number) } }
        for number in 1..<250 { #expect(blocks[number]?.withdraw() == true) }
        loop.perform { ran.add(300) }
        loop.run(mode: .default, for: .zero)
        #expect(ran.entries == [0] + Array(250...300))
    }

    @Test("A block can be withdrawn until it begins")
    func withdrawnBlock() throws {
        let (loop, _) = Loop.inVirtualTime()
        let ran = Log<String>()
        let first = try #require(loop.performCancellable { ran.add("first") })
        let second = try #require(loop.performCancellable { ran.add("second") })
        #expect(second.withdraw())
        #expect(!second.withdraw())
        #expect(loop.run(mode: .default, for: .zero) == .timedOut)
        #expect(!first.withdraw())
        #expect(ran.entries == ["first"])
        // A block discarded with its loop cannot be withdrawn any more.
        let ended = Loop(clock: VirtualClock())
        let dropped = try #require(ended.performCancellable {})
        ended.end()
        #expect(!dropped.withdraw())
        // A block that keeps a run going no longer does when it is withdrawn.
        let only = try #require(loop.performCancellable { ran.add("only") })
        only.withdraw()
        #expect(loop.run(mode: .default, for: .seconds(1)) == .finished)
    }

    @Test("A block can be withdrawn inside a drain")
    func withdrawnInADrain() throws {
        let (loop, _) = Loop.inVirtualTime()
        let ran = Log<String>()
        let handles = Log<Loop.PendingBlock>()
        loop.perform { for handle in handles.entries { #expect(handle.withdraw()) } }
        handles.add(try #require(loop.performCancellable { ran.add("later") }))
        handles.add(try #require(loop.performCancellable(in: "other") { ran.add("other") }))
        #expect(loop.run(mode: .default, for: .zero) == .timedOut)
        #expect(loop.run(mode: "other", for: .seconds(1)) == .finished)
        #expect(ran.entries == [])
    }

    @Test("A block is released before the next one runs")
    func blockIsReleased() {
        let (loop, _) = Loop.inVirtualTime()
        final class Thing: Sendable {}
        let log = Log<Bool>()
        weak nonisolated(unsafe) var thing: Thing?
        do {
            let made = Thing()
            thing = made
            loop.perform { log.add(withExtendedLifetime(made) { true }) }
        }
        loop.perform { log.add(thing == nil) }
        loop.run(mode: .default, for: .zero)
        #expect(log.entries == [true, true])
    }

    // MARK: The default mode

    @Test("add uses the default mode by default")
    func addDefaultMode() {
        let (loop, _) = Loop.inVirtualTime()
        let source = Loop.Source0 {}
        #expect(loop.add(source))
        #expect(loop.contains(source, in: .default) && !loop.contains(source, in: .common))
    }

    @Test("remove uses the default mode by default")
    func removeDefaultMode() {
        let (loop, _) = Loop.inVirtualTime()
        let source = Loop.Source0 {}
        for mode in [Loop.Mode.default, .tracking] { loop.add(source, in: mode) }
        loop.remove(source)
        #expect(!loop.contains(source, in: .default) && loop.contains(source, in: .tracking))
    }

    @Test("contains uses the default mode by default")
    func containsDefaultMode() {
        let (loop, _) = Loop.inVirtualTime()
        let (here, there) = (Loop.Source0 {}, Loop.Source0 {})
        loop.add(here, in: .default)
        loop.add(there, in: .tracking)
        #expect(loop.contains(here) && !loop.contains(there))
    }

    @Test("A run for a duration is in the default mode by default")
    func runForDefaultMode() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let modes = Log<Loop.Mode?>()
        loop.add(Loop.Timer(every: .seconds(1)) { _ in modes.add(loop.currentMode) }, in: .default)
        #expect(loop.run(for: .milliseconds(2500)) == .timedOut)
        #expect(modes.entries == [.default, .default] && loop.now == Loop.Instant(nanoseconds: 2_500_000_000))
        loop.perform { modes.add(nil) }
        #expect(loop.run(for: .seconds(1), returnAfterSourceHandled: true) == .timedOut)
        #expect(modes.entries.count == 4, "the block, and the timer at three seconds")
    }

    @Test("A run until an instant is in the default mode by default")
    func runUntilDefaultMode() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let modes = Log<Loop.Mode?>()
        loop.add(Loop.Timer(every: .seconds(1)) { _ in modes.add(loop.currentMode) }, in: .default)
        #expect(loop.run(until: seconds(3)) == .timedOut)
        #expect(loop.now == seconds(3) && modes.entries == [.default, .default, .default])
        #expect(loop.run(until: seconds(3)) == .timedOut, "a pass that does not sleep")
    }

    // MARK: Times at the limits

    @Test("A timeout of zero or less never blocks", arguments: [Duration.zero, .seconds(-1), .nanoseconds(-1)])
    func zeroTimeout(_ timeout: Duration) throws {
        let (loop, clock) = Loop.inVirtualTime()
        loop.add(Loop.Timer(after: .seconds(1)) { _ in Issue.record("fired") }, in: .default)
        #expect(loop.run(mode: .default, for: timeout) == .timedOut)
        #expect(loop.run(mode: .default, until: clock.now) == .timedOut)
        #expect(loop.run(mode: .default, until: .distantPast) == .timedOut)
        #expect(clock.now == seconds(0))
        #expect(loop.counters.waits == 0)
    }

    @Test("Huge timeouts never pass")
    func hugeTimeouts() throws {
        let (loop, clock) = Loop.inVirtualTime()
        for huge in [Duration(secondsComponent: .max, attosecondsComponent: 0), .nanoseconds(Int64.max)] {
            loop.add(Loop.Timer(after: .seconds(10_000_000)) { _ in Loop.current.stop() }, in: .default)
            #expect(loop.run(mode: .default, for: huge) == .stopped)
        }
        loop.add(Loop.Timer(after: .seconds(10_000_000)) { _ in }, in: .default)
        #expect(loop.run(mode: .default, until: .distantFuture) == .finished)
        #expect(clock.now == seconds(30_000_000))
    }

    @Test("An outer run times out although a nested run slept past its deadline")
    func outerRunTimesOut() {
        let (loop, clock) = Loop.inVirtualTime()
        loop.add(Loop.Source0 {}, in: .default)
        loop.add(Loop.Source0 {}, in: "nested")
        loop.perform { Loop.current.run(mode: "nested", for: .seconds(10)) }
        #expect(loop.run(mode: .default, for: .seconds(5)) == .timedOut)
        #expect(clock.now == seconds(10))
    }

    @Test("A timer due at the end of a run still fires")
    func timerAtTheEnd() {
        let (loop, _) = Loop.inVirtualTime()
        let count = Count()
        loop.add(Loop.Timer(every: .seconds(1)) { _ in count.up() }, in: .default)
        #expect(loop.run(mode: .default, until: seconds(3)) == .timedOut)
        #expect(count.value == 3)
    }

    // MARK: Errors and traps

    @Test("Running a loop on another thread traps and says so")
    func runOnAnotherThread() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let thread = try! LoopThread()
            thread.loop.run(mode: .default, for: .zero)
        }
        expect(result, says: ["Loop.run was called on a thread that the loop does not belong to", "perform(in:_:)"])
    }

    @Test("Accessing a LoopBound value on another loop traps and says so")
    func loopBoundElsewhere() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let thread = try! LoopThread()
            let box = LoopBound(1, on: thread.loop)
            try! thread.performBlocking { box.value += 1 }
            print(box.value)
        }
        expect(result, says: ["LoopBound<Int>", "other than its loop's"])
    }

    @Test("Running in common is reported once on standard error")
    func runInCommon() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let loop = Loop.current
            loop.add(Loop.Source0 {}, in: .common)
            for _ in 0..<3 { precondition(loop.run(mode: .common, for: .seconds(1)) == .finished) }
        }
        let text = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        #expect(text.components(separatedBy: "cannot run in the mode 'common'").count == 2)
    }

    // MARK: Description

    @Test("The description shows the modes and their items")
    func description() throws {
        let (loop, _) = Loop.inVirtualTime()
        let line = #line
        let source = Loop.Source0(order: 3) {}
        let port = try Loop.PortSource { _ in }
        port.send()
        loop.add(source, in: .default)
        loop.add(port, in: .default)
        loop.add(Loop.Timer(every: .seconds(2)) { _ in }, in: .default)
        loop.add(Loop.Observer([.entry], repeats: false, order: 1) { _, _ in }, in: .tracking)
        source.signal()
        loop.perform {}
        port.label = "wake"
        let file = "RunLoopKitTests/LoopTests.swift"
        #expect(
            "\(loop)".split(separator: "\": ", maxSplits: 1)[1] == """
                not running; 1 block posted
                  default (common)
                    source 0 (\(file):\(line + 1)): order 3, signalled
                    port source "wake": 1 sends waiting
                    timer (\(file):\(line + 6)): fires in 2.0 seconds, every 2.0 seconds
                  tracking
                    observer (\(file):\(line + 7)): entry, order 1, once
                """)
        let inside = Log<String>()
        loop.perform { inside.add("\(Loop.current)") }
        loop.run(mode: .default, for: .zero)
        #expect(inside.entries[0].contains(": running in default\n"))
    }
}

/// Expects that a process has written some texts to the standard error.
func expect(_ result: ExitTest.Result?, says texts: [String], sourceLocation: SourceLocation = #_sourceLocation) {
    let output = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    for text in texts { #expect(output.contains(text), sourceLocation: sourceLocation) }
}
