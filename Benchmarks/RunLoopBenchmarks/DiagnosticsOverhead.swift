import RunLoopDiagnostics
import RunLoopKit

/// A block that is posted and run, with and without diagnostics that watch the loop.
struct DiagnosticsOverhead: Scenario {
    let name = "diagnostics-overhead"
    let summary = "A block posted and run by one pass, with and without diagnostics."

    func run(_ effort: Effort) throws -> Outcome {
        let worker = try LoopThread(name: "worker")
        // Made once: its ring is full after a few rounds, and new events need no new page.
        let tracer = LoopTracer()
        let monitor = try StallMonitor { _ in }
        let subjects: [any OperationSubject] = [
            ClockRead(), PostAndRun(Outcome.kit, worker),
            PostAndRun("RunLoopKit, tracer", worker) {
                tracer.attach(to: $0)
            } detach: {
                tracer.detach(from: $0)
            },
            PostAndRun("RunLoopKit, stall monitor", worker) { loop in
                monitor.watch(loop, name: "worker")
                monitor.flush()  // Its thread has looked at the loop, and sleeps.
            } detach: {
                monitor.unwatch($0)
            },
        ]
        return Outcome(
            scenario: name, title: "\(effort.operationRounds) rounds of \(effort.operationsPerRound) posts and passes",
            rows: subjects.measured(name, effort), bare: "clock_gettime",
            notes: [
                "A tracer records seven events of each: four activities, the post, the call and its end."
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
    private let attach: (Loop) -> Void
    private let detach: (Loop) -> Void

    init(
        _ name: String, _ worker: LoopThread, attach: @escaping (Loop) -> Void = { _ in },
        detach: @escaping (Loop) -> Void = { _ in }
    ) {
        (self.name, self.worker, self.attach, self.detach) = (name, worker, attach, detach)
    }

    func measure(_ count: Int) -> Int64 {
        attach(worker.loop)
        defer { detach(worker.loop) }
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
