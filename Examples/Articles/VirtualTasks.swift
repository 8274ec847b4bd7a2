import RunLoopKit

// An actor on a loop, whose tasks sleep on the loop's clock.
actor Backup {
    private let thread: LoopThread
    private(set) var count = 0
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.loop.asUnownedSerialExecutor()
    }
    nonisolated var clock: LoopClock { LoopClock(thread.loop) }

    /// - Parameter clock: Nil for real time.
    init(clock: VirtualClock? = nil) throws {
        thread = try LoopThread(name: "backup", clock: clock)
    }

    func run(days: Int) async throws {
        for _ in 1...days {
            try await Task.sleep(for: .seconds(24 * 3600), clock: clock)
            count += 1
        }
    }

    /// The task prefers the actor's own loop.
    nonisolated func start(days: Int) -> Task<Void, any Error> {
        Task(executorPreference: thread.loop.taskExecutor) {
            try await self.run(days: days)
        }
    }
}

let clock = VirtualClock()
let backup = try Backup(clock: clock)
try await backup.start(days: 365).value
let days = clock.now.nanoseconds / 1_000_000_000 / (24 * 3600)
print("\(await backup.count) backups in \(days) days")
