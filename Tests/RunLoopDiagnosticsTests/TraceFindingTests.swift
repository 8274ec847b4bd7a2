import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

extension LoopTrace {
    /// The findings of a traced run in virtual time.
    static func findings(
        ofRunFor duration: Duration, _ prepare: (Loop, VirtualClock) throws -> Void
    ) rethrows -> [Finding] {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop, as: "the loop")
        try prepare(loop, clock)
        loop.run(mode: .default, for: duration)
        let trace = tracer.snapshot()
        for finding in trace.findings {
            #expect("\(finding)" == finding.text && !finding.text.contains("\n"))
            #expect(trace.text.contains(":\n    \(finding)\n"))
        }
        return trace.findings
    }
}

/// What a trace points out as a probable mistake, and what it does not, in virtual time.
@Suite(.timeBound) struct TraceFindingTests {
    private func findings(
        for duration: Duration = .seconds(10), _ prepare: (Loop, VirtualClock) throws -> Void
    ) rethrows -> [LoopTrace.Finding] {
        try LoopTrace.findings(ofRunFor: duration, prepare)
    }

    private func findings(
        for duration: Duration = .seconds(10), _ prepare: (Loop) throws -> Void
    ) rethrows -> [LoopTrace.Finding] {
        try findings(for: duration) { loop, _ in try prepare(loop) }
    }

    /// The findings of a source for the reading end of a pipe, whose handler is called so many times.
    private func findings(
        of pipe: Ends, calls: Int, _ handle: @escaping @Sendable (Ends) -> Void
    ) throws -> [LoopTrace.Finding] {
        try findings { loop in
            let count = Count()
            let source = try Loop.FileDescriptorSource(pipe.reader) { source, _ in
                handle(pipe)
                if count.up() == calls { source.invalidate() }
            }
            loop.add(source, in: .default)
        }
    }

    @Test("A descriptor that is never read is a spin")
    func spin() throws {
        let pipe = Ends.pipe()
        pipe.send("bytes")
        let findings = try findings(of: pipe, calls: 100) { _ in }
        let finding = try #require(findings.first)
        #expect(findings.count == 1 && finding.kind == .spin && finding.loop == 0)
        #expect(finding.count >= LoopTrace.wastedCallLimit && finding.handler.kind == .source1)
        #expect(finding.text.contains(finding.handler.description) && finding.text.contains("left it ready"))
    }

    @Test("The end of the data that is not handled is a spin")
    func spinAtTheEnd() throws {
        let pipe = Ends.pipe()
        pipe.hangUp()
        let findings = try findings(of: pipe, calls: 100) { _ = $0.take() }
        #expect(findings.map(\.kind) == [.spin])
    }

    @Test("A descriptor that is read byte by byte is none")
    func slowReader() throws {
        let pipe = Ends.pipe()
        pipe.send(String(repeating: "x", count: 200))
        let findings = try findings(of: pipe, calls: 200) { _ = $0.take(1) }
        #expect(findings.isEmpty)
    }

    @Test("An edge-triggered source that reads nothing does not spin")
    func edgeTriggered() throws {
        let findings = try findings(for: .seconds(200)) { loop in
            let ends = Ends.sockets()
            let source = try Loop.FileDescriptorSource(ends.reader, trigger: .edge) { _, _ in }
            loop.add(source, in: .default)
            loop.add(
                Loop.Timer(every: .seconds(1)) { _ in
                    ends.send("x")
                    _ = ends.take(1)
                    ends.send("x")
                }, in: .default)
        }
        #expect(findings.isEmpty)
    }

    @Test("A one-shot source whose descriptor is read elsewhere does not spin")
    func oneShot() throws {
        let findings = try findings(for: .seconds(200)) { loop in
            let ends = Ends.pipe()
            let source = try Loop.FileDescriptorSource(ends.reader, isOneShot: true) { _, _ in }
            loop.add(source, in: .default)
            loop.add(
                Loop.Timer(every: .seconds(1)) { _ in
                    _ = ends.take()
                    ends.send("x")
                    source.rearm()
                }, in: .default)
        }
        #expect(findings.isEmpty)
    }

