public import Metrics
public import RunLoopDiagnostics
public import RunLoopKit
import Synchronization

/// Reports to swift-metrics what a loop does: counters, and gauges about the time since the report before.
///
/// ```swift
/// let monitor = try StallMonitor()
/// let meter = LoopMeter(.main, name: "main", of: monitor)
/// Loop.main.add(Loop.Timer(every: .seconds(10)) { _ in meter.report() }, in: .common)
/// ```
///
/// All metrics have the dimension `loop`, the loop's name.
///
/// | metric | kind | what |
/// |---|---|---|
/// | `runloop.callouts`, `runloop.passes`, `runloop.stalls` | counter | How many calls of handlers, passes, stalls. |
/// | `runloop.callouts.seconds`, `runloop.awake.seconds` | counter | Time in handlers; time awake, with that. |
/// | `runloop.utilisation` | gauge | The share of the time awake that was spent in handlers, from 0 to 1. |
/// | `runloop.lateness.seconds` | gauge | How late timers fired; `quantile` is `0.5`, `0.99` or `1`. |
/// | `runloop.pass.seconds` | gauge | How long a pass took, without its sleep; quantiles likewise. |
/// | `runloop.waiting` | gauge | What waits now; `kind` is `blocks`, `jobs`, `sources` or `timers`. |
///
/// A stalled loop reports nothing if it reports about itself: a timer of another loop shows stalls while they last.
///
/// Any thread may call everything here. The meter retains the loop and the monitor.
public final class LoopMeter: Sendable {
    /// The quantiles, and the dimension's values.
    private static let quantiles = [(50.0, "0.5"), (99.0, "0.99"), (100.0, "1")]

    private let loop: Loop
    private let monitor: StallMonitor
    private let last: Mutex<LoopMetrics?>

    private let callouts, passes, stalls: Counter
    private let timeInCallouts, timeAwake: FloatingPointCounter
    private let utilisation: Gauge
    private let lateness, passLengths: [Gauge]
    private let blocks, jobs, sources, timers: Gauge

    /// Makes a meter. The first report covers the time since the monitor began to watch the loop. So does the first one
    /// after the monitor has stopped to watch the loop, and begun anew.
    ///
    /// - Parameters:
    ///   - loop: Watched by the monitor from now on, if it is not already.
    ///   - name: The loop's name in metrics, and in the monitor's reports of stalls.
    ///   - monitor: Measures the loop.
    ///   - factory: Makes the metrics.
    public init(
        _ loop: Loop, name: String, of monitor: StallMonitor, factory: any MetricsFactory = MetricsSystem.factory
    ) {
        (self.loop, self.monitor) = (loop, monitor)
        last = Mutex(nil)
        let own = ("loop", name)
        func counter(_ label: String) -> Counter { Counter(label: label, dimensions: [own], factory: factory) }
        func time(_ label: String) -> FloatingPointCounter {
            FloatingPointCounter(label: label, dimensions: [own], factory: factory)
        }
        func gauge(_ label: String, _ more: (String, String)...) -> Gauge {
            Gauge(label: label, dimensions: [own] + more, factory: factory)
        }
        func quantiles(_ label: String) -> [Gauge] { LoopMeter.quantiles.map { gauge(label, ("quantile", $0.1)) } }
        callouts = counter("runloop.callouts")
        passes = counter("runloop.passes")
        stalls = counter("runloop.stalls")
        timeInCallouts = time("runloop.callouts.seconds")
        timeAwake = time("runloop.awake.seconds")
        utilisation = gauge("runloop.utilisation")
        lateness = quantiles("runloop.lateness.seconds")
        passLengths = quantiles("runloop.pass.seconds")
        blocks = gauge("runloop.waiting", ("kind", "blocks"))
        jobs = gauge("runloop.waiting", ("kind", "jobs"))
        sources = gauge("runloop.waiting", ("kind", "sources"))
        timers = gauge("runloop.waiting", ("kind", "timers"))
        monitor.watch(loop, name: name)
    }

    /// Reports what has happened since the report before. Does nothing once the loop has ended.
    public func report() {
        // Under the lock, so that of two concurrent reports each has its own period.
        last.withLock { last in
            guard let now = monitor.metrics(of: loop) else { return }
            report(last.map { now.since($0) } ?? now)
            last = now
        }
    }

    private func report(_ period: LoopMetrics) {
        callouts.increment(by: period.callouts)
        passes.increment(by: period.passes.count)
        stalls.increment(by: period.stalls)
        timeInCallouts.increment(by: period.timeInCallouts.seconds)
        timeAwake.increment(by: period.timeAwake.seconds)
        utilisation.record(period.utilisation)
        for (index, (percent, _)) in LoopMeter.quantiles.enumerated() {
            lateness[index].record(period.timerLateness.percentile(percent).seconds)
            passLengths[index].record(period.passes.percentile(percent).seconds)
        }
        blocks.record(period.waiting.blocks)
        jobs.record(period.waiting.jobs)
        sources.record(period.waiting.sources)
        timers.record(period.waiting.timers)
    }
}

extension Duration {
    fileprivate var seconds: Double { self / .seconds(1) }
}
