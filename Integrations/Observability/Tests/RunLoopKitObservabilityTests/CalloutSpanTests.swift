import InMemoryTracing
import RunLoopDiagnostics
import RunLoopKit
import RunLoopKitObservability
import Testing
import Tracing

@Suite(.timeLimit(.minutes(1))) struct CalloutSpanTests {
    @Test("A callout is a span, a child of the callout that caused it, on whatever thread")
    func causes() throws {
        let (front, back) = (try LoopThread(name: "front"), try LoopThread(name: "back"))
        let recorder = LoopTracer()
        recorder.attach(to: front.loop)
        recorder.attach(to: back.loop, as: "rear")
        let tracer = InMemoryTracer()
        let spans = CalloutSpans(of: recorder, to: tracer)
        let before = DefaultTracerClock.now
        try front.performAndWait(label: "request") { _ = back.perform(label: "save") {} }
        // The spans have ended once a later block runs.
        try front.performAndWait(label: "other") {}
        try front.performAndWait(label: "other") {}
        try back.performAndWait(label: "other") {}
        try back.performAndWait(label: "other") {}
        spans.export()
        let request = try #require(tracer.finishedSpans.first { $0.operationName == "block \"request\"" })
        let save = try #require(tracer.finishedSpans.first { $0.operationName == "block \"save\"" })
        #expect(request.parentSpanID == nil && save.parentSpanID == request.spanID)
        #expect(save.attributes["runloop.loop"]?.toSpanAttribute() == .string("rear"))
        #expect(save.attributes["thread.name"]?.toSpanAttribute() == .string("back"))
        #expect(save.attributes["runloop.kind"]?.toSpanAttribute() == .string("block"))
        let (start, end) = (request.startInstant.nanosecondsSinceEpoch, request.endInstant.nanosecondsSinceEpoch)
        // A clock that is set while the test runs would be a coincidence; a wrong unit would be off by years.
        #expect(start <= end && end <= save.endInstant.nanosecondsSinceEpoch + 60_000_000_000)
        #expect(start > before.nanosecondsSinceEpoch - 60_000_000_000)
    }

    @Test("Each callout is exported once; one that lasts has a span that a later export ends")
    func exports() throws {
        let clock = VirtualClock()
        let loop = Loop(clock: clock)
        let recorder = LoopTracer(clock: clock)
        recorder.attach(to: loop, as: "main")
        let tracer = InMemoryTracer()
        let spans = CalloutSpans(of: recorder, to: tracer)
        let timer = Loop.Timer(after: .seconds(10), label: "outer") { _ in
            spans.export()
            loop.perform(label: "inner") {}
            loop.run(mode: .default, for: .zero)
        }
        let observer = Loop.Observer { _, _ in }
        loop.add(timer, in: .default)
        loop.add(observer, in: .default)
        loop.run(mode: .default, for: .seconds(20))
        #expect(tracer.finishedSpans.isEmpty && tracer.activeSpans.map(\.operationName) == ["timer \"outer\""])
        spans.export()
        #expect(tracer.finishedSpans.map(\.operationName) == ["timer \"outer\"", "block \"inner\""])
        let (outer, inner) = (tracer.finishedSpans[0], tracer.finishedSpans[1])
        #expect(inner.parentSpanID == outer.spanID)
        #expect(outer.attributes["runloop.lateness_ns"]?.toSpanAttribute() == .int64(0))
        spans.export()
        #expect(tracer.finishedSpans.count == 2 && tracer.activeSpans.isEmpty)
        // At the same virtual time.
        for _ in 1...3 { loop.perform(label: "again") {} }
        loop.run(mode: .default, for: .zero)
        spans.export()
        spans.export()
        #expect(tracer.finishedSpans.count == 5)
    }

    @Test("A callout is exported once, and its span ends, though the ring has overwritten what was around it")
    func overwritten() {
        let clock = VirtualClock()
        let loop = Loop(clock: clock)
        let recorder = LoopTracer(capacity: 64, clock: clock)
        recorder.attach(to: loop)
        let tracer = InMemoryTracer()
        let spans = CalloutSpans(of: recorder, to: tracer)
        loop.add(Loop.Timer(every: .seconds(1), label: "tick") { _ in })
        loop.add(Loop.Timer(every: .seconds(2), label: "export") { _ in spans.export() })
        loop.run(mode: .default, for: .seconds(100))
        spans.export()
        let ticks = tracer.finishedSpans.filter { $0.operationName == "timer \"tick\"" }
        #expect(ticks.count > 90 && Set(ticks.map(\.startInstant.nanosecondsSinceEpoch)).count == ticks.count)
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test("A program chooses whose callouts have spans")
    func choice() {
        let clock = VirtualClock()
        let loop = Loop(clock: clock)
        let recorder = LoopTracer(clock: clock)
        recorder.attach(to: loop)
        let tracer = InMemoryTracer()
        let spans = CalloutSpans(of: recorder, to: tracer) { $0.kind == .timer }
        loop.perform {}
        loop.add(Loop.Timer(after: .seconds(1), label: "tick") { _ in }, in: .default)
        loop.run()
        spans.export()
        #expect(tracer.finishedSpans.map(\.operationName) == ["timer \"tick\""])
    }

    @Test("Exports of several threads at once make one span of each callout, and end it")
    func concurrentExports() throws {
        let threads = try (1...4).map { try LoopThread(name: "exporter \($0)") }
        let recorder = LoopTracer()
        for thread in threads { recorder.attach(to: thread.loop) }
        let tracer = InMemoryTracer()
        let spans = CalloutSpans(of: recorder, to: tracer)
        for thread in threads {
            for number in 1...40 {
                thread.perform(label: "\(thread.name), \(number)") { spans.export() }
            }
        }
        for thread in threads {
            // The second ends once the first has, which may be later than the call that waits for it returns.
            for _ in 1...2 { try thread.performAndWait(label: "last of \(thread.name)") {} }
        }
        recorder.detach()
        spans.export()
        spans.export()
        let ended = tracer.finishedSpans.map(\.operationName).filter { !$0.contains("last of") }
        #expect(ended.count == 160 && Set(ended).count == 160)
        #expect(tracer.activeSpans.allSatisfy { $0.operationName.contains("last of") })
    }

    /// The times may differ by a minute, not by an hour.
    @Test("Spans of a recorder that was detached before have the times of their callouts")
    func detachedRecorder() throws {
        let clock = VirtualClock(.manual)
        let loop = Loop(clock: clock)
        let recorder = LoopTracer(clock: clock)
        recorder.attach(to: loop)
        loop.perform {}
        loop.run(mode: .default, for: .zero)
        recorder.detach()
        clock.advance(by: .seconds(3600))
        let tracer = InMemoryTracer()
        CalloutSpans(of: recorder, to: tracer).export()
        let start = try #require(tracer.finishedSpans.first).startInstant.nanosecondsSinceEpoch
        let age = Int64(DefaultTracerClock.now.nanosecondsSinceEpoch) - Int64(start)
        #expect(abs(age - 3_600_000_000_000) < 60_000_000_000)
    }
}
