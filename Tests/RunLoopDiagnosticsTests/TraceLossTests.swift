import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopDiagnostics
@testable import RunLoopKit

/// What a trace says of the events that its ring could not hold, in virtual time.
@Suite(.timeBound) struct TraceLossTests {
    /// A block posts itself on one loop, and then a descriptor spins on another one, which shares the ring.
    private func trace(capacity: Int, spins: Int) throws -> LoopTrace {
        let (main, clock) = Loop.inVirtualTime()
        let worker = Loop(clock: clock)
        let tracer = LoopTracer(capacity: capacity, clock: clock)
        tracer.attach(to: main, as: "main")
        tracer.attach(to: worker, as: "worker")
        clock.advance(by: .milliseconds(20))
        post(main, 100)
        main.run(mode: .default, for: .milliseconds(10))
        let pipe = Ends.pipe()
        pipe.send("bytes")
        let count = Count()
        let source = try Loop.FileDescriptorSource(pipe.reader, label: "unread") { source, _ in
            clock.advance(by: .milliseconds(1))
            if count.up() == spins { source.invalidate() }
        }
        worker.add(source)
        worker.run(mode: .default, for: .seconds(10))
        tracer.detach()
        return tracer.snapshot()
    }

    private func post(_ loop: Loop, _ times: Int) {
        guard times > 0 else { return }
        loop.perform { self.post(loop, times - 1) }
    }

    @Test("A loop that fills the ring is the first finding, since what it overwrote is none")
    func fullRing() throws {
        let trace = try trace(capacity: 512, spins: 1000)
        #expect(trace.findings.map(\.kind) == [.lostEvents, .spin])
        let finding = try #require(trace.findings.first)
        #expect(trace.loops[finding.loop] == "worker" && finding.handler.name.contains("unread"))
        #expect(finding.cause == finding.handler && finding.count == trace.lostEventCount)
        #expect(finding.start == 0 && finding.end == trace.start, "since the tracer was attached")
        let total = trace.lostEventCount + trace.events.count
        var sufficient = 512
        while sufficient < total { sufficient *= 2 }
        let kept = trace.start.duration(to: trace.end)
        for part in [
            "\(trace.lostEventCount) of \(total) events were lost", "the last \(kept.inWords) of 1.0",
            "The loop worker made \(trace.events.count) of the \(trace.events.count) events that are left",
            "calls of \(finding.handler)", "capacity: \(sufficient)", "a tracer of its own",
        ] {
            #expect(finding.text.contains(part), "\(part) is not in \(finding.text)")
        }
        #expect(trace.text.contains("  worker, from -") && trace.text.contains(finding.text))
        #expect(trace.html.contains("[[\"lostEvents\",\"worker, from -"))
    }

    @Test("With the capacity that it asks for, all is found")
    func sufficientCapacity() throws {
        let small = try trace(capacity: 512, spins: 1000)
        let capacity = small.lostEventCount + small.events.count
        let trace = try trace(capacity: capacity, spins: 1000)
        #expect(trace.lostEventCount == 0 && Set(trace.findings.map(\.kind)) == [.spin, .endless])
    }

    @Test("Work that is handed over fills the ring too, and so do passes that call no handler")
    func withoutCalls() throws {
        let (loop, clock) = Loop.inVirtualTime()
        let tracer = LoopTracer(capacity: 64, clock: clock)
        tracer.attach(to: loop, as: "idle")
        for _ in 0..<100 { loop.perform(label: "posted") {} }
        let posts = try #require(tracer.snapshot().findings.first)
        #expect(posts.kind == .lostEvents && posts.handler.description == "block \"posted\"")
        #expect(!posts.text.contains("a tracer of its own"), "there is one loop only")
        let other = LoopTracer(capacity: 64, clock: clock)
        let empty = Loop(clock: clock)
        other.attach(to: empty, as: "empty")
        empty.add(Loop.Timer(after: .seconds(1000)) { _ in })
        for _ in 0..<100 { empty.run(mode: .default, for: .zero) }
        let passes = try #require(other.snapshot().findings.first)
        #expect(passes.kind == .lostEvents && passes.cause == nil && passes.handler.name == "no handler")
        #expect(!passes.text.contains("no handler") && other.snapshot().html.contains("lostEvents"))
    }

    @Test("The observers of a FeedbackLoopDetector are not what fills the ring, if other handlers are called")
    func detector() throws {
        func finding(_ prepare: (Loop) -> Void) throws -> LoopTrace.Finding {
            let (loop, clock) = Loop.inVirtualTime()
            let detector = FeedbackLoopDetector(on: loop)
            let tracer = LoopTracer(capacity: 128, clock: clock)
            tracer.attach(to: loop, as: "observed")
            prepare(loop)
            loop.run(mode: .default, for: .seconds(10))
            detector.detach()
            return try #require(tracer.snapshot().findings.first { $0.kind == .lostEvents })
        }
        let tick = try finding { $0.add(Loop.Timer(every: .milliseconds(10), label: "tick") { _ in }) }
        #expect(tick.handler.name == "timer \"tick\"" && tick.cause == tick.handler)
        #expect(tick.text.contains("calls of timer \"tick\""))
        #expect(tick.text.contains("of the observers of a FeedbackLoopDetector") && tick.text.contains("detach it"))
        let alone = try finding { loop in
            let observer = Loop.Timer(every: .milliseconds(10))
            loop.add(observer)
            for _ in 0..<100 { loop.run(mode: .default, for: .zero) }
            observer.invalidate()
        }
        #expect(alone.handler.name == "observer \"FeedbackLoopDetector\"")
        let few = try finding { post($0, 1000) }
        #expect(few.handler.kind == .block)
    }

    @Test("Events that are being written while a trace is taken are lost without a finding")
    func beingWritten() {
        func finding(_ count: Int, of total: Int) -> LoopTrace.Finding? {
            let event = LoopTrace.Event(time: 5, thread: 0, loop: 0, kind: .woke)
            return LostEvents(count: count, total: total, capacity: 16, since: 0)
                .finding(in: [event], of: ["the loop"], start: 5, end: 10)
        }
        #expect(finding(1, of: 16) == nil && finding(0, of: 17) == nil)
        #expect(finding(1, of: 17) != nil)
        #expect(finding(1 << 25, of: 1 << 26)?.text.hasSuffix("To keep more, take the snapshot sooner.") == true)
    }
}
