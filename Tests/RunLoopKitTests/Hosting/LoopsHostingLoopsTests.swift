import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Several loops on one virtual clock, one of them hosted by another or by one of its handlers.
@Suite(.timeBound) struct LoopsHostingLoopsTests {
    /// Which loop runs nested in which loop's handler, all on one thread and one clock.
    @Test("Loops that host each other on one thread do not wait for each other")
    func loopsHostEachOther() throws {
        let clock = VirtualClock()
        let (outer, inner) = (Loop(clock: clock), Loop(clock: clock))
        defer { for loop in [outer, inner] { loop.end() } }
        let log = Log<String>()
        let source = try Loop.FileDescriptorSource(try inner.hosting.begin()) { _, _ in inner.hosting.pass() }
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
        // No host watches the inner loop while this runs, and the inner loop gets work meanwhile.
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
        inner.hosting.end()
    }

    /// A loop on another thread counts separately, whichever loop sleeps here.
    @Test("A busy loop of another thread keeps the time while a hosted one runs")
    func busyLoopElsewhere() throws {
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
        loop.hosting.end()
    }

    @Test("hosting.end in a handler of another loop does not make that loop count as idle")
    func endHostingInAnotherLoop() throws {
        let clock = VirtualClock()
        let (outer, ends, stays) = (Loop(clock: clock), Loop(clock: clock), Loop(clock: clock))
        defer { for loop in [outer, ends, stays] { loop.end() } }
        nonisolated(unsafe) let hosts = try [ends, stays].map { try Host($0) }
        for host in hosts { host.serve() }
        stays.add(Loop.Timer(after: .seconds(5)) { _ in })
        let log = Log<Loop.Instant>()
        outer.perform {
            hosts[1].serve()
            ends.hosting.end()
            log.add(clock.now)
        }
        outer.run(mode: .default, for: .zero)
        #expect(log.entries == [seconds(0)])
        stays.hosting.end()
    }
}