    @Test("A reader that takes one datagram a call does not spin")
    func datagrams() throws {
        let ends = Ends.sockets(ofDatagrams: true)
        for _ in 0..<5 { ends.send("x") }
        let findings = try findings(of: ends, calls: 200) {
            _ = $0.take()
            $0.send("x")
        }
        #expect(findings.isEmpty)
    }

    @Test("A reader that cannot keep up with its writer does not spin")
    func fullPipe() throws {
        let pipe = Ends.pipe()
        pipe.send(String(repeating: "x", count: 60_000))
        let findings = try findings(of: pipe, calls: 200) {
            _ = $0.take(100)
            $0.send(String(repeating: "y", count: 100))
        }
        #expect(findings.isEmpty)
    }

    @Test("A block that posts itself is endless")
    func endlessBlock() throws {
        let findings = findings { loop in self.post(loop, 100) }
        let finding = try #require(findings.first)
        #expect(findings.count == 1 && finding.kind == .endless && finding.count >= 99)
        #expect(finding.text.contains("TraceFindingTests.swift:") && finding.text.contains("posted itself"))
    }

    private func post(_ loop: Loop, _ times: Int) {
        guard times > 0 else { return }
        loop.perform { self.post(loop, times - 1) }
    }

    @Test("A source that signals itself is endless")
    func endlessSource() {
        let box = Box<Loop.Source0>()
        let findings = findings(for: .seconds(1)) { loop in
            let count = Count()
            let source = Loop.Source0 { if count.up() < 100 { box.value?.signal() } }
            box.value = source
            loop.add(source, in: .default)
            source.signal()
        }
        box.value = nil  // The source's callout captures it.
        #expect(findings.map(\.kind) == [.endless])
    }

    @Test("Blocks that one handler posts are not endless")
    func manyBlocks() {
        let findings = findings { loop in
            loop.perform { for _ in 0..<200 { loop.perform {} } }
        }
        #expect(findings.isEmpty)
    }

    /// Takes virtual time.
    private static func work(on loop: Loop, _ duration: Duration) {
        let timer = Loop.Timer(after: duration) { _ in }
        loop.add(timer, in: "work")
        loop.run(mode: "work", for: duration)
    }

    @Test("A timer that is due while another handler works is always late")
    func lateTimer() throws {
        let findings = findings { loop in
            let busy = Loop.Timer(every: .milliseconds(500)) { _ in Self.work(on: loop, .milliseconds(30)) }
            busy.label = "busy"
            let late = Loop.Timer(after: .milliseconds(510), repeating: .seconds(1)) { _ in }
            late.label = "late"
            for timer in [busy, late] { loop.add(timer, in: .default) }
        }
        let finding = try #require(findings.first)
        #expect(findings.count == 1 && finding.kind == .lateTimer && finding.handler.name == "timer \"late\"")
        #expect(finding.text.contains("20.0 ms to 20.0 ms"))
        #expect(finding.text.contains("\"busy\"") && finding.cause?.name == "timer \"busy\"", "what is in the way")
    }

    @Test("A timer within its tolerance is not late, nor is one that is late at times")
    func timersInTime() {
        let findings = findings { loop in
            let count = Count()
            loop.add(
                Loop.Timer(every: .milliseconds(500)) { _ in
                    if count.up() % 4 == 0 { Self.work(on: loop, .milliseconds(30)) }
                }, in: .default)
            loop.add(Loop.Timer(after: .milliseconds(510), repeating: .milliseconds(250)) { _ in }, in: .default)
            let tolerant = Loop.Timer(every: .seconds(1)) { _ in }
            tolerant.tolerance = .milliseconds(100)
            loop.add(tolerant, in: .default)
        }
        #expect(findings.isEmpty)
    }

    // MARK: Timers that are late in some of their calls

