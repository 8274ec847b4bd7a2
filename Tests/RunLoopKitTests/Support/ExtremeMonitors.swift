import LoopTestSupport

@testable import RunLoopDiagnostics
@testable import RunLoopKit

extension ExtremeProgram {
    /// The times of monitors, and of what they measure.
    func useMonitor(on thread: LoopThread) throws {
        let thresholds = [duration, duration, .nanoseconds(1)]
        let monitor = try StallMonitor(thresholds: thresholds, signal: nil) { _ = $0.description }
        monitor.watch(thread)
        for _ in 0..<3 { try thread.performAndWait { _ = System.monotonicNanoseconds() } }
        let metrics = monitor.metrics(of: thread.loop)
        for percent in [-Double.infinity, -1, 0, 1e-300, 100, 1e300, .infinity, .nan] {
            _ = metrics?.passes.percentile(percent)
            var own = DurationHistogram()
            own.record(duration)
            own.record(duration)
            _ = own.percentile(percent)
        }
        _ = metrics.map { $0.since($0).description }
        try lookAtStalls(of: thread)
    }

    /// Without a short threshold, and on this thread, so that each look is made before the program ends.
    private func lookAtStalls(of thread: LoopThread) throws {
        for threshold in [max(1, duration.wholeNanoseconds), .max] {
            let rules = StallRules(
                thresholds: [threshold], isTraced: { false }, prepareThread: {}, takeBacktrace: { _ in nil })
            let watcher = StallWatcher(rules, now: { System.monotonicNanoseconds() }, handler: { _ = $0.description })
            _ = watcher.watch(thread.loop, name: "extreme")
            try thread.performAndWait { _ = watcher.check(at: System.monotonicNanoseconds()) }
            _ = watcher.check(at: System.monotonicNanoseconds())
            watcher.unwatchAll()
        }
    }
}
