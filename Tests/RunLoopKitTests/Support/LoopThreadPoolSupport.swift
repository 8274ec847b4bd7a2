import LoopTestSupport
import RunLoopKit

/// A piece of work that blocks its worker.
final class Blocker: Sendable {
    private let hasBegun = Gate()
    private let isReleased = Gate()
    private let thread = Log<String>()

    func block() {
        thread.add(Kernel.threadName)
        hasBegun.open()
        isReleased.wait()
    }

    func awaitStart() -> String {
        hasBegun.wait()
        return thread.entries[0]
    }

    func release() { isReleased.open() }
}

/// Blocks every worker, each with one piece of work.
func blockWorkers(of pool: LoopThreadPool) -> [Blocker] {
    (0..<pool.count).map { _ in
        let blocker = Blocker()
        pool.perform { blocker.block() }
        _ = blocker.awaitStart()
        return blocker
    }
}

func makePool(_ count: Int, _ policy: LoopThreadPool.Policy = .leastLoaded) throws -> LoopThreadPool {
    try LoopThreadPool(count: count, policy: policy, options: .init(name: "pool"))
}
