/// The threads that the library has started and that have not begun to run. Until they do, the kernel shows them
/// without their names, and with all signals blocked.
final class StartingThreads: @unchecked Sendable {
    private static let ofProcess = OnePerProcess { _ in StartingThreads() }
    static var shared: StartingThreads { ofProcess.object }

    private let lock = Lock(.leaf)
    private let changed = Condition()

    /// Guarded by the lock, and therefore without checks of exclusivity.
    @exclusivity(unchecked) private var count = 0

    /// Called before a thread is started.
    func willStart() { lock.withLock { count += 1 } }

    /// Called by the thread once it has its name, or if it could not be started.
    func hasBegun() {
        lock.withLock { count -= 1 }
        changed.broadcast()
    }

    /// Waits until all threads that have been started have begun.
    func wait() { lock.withLock { while count > 0 { changed.wait(with: lock) } } }
}
