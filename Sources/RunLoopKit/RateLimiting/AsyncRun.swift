import Synchronization

/// An action that was started. It identifies every task that belongs to the action, and knows the actions that wait for
/// its end, so that actions never wait for each other in a ring.
final class AsyncRun: @unchecked Sendable {
    /// The action that the current task is part of.
    @TaskLocal static var current: AsyncRun?

    /// One lock for all limiters, since a ring can pass through several. Taken for an action's wait and at an action's
    /// end, even with the locks of a runner and of an outcome held.
    private final class Waits: Sendable {
        static let ofProcess = OnePerProcess { _ in Waits() }
        let lock = Lock(.asyncWaits)
    }

    /// The waits for this action's end; nil once it has ended. Guarded by the lock of `Waits`.
    private var waits: [AsyncWait]? = []

    /// Adds an action's wait for the end of this one. Returns false, without adding it, if this action waits for that
    /// one, directly or through others: neither would ever end.
    func add(_ wait: AsyncWait) -> Bool {
        Waits.ofProcess.object.lock.withLock {
            if wait.run.isWaited(forBy: self) { return false }
            waits?.removeAll { $0.isOver }
            waits?.append(wait)
            return true
        }
    }

    func end() {
        let ended = Waits.ofProcess.object.lock.withLock { waits.take() }
        withExtendedLifetime(ended) {}
    }

    /// Whether `other` cannot continue before this one has ended. The lock is held.
    private func isWaited(forBy other: AsyncRun) -> Bool {
        var seen: Set<ObjectIdentifier> = []
        var rest = [self]
        while let run = rest.popLast() {
            // No action waits for one that has ended, not even that one: tasks that it has left behind may call any
            // limiter.
            guard let waits = run.waits, seen.insert(ObjectIdentifier(run)).inserted else { continue }
            if run === other { return true }
            rest += waits.lazy.filter { !$0.isOver }.map(\.run)
        }
        return false
    }
}

/// An action's wait for the answer to a call.
final class AsyncWait: Sendable {
    let run: AsyncRun
    private let hasAnswer = Atomic<Bool>(false)

    init(of run: AsyncRun) { self.run = run }

    // Relaxed: it guards nothing. A thread that acts on the answer sees it. One that looks while the answer is given
    // may still find the action waiting.
    var isOver: Bool { hasAnswer.load(ordering: .relaxed) }

    func end() { hasAnswer.store(true, ordering: .relaxed) }
}
