import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit
@testable import RunLoopRules

/// No text for people contains a control character that came from a label or a name.
@Suite(.timeBound) struct PrintableTextTests {
    /// Clears the screen, begins a line, rings, turns the text's direction.
    private static let name = "x\u{1B}[2J\nINJECTED\u{7}\u{202E}\u{2028}\r\u{0}\u{9B}y"
    private static let mode = Loop.Mode("m\(name)")
    /// A thread's name has 15 bytes.
    private static let threadName = "t\u{1B}[2J\nINJ\u{7}\r"

    private func expectPrintable(_ text: String, _ what: String, sourceLocation: SourceLocation = #_sourceLocation) {
        let odd = text.unicodeScalars.filter { $0 != "\n" && String($0) != String($0).printable }
        #expect(odd.isEmpty, "\(what): \(text.debugDescription)", sourceLocation: sourceLocation)
        let lines = text.split(separator: "\n")
        #expect(!lines.contains { $0.hasPrefix("INJ") }, "\(what): \(text)", sourceLocation: sourceLocation)
    }

    private func items(on loop: Loop) throws -> [Loop.Item] {
        let items: [Loop.Item] = [
            Loop.Timer(after: .milliseconds(5)) { _ in }, Loop.Source0 {}, Loop.Observer(.all) { _, _ in },
            try Loop.PortSource { _ in }, Loop.MessagePort<Int> { _ in },
        ]
        for item in items {
            item.label = PrintableTextTests.name
            loop.add(item, in: PrintableTextTests.mode)
        }
        return items
    }

    @Test("The descriptions of loops, items and modes, and what explains them")
    func loops() throws {
        let (loop, _) = Loop.inVirtualTime()
        let items = try items(on: loop)
        expectPrintable("\(PrintableTextTests.mode)", "mode")
        #expect(PrintableTextTests.mode.name.contains("\u{1B}"), "the name itself is exact")
        expectPrintable(loop.description, "loop")
        expectPrintable(loop.descriptionWithPatience, "loop, with patience")
        expectPrintable(Loop.dump, "dump")
        for item in items {
            expectPrintable(item.description, "item")
            expectPrintable(loop.explain(item).description, "explanation")
        }
        loop.perform(in: .default) { [self] in
            for item in items { expectPrintable(loop.explain(item).description, "explanation in a run") }
        }
        loop.run(mode: .default, for: .seconds(1))
        withExtendedLifetime(items) {}
    }

    @Test("Threads and pools, and the errors of those who wait for them")
    func threads() throws {
        let thread = try LoopThread(name: PrintableTextTests.threadName)
        let pool = try LoopThreadPool(count: 1, options: .init(name: PrintableTextTests.threadName))
        expectPrintable(thread.description, "thread")
        expectPrintable(pool.description, "pool")
        expectPrintable(thread.loop.description, "thread's loop")
        expectPrintable(try thread.performAndWait { Loop.current.threadName }, "name on the thread")
        for error in [
            Loop.NoAnswer.loopHasEnded(thread: PrintableTextTests.name), .threadExited(thread: PrintableTextTests.name),
            .timeIsUp(thread: PrintableTextTests.name, hasBegun: false),
            .timeIsUp(thread: PrintableTextTests.name, hasBegun: true),
        ] {
            expectPrintable("\(error)", "error")
        }
        expectPrintable("\(LoopThread.Stopped(thread: PrintableTextTests.name))", "stopped")
        expectPrintable("\(LoopThread.Exited(thread: PrintableTextTests.name))", "exited")
        thread.stop()
        thread.join()
    }

    @Test("Mistakes")
    func mistakes() throws {
        let (loop, _) = Loop.inVirtualTime()
        let item = try items(on: loop)[0]
        for mistake in [
            .refusedItem(item: item.name, reason: .itemIsInvalid), .loopThatNeverRuns(item: item.name),
            .droppedThread(name: PrintableTextTests.name, items: [item.name]),
            .emptyRun(mode: PrintableTextTests.mode, others: [PrintableTextTests.mode]),
            .jobsOfEndedLoop(thread: PrintableTextTests.name),
        ] as [Loop.Mistake] {
            expectPrintable("\(mistake)", "mistake")
        }
    }

    @Test("A trace: its text, its findings, its page and its JSON")
    func traces() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop, as: PrintableTextTests.name)
        let items = try items(on: loop)
        // Signals itself: a finding.
        let (count, chain) = (LoopBound(0, on: loop), LoopBound<Loop.Source0?>(nil, on: loop))
        let itself = Loop.Source0 {
            count.value += 1
            if count.value < 100 { chain.value?.signal() }
        }
        itself.label = PrintableTextTests.name
        chain.value = itself
        loop.add(itself, in: PrintableTextTests.mode)
        itself.signal()
        loop.perform(in: PrintableTextTests.mode, label: "b\u{1B}[2J\nINJECTED") {}
        loop.run(mode: PrintableTextTests.mode, for: .seconds(1))
        tracer.detach()
        let trace = tracer.snapshot()
        #expect(trace.findings.contains { $0.kind == .endless })
        expectPrintable(trace.text, "text")
        expectPrintable(trace.html, "page")
        expectPrintable(trace.chromeTrace, "JSON")
        for finding in trace.findings { expectPrintable(finding.text, "finding") }
        chain.value = nil
        withExtendedLifetime(items) {}
    }

    @Test("Reports of feedback loops and of stalls")
    func reports() throws {
        let scene = FeedbackScene()
        let detector = scene.detector { _ in PrintableTextTests.name }
        let panel = Panel("panel")
        scene.pass(in: PrintableTextTests.mode) {
            for _ in 0..<20 { detector.call(PrintableTextTests.name, of: panel) {} }
        }
        let report = try #require(scene.reports.entries.first)
        expectPrintable("\(report)", "feedback loop")
        expectPrintable(report.chain, "chain")
        let (loop, _) = Loop.inVirtualTime()
        let stall = StallReport(
            number: 1, stage: .exceeded(.seconds(1)), loop: PrintableTextTests.name, kind: .timer,
            label: try items(on: loop)[0].name, activity: [], mode: PrintableTextTests.mode, nesting: 0,
            start: loop.now, end: nil, duration: .seconds(1), waiting: WaitingWork(), backtrace: Backtrace([]))
        expectPrintable("\(stall)", "stall")
    }

    @Test("Limiters and rules")
    func limitersAndRules() throws {
        let scene = RuleScene()
        let throttle = Throttle(
            interval: .seconds(1), on: scene.loop, label: "l\u{1B}[2J\nINJECTED"
        ) { (_: Int) in }
        expectPrintable("\(throttle)", "limiter")
        let method = ThrottledMethod<RuleDocument, Int>(PrintableTextTests.name, engine: scene.engine) { _, _ in }
        let rule = method.rule(for: RuleDraft.self, interval: .seconds(1), on: scene.loop, isPersistent: true)
        expectPrintable("\(rule)", "rule")
        try scene.engine.apply(rule)
        let snapshot = try scene.engine.snapshot()
        for saved in snapshot.rules { expectPrintable("\(saved)", "saved rule") }
        let error = #expect(throws: ThrottleRuleError.self) { try scene.engine.apply(rule) }
        expectPrintable("\(try #require(error))", "error")
    }

    @Test("Text without control characters is not changed")
    func ordinaryText() {
        for text in ["", "timer \"x\"", "Größe 🙂 👩‍👩‍👧 \\ 日本語", "a\u{200D}b"] { #expect(text.printable == text) }
    }
}
