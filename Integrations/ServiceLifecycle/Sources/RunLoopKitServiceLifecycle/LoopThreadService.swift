import RunLoopKit
import ServiceLifecycle

/// A `LoopThread`, or all threads of a `LoopThreadPool`, as a service.
///
/// ```swift
/// let disk = try LoopThread(name: "disk")
/// let group = ServiceGroup(
///     services: [LoopThreadService(disk), server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// The threads work from the moment that they are made. The service decides when they end:
///
/// | what | the threads |
/// |---|---|
/// | a graceful shutdown | refuse further work, run the blocks and jobs that they have accepted, and end |
/// | a cancellation | end after the block that is running; blocks that have not begun are dropped |
/// | an end for another reason, such as `stop()` | have ended, and so has the service |
///
/// A cancellation may follow a graceful shutdown that takes too long. A group shuts its services down in the reverse of
/// their order: list the threads before the services that use them.
///
/// Sendable: any task may run the service, once. It retains the threads.
public struct LoopThreadService: Service, CustomStringConvertible {
    private let name: String
    private let stop: @Sendable (_ discardingPending: Bool) -> Void

    private let waitForEnd: @Sendable () async throws -> Void

    /// Makes a service of a thread.
    public init(_ thread: LoopThread) {
        name = thread.name
        stop = { thread.stop(discardingPending: $0) }
        waitForEnd = { try await thread.waitForEnd() }
    }

    /// Makes a service of all threads of a pool.
    public init(_ pool: LoopThreadPool) {
        name = pool.name
        stop = { pool.stop(discardingPending: $0) }
        waitForEnd = { try await pool.waitForEnd() }
    }

    /// The threads' name, by which a group logs the service.
    public var description: String { "LoopThreadService(\(name))" }

    /// Returns when the loops of all threads have ended.
    ///
    /// - Throws: `CancellationError` if the task was cancelled. The loops have ended then, too.
    public func run() async throws {
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                // A task of its own, which a cancellation of the service does not reach: the threads end first.
                await Task { try? await waitForEnd() }.value
            } onGracefulShutdown: {
                stop(false)
            }
        } onCancel: {
            stop(true)
        }
        try Task.checkCancellation()
    }
}
