/// The thread that ends the waits of tasks when their time is up. The first wait with a limit starts it.
///
/// Not a task that sleeps: one that is cancelled leaves a timer in libdispatch until its time, and needs a thread of
/// Swift's pool, which may be busy.
final class TimeLimits: Sendable {
    private static let ofProcess = OnePerProcess { _ in TimeLimits() }
    static var shared: TimeLimits { ofProcess.object }

    private let lock = Lock(.leaf)
    /// Guarded by the lock.
    private nonisolated(unsafe) var thread: LoopThread?

    /// Calls a handler on the thread when the time is up, unless the timer is invalidated before.
    ///
    /// - Throws: ``LoopError`` if the thread cannot be started.
    func timer(after limit: Duration, _ handler: @escaping @Sendable () -> Void) throws(LoopError) -> Loop.Timer {
        let timer = Loop.Timer(after: limit, label: "time limit") { _ in handler() }
        try loop().add(timer)
        return timer
    }

    private func loop() throws(LoopError) -> Loop {
        if let known = lock.withLock({ thread }) { return known.loop }
        let made = try LoopThread(name: "time limits")
        // It takes no signals that sources of the program wait for.
        try? made.performAndWait { System.blockAllSignals() }
        // Of two threads that are started at the same moment one is dropped.
        return lock.withLock {
            if thread == nil { thread = made }
            return thread!.loop
        }
    }
    #if DEBUG
        /// Ends the thread, for programs that let the next limit start it again. No limit is running.
        func end() {
            let ended = lock.withLock { thread.take() }
            ended?.stop()
            ended?.join()
        }
    #endif
}
