import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// As `PrintableTextTests`, of traces and reports.
@Suite(.timeBound) struct PrintableReportTests {
    @Test("A trace: its text, its findings, its page and its JSON")
    func traces() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(clock: clock)
        tracer.attach(to: loop, as: OddText.name)
        let items = try OddText.items(on: loop)
        // Signals itself: a finding.
        let (count, chain) = (LoopBound(0, on: loop), LoopBound<Loop.Source0?>(nil, on: loop))
        let itself = Loop.Source0 {
            count.value += 1
            if count.value < 100 { chain.value?.signal() }
        }
        itself.label = OddText.name
        chain.value = itself
        loop.add(itself, in: OddText.mode)
        itself.signal()
        loop.perform(in: OddText.mode, label: "b\u{1B}[2J\nINJECTED") {}
        loop.run(mode: OddText.mode, for: .seconds(1))
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
        let detector = scene.detector { _ in OddText.name }
        let panel = Panel("panel")
        scene.pass(in: OddText.mode) {
            for _ in 0..<20 { detector.call(OddText.name, of: panel) {} }
        }
        let report = try #require(scene.reports.entries.first)
        expectPrintable("\(report)", "feedback loop")
        expectPrintable(report.chain, "chain")
        let (loop, _) = Loop.inVirtualTime()
        let stall = StallReport(
            number: 1, stage: .exceeded(.seconds(1)), isFirst: true, loop: OddText.name, kind: .timer,
            label: try OddText.items(on: loop)[0].name, activity: [], mode: OddText.mode, nesting: 0,
            start: loop.now, end: nil, duration: .seconds(1), waiting: WaitingWork(), backtrace: Backtrace([]),
            lostStalls: 0)
        expectPrintable("\(stall)", "stall")
    }
}
