import Metrics
import MetricsTestKit
import RunLoopDiagnostics
import RunLoopKit
import RunLoopKitObservability
import Testing

@Suite(.timeLimit(.minutes(1))) struct LoopMeterTests {
    @Test("Counters have what was added since the report before, and gauges tell of that time alone")
    func reports() throws {
        let metrics = TestMetrics()
        let thread = try LoopThread(name: "measured")
        let monitor = try StallMonitor(signal: nil)
        let meter = LoopMeter(thread.loop, name: "worker", of: monitor, factory: metrics)
        let own = [("loop", "worker")]
        for _ in 1...3 { try thread.performAndWait {} }
        // Counted before the next handler is called, on the thread of the loop.
        try thread.performAndWait { meter.report() }
        let callouts = try metrics.expectCounter("runloop.callouts", own)
        #expect(callouts.values == [3])
        try thread.performAndWait { meter.report() }
        #expect(callouts.values == [3, 1])

        let utilisation = try metrics.expectGauge("runloop.utilisation", own)
        #expect(utilisation.values.count == 2 && utilisation.values.allSatisfy { $0 > 0 && $0 <= 1 })
        for kind in ["blocks", "jobs", "sources", "timers"] {
            #expect(try metrics.expectGauge("runloop.waiting", own + [("kind", kind)]).lastValue == 0)
        }
        for quantile in ["0.5", "0.99", "1"] {
            let lateness = try metrics.expectGauge("runloop.lateness.seconds", own + [("quantile", quantile)])
            #expect(lateness.values == [0, 0])
            _ = try metrics.expectGauge("runloop.pass.seconds", own + [("quantile", quantile)])
        }
        #expect(metrics.counterTotal(label: "runloop.stalls") == 0)
    }

    @Test("A loop that the monitor does not watch, such as one that has ended, is not reported")
    func unwatchedLoop() throws {
        let metrics = TestMetrics()
        let thread = try LoopThread(name: "measured")
        let monitor = try StallMonitor(signal: nil)
        let meter = LoopMeter(thread.loop, name: "worker", of: monitor, factory: metrics)
        monitor.unwatch(thread.loop)
        meter.report()
        #expect(try metrics.expectCounter("runloop.callouts", [("loop", "worker")]).values.isEmpty)
    }

    /// Backends trap on a counter that is to go down.
    @Test("A loop that the monitor watches anew is reported from then on")
    func watchedAnew() throws {
        let metrics = TestMetrics()
        let thread = try LoopThread(name: "measured")
        let monitor = try StallMonitor(signal: nil)
        let meter = LoopMeter(thread.loop, name: "worker", of: monitor, factory: metrics)
        for _ in 1...3 { try thread.performAndWait {} }
        try thread.performAndWait { meter.report() }
        // In no handler, whose end would count.
        monitor.unwatch(thread.loop)
        monitor.watch(thread.loop, name: "worker")
        try thread.performAndWait {}
        try thread.performAndWait { meter.report() }
        let own = [("loop", "worker")]
        #expect(try metrics.expectCounter("runloop.callouts", own).values == [3, 1])
        #expect(try metrics.expectCounter("runloop.passes", own).values.allSatisfy { $0 >= 0 })
    }
}