    /// A timer that fires every 16 ms, and one every 100 ms whose handler takes so long each time or every few times.
    private func findings(of slow: Duration, inOneOf period: Int) -> [LoopTrace.Finding] {
        findings { loop, clock in
            let count = Count()
            let frame = Loop.Timer(every: .milliseconds(16), label: "frame") { _ in }
            let busy = Loop.Timer(every: .milliseconds(100), label: "busy") { _ in
                if count.up() % period == 0 { clock.advance(by: slow) }
            }
            for timer in [frame, busy] { loop.add(timer, in: .default) }
        }
    }

    @Test("A timer that misses its interval in some of its calls is late")
    func sometimesLate() throws {
        let findings = findings(of: .milliseconds(40), inOneOf: 1)
        let finding = try #require(findings.first)
        #expect(findings.count == 1 && finding.kind == .lateTimer && finding.handler.name == "timer \"frame\"")
        #expect(finding.cause?.name == "timer \"busy\"" && finding.count >= 90)
        #expect(finding.text.contains("late by more than its interval, 16.0 ms, in \(finding.count) of its "))
        #expect(finding.text.contains("to 40.0 ms.") || finding.text.contains("to 3"), "the worst")
        #expect(finding.text.contains("Usually timer \"busy\" was running"))
    }

    @Test("A timer that is late by less than its interval, or in few of its calls, is not")
    func seldomLate() {
        #expect(findings(of: .milliseconds(15), inOneOf: 1).isEmpty)
        #expect(findings(of: .milliseconds(40), inOneOf: 4).isEmpty)
    }

