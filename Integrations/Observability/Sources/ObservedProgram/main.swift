// A program whose loop logs, counts and traces. Its backends write to the terminal; a service would bootstrap those
// that it has for its logs, metrics and traces.
import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import RunLoopDiagnostics
import RunLoopKit
import RunLoopKitObservability
import Tracing

let logger = Logger(label: "observed", factory: { StreamLogHandler.standardOutput(label: $0) })
let tracer = InMemoryTracer()

// What the library has to say about the program.
Loop.mistakeHandling = .logging(to: logger)
let invalid = Loop.Timer(after: .zero) { _ in }
invalid.invalidate()
Loop.main.add(invalid, in: .default)  // refused, and logged

let worker = try LoopThread(name: "worker")

// Metrics of the worker's loop.
let monitor = try StallMonitor(handler: StallMonitor.logging(to: logger))
let meter = LoopMeter(worker.loop, name: "worker", of: monitor, factory: StreamMetricsFactory.standardOutput())

// Spans of its callouts.
let recorder = LoopTracer()
recorder.attach(to: worker.loop)
let spans = CalloutSpans(of: recorder, to: tracer)

// A request: the block that it posts belongs to its span, on whatever thread it runs.
try tracer.withSpan("request") { _ in
    try worker.performAndWait(label: "save", traced("save", by: tracer) { logger.info("saved") })
}
try worker.performAndWait {}

meter.report()
spans.export()
for span in tracer.finishedSpans {
    print("span \(span.operationName), \(span.parentSpanID.map { "child of \($0)" } ?? "root"): \(span.spanID)")
}
