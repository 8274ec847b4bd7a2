import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

/// Wake-ups that a nested run takes although they are for the run around it.
@Suite(.timeBound) struct NestedWakeUpTests {
    private enum Moment: CaseIterable { case insideTheInnermostRun, beforeTheInnermostRun }

    @Test("A wake-up reaches the outermost run through two nested ones", arguments: Moment.allCases)
    private func wakeUpReachesOuterRun(_ moment: Moment) {
        let (loop, clock) = Loop.inVirtualTime()
        let served = Log<Loop.Instant>()
        @Sendable func post() { loop.perform(in: .default) { served.add(clock.now) } }
        @Sendable func runInnermost() {
            loop.perform(in: "innermost") { if moment == .insideTheInnermostRun { post() } }
            loop.run(mode: "innermost", for: .zero)
        }
        // The run has drained its blocks, and sleeps next.
        let observer = Loop.Observer(.beforeWaiting, repeats: false) { _, _ in
            loop.perform(in: "inner") {
                switch moment {
                case .insideTheInnermostRun: runInnermost()
                case .beforeTheInnermostRun:
                    post()
                    // After the wait of this pass, which takes the wake-up.
                    loop.perform(in: "inner") { runInnermost() }
                }
            }
            loop.run(mode: "inner", for: .zero)
        }
        loop.add(observer)
        loop.add(Loop.Timer(after: .seconds(3600)) { _ in })
        #expect(loop.run(mode: .default, for: .seconds(7200)) == .finished)
        #expect(served.entries == [seconds(0)], "and not when something else wakes the loop")
    }

    /// Such a run has never waited, and takes no wake-up.
    @Test("A wake-up during a nested run that an entry observer stops ends the wait of the outer run")
    func stoppedAtEntry() {
        let (loop, clock) = Loop.inVirtualTime()
        let waits = Log<Loop.Instant>()
        let entry = Loop.Observer(.entry) { _, _ in
            loop.stop()
            loop.wakeUp()
        }
        loop.add(entry, in: "inner")
        loop.add(Loop.Timer(after: .seconds(3600)) { _ in }, in: "inner")
        loop.perform { #expect(loop.run(mode: "inner", for: .seconds(1)) == .stopped) }
        loop.add(Loop.Observer(.afterWaiting) { _, _ in waits.add(clock.now) })
        loop.add(Loop.Timer(after: .seconds(3600)) { _ in })
        #expect(loop.run(mode: .default, for: .seconds(7200)) == .finished)
        #expect(waits.entries == [seconds(0), seconds(3600)])
        loop.end()
    }

    /// Between the wait of a nested run and its next pass wake-ups mean nothing to it, and a third run takes them.
    @Test("A wake-up that a third run takes as it begins reaches the outermost run")
    func thirdRunBegins() {
        let (loop, clock) = Loop.inVirtualTime()
        let served = Log<Loop.Instant>()
        loop.perform { loop.run(mode: "inner", for: .seconds(1)) }
        let observer = Loop.Observer(.afterWaiting, repeats: false) { _, _ in
            loop.perform { served.add(clock.now) }
            loop.run(mode: "innermost", for: .zero)
        }
        loop.add(observer, in: "inner")
        loop.add(Loop.Timer(after: .milliseconds(500)) { _ in }, in: "inner")
        loop.add(Loop.Timer(after: .seconds(3600)) { _ in }, in: "innermost")
        loop.add(Loop.Timer(after: .seconds(3600)) { _ in })
        #expect(loop.run(mode: .default, for: .seconds(7200)) == .finished)
        #expect(
            served.entries == [Loop.Instant(nanoseconds: 500_000_000)], "and not when something else wakes the loop")
    }

    /// A pass that handled a source polls, and the next pass looks for all work anyway.
    @Test("A wake-up that a nested run took concerns no later pass")
    func wakeUpOfEarlierPass() {
        let (loop, clock) = Loop.inVirtualTime()
        defer { loop.end() }  // Its handlers keep it.
        let served = Log<Loop.Instant>()
        let source = Loop.Source0 {
            loop.wakeUp()
            loop.run(mode: "inner", for: .seconds(1))
        }
        loop.add(Loop.Timer(after: .seconds(3600)) { _ in }, in: "inner")
        loop.add(source)
        source.signal()
        let observer = Loop.Observer(.beforeWaiting, repeats: false) { _, _ in
            loop.perform(in: .default, wake: false) { served.add(clock.now) }
        }
        loop.add(observer)
        loop.run(mode: .default, for: .seconds(10))
        #expect(served.entries == [seconds(10)], "not before the time is up: no call woke the loop")
    }

    /// It has missed a wake-up while a port was left over.
    @Test("A run that makes up for a wake-up leaves none to a nested run of one pass")
    func madeUpWakeUp() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let log = Log<String>()
        let first = try Loop.PortSource { _ in
            log.add("first")
            guard log.entries.count == 1 else { return }
            // A block of a block runs at the beginning of the next pass. The run in it takes the wake-up of the post.
            loop.perform {
                loop.perform {
                    loop.perform(in: "inner") { loop.perform(in: .default) { log.add("block") } }
                    loop.run(mode: "inner", for: .zero)
                }
            }
        }
        let second = try Loop.PortSource { _ in
            first.send()
            loop.run(mode: .default, for: .zero)
            log.add("second")
        }
        for port in [first, second] {
            loop.add(port)
            port.send()
        }
        loop.run(mode: .default, for: .seconds(1))
        #expect(log.entries == ["first", "block", "first", "second"])
    }

    @Test(
        "A wake-up that a nested run takes, for the last item that has left, ends the outer run",
        arguments: [nil, .entry, .beforeTimers, .beforeSources, .beforeWaiting] as [Loop.Activity?])
    func wakeUpForTheLastItem(_ activity: Loop.Activity?) {
        let (loop, clock) = Loop.inVirtualTime()
        let last = Loop.Timer(after: .seconds(3600)) { _ in }
        loop.add(last)
        let runNested: @Sendable () -> Void = {
            loop.perform(in: "inner") {
                // As another thread does that retires it.
                last.invalidate()
                loop.wakeUp()
            }
            loop.run(mode: "inner", for: .zero)
        }
        if let activity {
            loop.add(Loop.Observer(activity, repeats: false) { _, _ in runNested() })
        } else {
            loop.perform(runNested)
        }
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(clock.now == seconds(0))
    }
}