    @Test("A timer that nothing in its loop delays at times is not late: its machine is")
    func sometimesLateMachine() {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop)
        loop.add(Loop.Timer(every: .milliseconds(16)) { _ in })
        for _ in 0..<10 {
            loop.run(mode: .default, for: .milliseconds(40))
            clock.advance(by: .milliseconds(40))
        }
        #expect(tracer.snapshot().findings.isEmpty)
    }

    @Test("A timer of a short interval is not late if the kernel takes the processor for some milliseconds")
    func shortInterval() {
        let findings = findings { loop, clock in
            loop.add(Loop.Timer(every: .milliseconds(1)) { _ in })
            loop.add(Loop.Timer(every: .milliseconds(10)) { _ in clock.advance(by: .milliseconds(9)) })
        }
        #expect(findings.isEmpty)
    }

    // MARK: Runs in another mode

    /// A timer of the default mode that is late by 20 ms because of `index`, and every few calls by more because
    /// `dialog` runs the loop in another mode, in which a handler works.
    private func findings(dialogs: Int) -> [LoopTrace.Finding] {
        findings { loop, clock in
            let count = Count()
            let index = Loop.Timer(every: .seconds(1), label: "index") { _ in clock.advance(by: .milliseconds(30)) }
            let late = Loop.Timer(after: .milliseconds(1010), repeating: .seconds(1), label: "clock") { _ in }
            let dialog = Loop.Timer(after: .milliseconds(990), repeating: .seconds(1), label: "dialog") { _ in
                if count.up() > dialogs { return }
                let draw = Loop.Timer(after: .zero, repeating: .milliseconds(10), label: "draw") { _ in
                    clock.advance(by: .milliseconds(5))
                }
                loop.add(draw, in: "modal")
                loop.run(mode: "modal", for: .milliseconds(426))
                draw.invalidate()
            }
            for timer in [dialog, index, late] { loop.add(timer, in: .default) }
        }
    }

    @Test("A run in another mode is why a timer is late, and not what it calls")
    func nestedRun() throws {
        let finding = try #require(findings(dialogs: 10).first { $0.handler.name == "timer \"clock\"" })
        #expect(finding.kind == .lateTimer && finding.cause?.name == "timer \"dialog\"")
        #expect(finding.text.contains("in a run in mode 'modal' that timer \"dialog\" had begun when the timer was"))
        #expect(finding.text.contains("add the timer to that mode"))
        #expect(!finding.text.contains("draw") && !finding.text.contains("index"))
    }

    @Test("The cause of the latest call is named, if it is not the usual one")
    func latestCall() throws {
        let finding = try #require(findings(dialogs: 2).first { $0.handler.name == "timer \"clock\"" })
        #expect(finding.kind == .lateTimer && finding.cause?.name == "timer \"index\"")
        #expect(finding.text.contains("Usually timer \"index\" was running"))
        #expect(
            finding.text.contains(
                "When the latest firing was due, the loop was in a run in mode 'modal' that timer \"dialog\""))
    }

    @Test("A nested run that serves the timer is not why it is late")
    func nestedRunInItsMode() throws {
        let findings = findings { loop, clock in
            let outer = Loop.Timer(every: .seconds(1), label: "outer") { _ in
                loop.perform(label: "work") {
                    clock.advance(by: .milliseconds(50))
                    loop.stop()
                }
                loop.run(mode: .default, for: .milliseconds(100))
            }
            let late = Loop.Timer(after: .milliseconds(1010), repeating: .seconds(1), label: "late") { _ in }
            for timer in [outer, late] { loop.add(timer, in: .default) }
        }
        #expect(findings.map(\.handler.name) == ["timer \"late\""])
        #expect(findings.first?.cause?.name == "\"work\"")
    }

    @Test("A run in another mode that no handler has begun is named by its mode")
    func outermostRun() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop)
        loop.add(Loop.Timer(every: .milliseconds(100), label: "late") { _ in })
        loop.add(Loop.Timer(every: .seconds(100)) { _ in }, in: "other")
        for _ in 0..<10 {
            loop.run(mode: "other", for: .milliseconds(150))
            loop.run(mode: .default, for: .milliseconds(10))
        }
        let finding = try #require(tracer.snapshot().findings.first)
        #expect(finding.kind == .lateTimer && finding.cause == nil)
        #expect(finding.text.contains("Usually the loop was in a run in mode 'other' when the timer was due"))
    }

    /// A timer of a mode in which the loop runs for moments, inside `step`.
    private func findingOfSeldomMode(_ work: Duration) throws -> LoopTrace.Finding {
        let findings = findings { loop, clock in
            loop.add(
                Loop.Timer(after: .milliseconds(500), repeating: .milliseconds(400), label: "progress") { _ in },
                in: "progress")
            loop.add(
                Loop.Timer(every: .milliseconds(400), label: "step") { _ in
                    clock.advance(by: work)
                    loop.run(mode: "progress", for: .milliseconds(10))
                }, in: .default)
        }
        #expect(findings.map(\.handler.name) == ["timer \"progress\""])
        return try #require(findings.first)
    }

    @Test("A timer of a mode in which the loop seldom runs is late because of the mode around")
    func seldomMode() throws {
        let finding = try findingOfSeldomMode(.zero)
        #expect(finding.kind == .lateTimer && finding.cause == nil)
        #expect(finding.text.contains("Usually the loop was in a run in mode 'default' when the timer was due"))
        #expect(finding.text.contains("add the timer to that mode"))
    }

    @Test("If its firing was due while the handler worked that then runs its mode, that handler is why")
    func workBeforeItsMode() throws {
        let finding = try findingOfSeldomMode(.milliseconds(200))
        #expect(finding.cause?.name == "timer \"step\"")
        #expect(finding.text.contains("Usually timer \"step\" was running"))
    }

    @Test("A timer that is due while its loop is in no run is late because of that")
    func noRun() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop)
        loop.add(Loop.Timer(every: .milliseconds(100), label: "late") { _ in })
        for _ in 0..<10 {
            loop.run(mode: .default, for: .zero)
            clock.advance(by: .milliseconds(150))
        }
        let finding = try #require(tracer.snapshot().findings.first)
        #expect(finding.kind == .lateTimer && finding.cause == nil)
        #expect(finding.text.contains("Its loop was in no run when the timer was due"))
    }
}
