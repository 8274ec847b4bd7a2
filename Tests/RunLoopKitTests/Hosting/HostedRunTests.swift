import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

private let bothTriggers = Host.Trigger.allCases

/// Runs of a hosted loop: in its handlers, with the host inside their handlers, and between two passes.
@Suite(.timeBound) struct HostedRunTests {
    // MARK: Between two passes

    @Test("A run between two passes ends at once if the observers of its beginning remove the last item")
    func lastItemLeavesAsARunBegins() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        let source = Loop.Source0 {}
        loop.add(source)
        let host = try Host(loop, .default)
        host.serve()
        loop.add(Loop.Observer(.afterWaiting) { _, _ in source.invalidate() })
        let begin = loop.now
        #expect(loop.run(mode: .default, for: .seconds(10)) == .finished)
        #expect(loop.now == begin)
        host.serve()
        #expect(host.results.last == .finished)
        loop.hosting.end()
    }

    // MARK: The host inside handlers of a nested run

    @Test("A host that a handler runs does not take the stop of the handler's nested run", arguments: bothTriggers)
    private func stopOfANestedRun(_ trigger: Host.Trigger) throws {
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
        loop.hosting.end()
    }

    @Test("A stop in a pass inside a nested run concerns the pass and not the run")
    func stopInAPass() throws {
        let (loop, _) = Loop.inVirtualTime()
        defer { loop.end() }
        nonisolated(unsafe) let host = try Host(loop)
        host.serve()
        let log = Log<String>()
        loop.add(Loop.Timer(after: .seconds(20)) { _ in }, in: .tracking)
        loop.perform {
            loop.perform(in: .tracking) {
                loop.perform { loop.stop() }
                log.add("\(loop.hosting.pass())")
                // A run inside the pass's handler has its own stops, too.
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
        loop.hosting.end()
    }

    /// With a message the run would make another pass in any case.
    @Test("A post for a nested run is not lost when its handler runs the host", arguments: bothTriggers, [false, true])
    private func postForANestedRun(_ trigger: Host.Trigger, sends: Bool) throws {
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
                // Served only in the next pass, too: sources come after blocks, and then the run would sleep.
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
        loop.hosting.end()
    }

    @Test(
        "The outer of two runs learns what a host within the inner run has taken", arguments: bothTriggers,
        [false, true])
    private func outerRunLearnsOfWork(_ trigger: Host.Trigger, sends: Bool) throws {
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
        loop.hosting.end()
    }

    // MARK: Runs between passes

    @Test("Virtual time continues in a run between passes and after it", arguments: bothTriggers)
    private func virtualTimeBetweenPasses(_ trigger: Host.Trigger) throws {
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

    @Test("A run before the first pass does not take the pass's wake-up", arguments: bothTriggers)
    private func runBeforeTheFirstPass(_ trigger: Host.Trigger) throws {
        let (loop, _) = Loop.inVirtualTime()
        let port = try Loop.PortSource { _ in }
        loop.add(port, in: .default)
        let host = try Host(loop, .default, trigger)
        loop.run(mode: .default, for: .zero)
        host.serve()
        #expect(loop.isWaiting)
    }

    @Test("hosting.end inside a run between passes takes effect when the run returns")
    func endHostingInARun() throws {
        let (loop, _) = Loop.inVirtualTime()
        let host = try Host(loop)
        host.serve()
        let log = Log<String>()
        loop.add(Loop.Observer(.exit) { _, _ in log.add("exit") }, in: .default)
        loop.perform(in: .tracking) {
            loop.hosting.end()
            log.add("mode \(loop.currentMode!.name), hosted: \(loop.hosting.isActive)")
        }
        loop.run(mode: .tracking, for: .zero)
        #expect(log.entries == ["mode tracking, hosted: true", "exit"])
        #expect(!loop.hosting.isActive)
        #expect(loop.currentMode == nil)
        // The loop can be hosted again, or end.
        _ = try loop.hosting.begin()
        loop.hosting.end()
        loop.end()
    }
}
