public import RunLoopDiagnostics
public import RunLoopKit
import Synchronization
public import Tracing

/// Exports the callouts that a `LoopTracer` has recorded as spans of swift-distributed-tracing, with their true times.
///
/// ```swift
/// let recorder = LoopTracer()
/// recorder.attach(to: .main)
/// let spans = CalloutSpans(of: recorder)
/// Loop.main.add(Loop.Timer(every: .seconds(5)) { _ in spans.export() }, in: .common)
/// ```
///
/// A span's parent is the handler that caused the callout (it posted the block, sent to the port, signalled the
/// source), also on another thread; otherwise the handler around it, which runs its loop nested. A callout without
/// either begins a trace. The attributes are `runloop.loop`, `runloop.kind`, `thread.name`, `thread.id`, and
/// `runloop.lateness_ns` for timers.
///
/// These spans exist only once they are exported, so what a handler does cannot be a child of its callout: see
/// ``traced(_:ofKind:by:_:)`` for that.
///
/// Export more often than the recorder's ring fills: a callout that was overwritten has no span. Any thread may call
/// everything here.
///
/// The wall clock is read once, when the exporter is made; from then on times are those of the recorder's clock. So a
/// wall clock that is set later moves no span. But CLOCK_MONOTONIC stands still while the machine is suspended: spans
/// after that are too early by its length, until the program makes a new exporter.
public final class CalloutSpans: Sendable {
    /// What identifies a callout in all traces of a recorder. Those of a loop in virtual time may begin at the same
    /// time; they are numbered. Its depth may differ: a trace does not know the runs whose beginning was overwritten.
    private struct Key: Hashable {
        let thread: LoopTrace.Thread
        let start: Loop.Instant
        var number = 0
    }

    private struct Exported {
        let context: ServiceContext
        /// Nil once the span has ended.
        var span: (any Span)?
    }

    private let recorder: LoopTracer
    private let tracer: any Tracer
    private let isIncluded: @Sendable (LoopTrace.Handler) -> Bool
    /// From nanoseconds on the recorder's clock to those since 1970, as of when the exporter was made.
    private let offset: Int64
    private let exported = Mutex<[Key: Exported]>([:])

    /// Makes an exporter. It exports nothing by itself.
    ///
    /// - Parameters:
    ///   - recorder: Attached to the loops.
    ///   - tracer: Gets the spans.
    ///   - isIncluded: Which handlers have spans; by default all except observers.
    public init(
        of recorder: LoopTracer, to tracer: any Tracer = InstrumentationSystem.tracer,
        including isIncluded: @escaping @Sendable (LoopTrace.Handler) -> Bool = { $0.kind != .observer }
    ) {
        self.recorder = recorder
        self.tracer = tracer
        self.isIncluded = isIncluded
        offset = Int64(DefaultTracerClock.now.nanosecondsSinceEpoch) - recorder.now.nanoseconds
    }

    /// Exports the callouts since the export before. A callout that has not ended has a span that begins now and ends
    /// with a later export; if its beginning is overwritten meanwhile, when that export is made.
    public func export() {
        exported.withLock { exported in
            // Under the lock, so that of two concurrent exports the later one has the later trace.
            let trace = recorder.snapshot()
            var export = Export(trace: trace, known: exported)
            for (index, span) in trace.spans.enumerated() {
                guard let handler = span.handler else { continue }
                export.leaveCallouts(before: span)
                if isIncluded(handler) { export.add(index, handler, self) }
                export.enter(index)
            }
            for (key, lost) in exported where export.found[key] == nil { lost.span?.end(at: timestamp(recorder.now)) }
            exported = export.found
        }
    }

    /// One export.
    private struct Export {
        let trace: LoopTrace
        /// What was exported before.
        let known: [Key: Exported]
        /// What the trace has. The rest of `known` was overwritten.
        private(set) var found: [Key: Exported] = [:]
        private var keys: [Int: Key] = [:]
        /// The callouts around the present one, on each thread.
        private var enclosing: [Int: [Int]] = [:]
        private let senders: [Int: Int]

        init(trace: LoopTrace, known: [Key: Exported]) {
            (self.trace, self.known) = (trace, known)
            senders = Dictionary(
                trace.arrows.compactMap { arrow in arrow.sender.map { (arrow.callout, $0) } }, uniquingKeysWith: { $1 })
        }

        /// Spans come in the order of their beginning: one that is as deep as another is after it.
        mutating func leaveCallouts(before span: LoopTrace.Span) {
            while let last = enclosing[span.thread]?.last, trace.spans[last].depth >= span.depth {
                enclosing[span.thread]!.removeLast()
            }
        }

        mutating func enter(_ index: Int) { enclosing[trace.spans[index].thread, default: []].append(index) }

        mutating func add(_ index: Int, _ handler: LoopTrace.Handler, _ owner: CalloutSpans) {
            let span = trace.spans[index]
            var key = Key(thread: trace.threads[span.thread], start: span.start)
            while found[key] != nil { key.number += 1 }
            var exported = known[key] ?? begin(index, handler, owner)
            if !span.isOpen, let begun = exported.span {
                begun.end(at: owner.timestamp(span.end))
                exported.span = nil
            }
            found[key] = exported
            keys[index] = key
        }

        private func begin(_ index: Int, _ handler: LoopTrace.Handler, _ owner: CalloutSpans) -> Exported {
            let span = trace.spans[index]
            let outer = senders[index] ?? enclosing[span.thread]?.last { keys[$0] != nil }
            let parent = outer.flatMap { keys[$0] }.flatMap { found[$0] }
            let made = owner.tracer.startSpan(
                "\(handler)", context: parent?.context ?? .topLevel, at: owner.timestamp(span.start))
            made.attributes["runloop.loop"] = trace.loops[span.loop]
            made.attributes["runloop.kind"] = "\(handler.kind)"
            made.attributes["thread.name"] = trace.threads[span.thread].name
            made.attributes["thread.id"] = Int64(trace.threads[span.thread].id)
            if handler.kind == .timer {
                made.attributes["runloop.lateness_ns"] = Int64(span.lateness / .nanoseconds(1))
            }
            return Exported(context: made.context, span: made)
        }
    }

    private func timestamp(_ instant: Loop.Instant) -> DefaultTracerClock.Timestamp {
        DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: UInt64(max(0, instant.nanoseconds + offset)))
    }
}
