import RunLoopKit

extension Operation {
    /// Jobs of Swift concurrency.
    static let jobs = [
        Operation("task-and-run") { loop in
            loop.add(try Loop.PortSource { _ in })
            return { count in
                for _ in 0..<count {
                    Task(executorPreference: loop.taskExecutor) {}
                    loop.run(for: .zero)
                }
            }
        },
        // The task gives way, so that its next part is a new job. All in one run.
        Operation("job-chain") { loop in
            loop.add(try Loop.PortSource { _ in })
            return { count in
                Task(executorPreference: loop.taskExecutor) {
                    for _ in 0..<count { await Task.yield() }
                    loop.stop()
                }
                loop.run(for: .anHour)
            }
        },
    ]
}
