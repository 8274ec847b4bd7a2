import Synchronization

/// An action that was begun, the mark of all that runs for it, and who waits for its end: so that actions never wait for
/// each other in a ring.
final class AsyncRun: @unchecked Sendable {
    /// The action that the current task is part of.
    @TaskLocal static var current: AsyncRun?

    /// One for all limiters: a ring can go through several. Taken for waits of actions, and at an action's end; with the
    /// locks of a runner and of an outcome held or without.
    private static let lock = Lock(.asyncWaits)

    /// Nil once it has ended. Guarded by `lock`.
    private var waits: [AsyncWait]? = []

    /// Has an action wait for the end of this one. Returns false, and leaves it, if this one waits for that one, itself or
    /// by way of others: neither would ever end.
    @discardableResult
    func add(_ wait: AsyncWait) -> Bool {
        AsyncRun.lock.withLock {
            if wait.run.isWaited(forBy: self) { return false }
            waits?.removeAll { $0.isOver }
            waits?.append(wait)
            return true
        }
    }

    func end() {
        let ended = AsyncRun.lock.withLock {
            defer { waits = nil }
            return waits
        }
        withExtendedLifetime(ended) {}
    }

    /// Whether `other` cannot go on before this one has ended. The lock is held.
    private func isWaited(forBy other: AsyncRun) -> Bool {
        var seen: Set<ObjectIdentifier> = []
        var rest = [self]
        while let run = rest.popLast() {
            // Nobody waits for one that has ended, not even itself: what it has left behind may call as it likes.
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

    // Relaxed: it guards nothing. What follows from the answer sees it; who looks at the same time as it is given may find
    // that the action waits still.
    var isOver: Bool { hasAnswer.load(ordering: .relaxed) }

    func end() { hasAnswer.store(true, ordering: .relaxed) }
}
