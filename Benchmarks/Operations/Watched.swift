import RunLoopDiagnostics
import RunLoopKit

extension Operation {
    /// A block, posted and run, on a loop that diagnostics watch.
    static let watched = [
        Operation("post-and-run-traced") { loop in
            let tracer = LoopTracer()
            tracer.attach(to: loop)
            return { count in withExtendedLifetime(tracer) { postAndRun(on: loop, count) } }
        },
        Operation("post-and-run-watched") { loop in
            let monitor = try StallMonitor { _ in }
            monitor.watch(loop, name: "watched")
            return { count in withExtendedLifetime(monitor) { postAndRun(on: loop, count) } }
        },
    ]

    static func postAndRun(on loop: Loop, _ count: Int) {
        for _ in 0..<count {
            loop.perform {}
            loop.run(for: .zero)
        }
    }
}
