import RunLoopDiagnostics
import RunLoopKit

/// A block that is posted and run, with and without diagnostics that watch the loop.
struct DiagnosticsOverhead: Scenario {
    let name = "diagnostics-overhead"
    let summary = "A block posted and run by one pass, with and without diagnostics."

    func run(_ effort: Effort) throws -> Outcome {
        let worker = try LoopThread(name: "worker")
        let subjects: [any OperationSubject] = [
            ClockRead(), PostAndRun(Outcome.kit, worker) { _ in nil },
            PostAndRun("RunLoopKit, tracer", worker) { loop in
                let tracer = LoopTracer()
                tracer.attach(to: loop)
                return tracer
            },
            PostAndRun("RunLoopKit, stall monitor", worker) { loop in
                let monitor = try! StallMonitor { _ in }
                monitor.watch(loop, name: "worker")
                return monitor
            },
        ]
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) posts and passes",
            rows: subjects.measured(name, effort), bare: "clock_gettime",
            notes: [
                "A tracer records ten events of each: six activities, the post, the call and its end, queue lengths."
            ])
    }
}

private final class ClockRead: OperationSubject {
    let name = "clock_gettime"

    func measure(_ count: Int) -> Int64 {
        let start = monotonicNow()
        for _ in 0..<count { _ = monotonicNow() }
        return monotonicNow() - start
    }
}

private final class PostAndRun: OperationSubject {
    let name: String
    private let worker: LoopThread
    /// Makes the diagnostic that watches the loop while the returned object exists.
    private let watch: (Loop) -> AnyObject?

    init(_ name: String, _ worker: LoopThread, watch: @escaping (Loop) -> AnyObject?) {
        (self.name, self.worker, self.watch) = (name, worker, watch)
    }

    func measure(_ count: Int) -> Int64 {
        let diagnostic = watch(worker.loop)
        defer { withExtendedLifetime(diagnostic) {} }
        return try! worker.performAndWait {
            let loop = Loop.current
            let start = monotonicNow()
            for _ in 0..<count {
                loop.perform(in: "measured") {}
                loop.run(mode: "measured", for: .zero)
            }
            return monotonicNow() - start
        }
    }
}
