import LoopTestSupport
import RunLoopKit

/// A thread in virtual time, and what its tasks have got of a quota, and when.
final class QuotaStage: Sendable {
    let thread: LoopThread
    let log = Log<String>()

    init() throws { thread = try LoopThread(clock: VirtualClock()) }

    var loop: Loop { thread.loop }

    /// Waits in a task of its own. The tasks of one stage begin in order.
    func wait(_ quota: Quota, _ name: String, cost: Int = 1) -> Task<Void, any Error> {
        task(name) { [loop] in try await quota.wait(cost, on: loop) }
    }

    /// Waits for the tokens of a key.
    func wait(_ quota: KeyedQuota<String>, _ key: String, _ name: String, cost: Int = 1) -> Task<Void, any Error> {
        task(name) { [loop] in try await quota.wait(cost, for: key, on: loop) }
    }

    /// Performs something in a task that prefers the loop, and notes its end.
    func task(_ name: String, _ body: @escaping @Sendable () async throws -> Void) -> Task<Void, any Error> {
        Task(executorPreference: loop.taskExecutor) { [self] in
            do {
                try await body()
                log.add("\(name) at \(seconds)")
            } catch {
                log.add("\(name) \(type(of: error)) at \(seconds)")
            }
        }
    }

    var seconds: Double { Double(loop.now.nanoseconds) / 1e9 }

    /// Performs a block of the loop at a virtual time.
    func at(_ seconds: Double, _ block: @escaping @Sendable () -> Void) {
        loop.add(Loop.Timer(at: .init(nanoseconds: Int64(seconds * 1e9))) { _ in block() })
    }

    /// Tasks that all begin at the same virtual time.
    func play(_ make: @escaping @Sendable (QuotaStage) -> [Task<Void, any Error>]) async throws -> [String] {
        let tasks = try await thread.run { make(self) }
        for task in tasks { try await task.value }
        return log.entries
    }
}
