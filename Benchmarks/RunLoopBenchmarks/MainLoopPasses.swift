import RunLoopKit

/// Passes of the main loop that find nothing to do: it has the main queue to look at, too. Another thread's loop is
/// beside it in the tables.
final class MainLoopPasses: OperationSubject {
    let name = "RunLoopKit, Loop.main"
    private let idle: Loop.PortSource

    private final class Passes: @unchecked Sendable { var left = 0 }

    init() throws {
        idle = try Loop.PortSource { _ in }
        Loop.main.add(idle)
    }

    deinit { idle.invalidate() }

    /// On the initial thread.
    func measure(_ count: Int) -> Int64 {
        let passes = Passes()
        passes.left = count
        let observer = Loop.Observer(.beforeWaiting) { _, _ in
            passes.left -= 1
            if passes.left >= 0 { Loop.main.wakeUp() } else { Loop.main.stop() }
        }
        Loop.main.add(observer)
        defer { observer.invalidate() }
        let start = monotonicNow()
        Loop.main.run()
        return monotonicNow() - start
    }
}
