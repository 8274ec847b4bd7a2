import Foundation
import LoopTestSupport
import RunLoopKit
import TestSupport
import Testing

@Suite(.timeBound) struct ExplanationTests {
    @Test("An item that cannot be called has the reason said: invalid, in no mode, elsewhere, or an ended loop")
    func itemThatCannotBeCalled() {
        let (loop, _) = Loop.inVirtualTime()
        let (other, clock) = Loop.inVirtualTime()
        let timer = Loop.Timer(every: .seconds(1)) { _ in }
        #expect(loop.explain(timer) == .notAdded(isElsewhere: false))
        other.add(timer)
        #expect(loop.explain(timer) == .notAdded(isElsewhere: true))
        #expect(other.explain(timer) == .loopDoesNotRun)
        let source = Loop.Source0()
        other.add(source)
        #expect(other.explain(source) == .disarmed("no handler is set (order 0, not signalled)"))
        other.end()
        clock.advance(by: .milliseconds(1500))
        let ended = other.explain(timer)
        #expect(ended == .loopHasEnded(ago: .milliseconds(1500)))
        #expect("\(ended)" == "The loop ended 1.5 seconds ago: add it to the loop of a thread that runs.")
        timer.invalidate()
        #expect(loop.explain(timer) == .invalid)
    }

    @Test("An item in a mode that does not run is explained by both modes")
    func itemInAnotherMode() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let timer = Loop.Timer(every: .seconds(1)) { _ in }
        loop.add(timer, in: .tracking)
        let explanations = Log<String>()
        loop.perform { explanations.add("\(loop.explain(timer))") }
        loop.run(mode: .default, for: .zero)
        #expect(
            explanations.entries == [
                "It is in mode 'tracking', and the loop runs in mode 'default': add it to that mode, or to the common "
                    + "modes."
            ])
    }

    @Test("An item in the running mode is explained by what it waits for")
    func itemInTheRunningMode() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let later = Loop.Timer(after: .seconds(1)) { _ in }
        let never = Loop.Timer(every: .seconds(1)) { _ in }
        let source = Loop.Source0 {}
        let port = Loop.MessagePort<Int> { _ in }
        let explanations = Log<Loop.Explanation>()
        let firing = Loop.Timer(after: .zero) { explanations.add(loop.explain($0.timer)) }
        for item in [later, never, source, port, firing] as [Loop.Item] { loop.add(item) }
        never.nextFireTime = nil
        port.disarm()
        loop.perform {
            source.signal()
            for item in [later, never, source, port] as [Loop.Item] { explanations.add(loop.explain(item)) }
        }
        loop.run(mode: .default, for: .zero)
        #expect(
            explanations.entries == [
                .waits("fires in 1.0 seconds"), .disarmed("no fire time, every 1.0 seconds"),
                .ready("order 0, signalled"), .disarmed("0 waiting, disarmed"), .inHandler,
            ])
    }

    @Test("Every kind of item prints one line with its label or its place, its state and its modes")
    func itemsPrintOneLine() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let timer = Loop.Timer(every: .seconds(1)) { _ in }
        let line = #line - 1
        #expect(
            "\(timer)" == "timer (RunLoopKitTests/ExplanationTests.swift:\(line)): 1.0 seconds after it is added, "
                + "every 1.0 seconds, in no mode")
        timer.label = "heartbeat"
        loop.add(timer)
        loop.add(timer, in: .tracking)
        #expect("\(timer)" == "timer \"heartbeat\": fires in 1.0 seconds, every 1.0 seconds, in default, tracking")
        timer.invalidate()
        #expect("\(timer)" == "timer \"heartbeat\": invalid")
        let pipe = Ends.pipe()
        let items: [Loop.Item] = [
            Loop.Source0 {}, Loop.Observer(.entry) { _, _ in }, try Loop.PortSource { _ in },
            Loop.MessagePort<Int>(capacity: 3) { _ in }, try Loop.FileDescriptorSource(pipe.reader) { _, _ in },
            try Loop.ProcessSource(ProcessInfo.processInfo.processIdentifier) { _, _ in },
        ]
        for item in items { item.label = "x" }
        #expect(
            items.map { "\($0)".replacing(/\d{3,}|descriptor \d+/) { _ in "N" } } == [
                "source 0 \"x\": order 0, not signalled, in no mode",
                "observer \"x\": entry, order 0, in no mode",
                "port source \"x\": 0 sends waiting, in no mode",
                "message port of Int \"x\": 0 waiting of 3, in no mode",
                "N \"x\": read, level-triggered, in no mode",
                "process source \"x\": process N, in no mode",
            ])
    }

    @Test("A loop prints the runs that a nested run suspends")
    func nestedRunsAreShown() {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let pages = Log<String>()
        loop.perform {
            loop.perform(in: .tracking) { pages.add("\(loop)") }
            loop.run(mode: .tracking, for: .zero)
        }
        loop.run(mode: .default, for: .zero)
        #expect(pages.entries[0].contains(": running in tracking, in a handler of default\n"))
    }

    @Test("A thread and a limiter print one line")
    func threadAndLimiter() throws {
        let thread = try LoopThread(name: "printed")
        spin(until: thread.loop.isWaiting)
        #expect("\(thread)" == "LoopThread \"printed\": waiting in default")
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let debounce = Debounce<Int>(interval: .seconds(2), on: loop) { _ in }
        #expect("\(debounce)" == "Debounce<Int>: interval 2.0 seconds, no call is pending")
        debounce(1)
        #expect(
            "\(debounce)"
                == "Debounce<Int>: interval 2.0 seconds, a call is pending. The loop does not run: its thread "
                + "has to call run(). A LoopThread does so by itself.")
        let keyed = KeyedThrottle<Int, Int>(interval: .seconds(1), on: loop) { _, _ in }
        #expect("\(keyed)" == "KeyedThrottle<Int, Int>: interval 1.0 seconds. No timer runs.")
    }

    @Test("A signal source says who has its signal now, if other code has installed a handler since")
    func replacedSignalHandler() async {
        await #expect(processExitsWith: .success) {
            func explanation(_ source: Loop.SignalSource) -> String {
                let (loop, log) = (Loop.current, Log<String>())
                loop.perform { log.add("\(loop.explain(source))") }
                loop.run(mode: .default, for: .zero)
                return log.entries[0]
            }
            let source = try Loop.SignalSource(SIGUSR2) { _, _ in }
            let both = try Loop.SignalSource([SIGUSR1, SIGUSR2]) { _, _ in }
            Loop.current.add(source)
            Loop.current.add(both)
            precondition(explanation(source) == "It waits: signal \(SIGUSR2).")
            signal(SIGUSR2, SIG_IGN)
            let words = "other code has set that since the source was added"
            precondition(explanation(source) == "It waits: signal \(SIGUSR2), which is ignored: \(words).")
            precondition(explanation(both).hasSuffix("\(SIGUSR2), of which \(SIGUSR2) is ignored: \(words)."))
            signal(SIGUSR2, SIG_DFL)
            precondition(explanation(source).contains(", which has its default effect: other code "))
            signal(SIGUSR2) { _ in }
            precondition(explanation(source).contains(", which goes to the handler "))
            precondition(explanation(source).hasSuffix(": other code has set that since the source was added."))
            source.invalidate()
            precondition(explanation(both).contains(" goes to the handler "))
            _exit(0)
        }
    }
}
