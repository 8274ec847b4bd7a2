/// So many tasks at once: when all places are taken, a task waits for one. Any thread and any task may use it.
///
/// ```swift
/// let downloads = ConcurrencyLimit(3)
/// let sizes = await withTaskGroup(of: Int.self) { group in
///     for page in ["/a", "/b", "/c", "/d", "/e"] {
///         group.addTask { (try? await downloads.run { page.utf8.count }) ?? 0 }  // or what takes longer
///     }
///     return await group.reduce(0, +)
/// }
/// ```
///
/// - *In order:* tasks get their places in the order of their calls.
/// - *Cancelled* while it waits, a task leaves the line, and its call throws `CancellationError`. One that has its
///   place runs the body, which may ask `Task.isCancelled`.
/// - *A place is taken* as soon as it is a task's turn, even while the task's actor or loop is busy.
/// - *A call inside the body* needs another place: if all that have a place make one, none goes on.
/// - *For a rate* take a ``Quota``; for blocks on threads a ``LoopThreadPool``. For both, wait for the quota inside the
///   body: tasks that have their tokens would gather in front of the limit. A server sees some calls late, and the next
///   ones in time, so leave a margin: ``KeyedQuota/run(_:for:limitedBy:on:_:)``.
/// - *With a quota for each key,* tasks that wait for one key would hold the places of the others: call
///   ``KeyedQuota/run(_:for:limitedBy:on:_:)``.
///
/// It needs no loop. JavaScript: `p-limit`. Go: `errgroup.SetLimit`.
public final class ConcurrencyLimit: CustomStringConvertible, @unchecked Sendable {
    /// How many tasks may be in the body at once.
    public let count: Int

    private let lock = Lock(.leaf)
    // Guarded by `lock`, and therefore without checks of exclusivity.
    @exclusivity(unchecked) private var taken = 0
    /// The tasks that wait, while all places are taken.
    @exclusivity(unchecked) private var line = WaitingSenders<Void>()

    /// Makes a limit whose places are free. On any thread.
    ///
    /// - Parameter count: How many tasks may be in the body at once. Less than 1 counts as 1.
    public init(_ count: Int) { self.count = max(1, count) }

    /// Calls a function as soon as there is a place for it, and returns its result.
    ///
    /// The call enters the line before the task suspends, without leaving the caller's actor. If a place is free, the
    /// task does not suspend before the body.
    ///
    /// - Parameter body: Called in the caller's task and isolation. Its place is free when it has returned or thrown.
    /// - Throws: `CancellationError` if the task is cancelled before it has a place; what the function throws.
    public nonisolated(nonsending) func run<Value>(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        try await enter()
        defer { leave() }
        return try await body()
    }

    /// Waits for a place. `leave()` follows.
    nonisolated(nonsending) func enter() async throws {
        try Task.checkCancellation()
        guard let waiter = takePlaceOrWait() else { return }
        try await waiter.answer.value { [self] in withdraw(waiter) }
    }

    /// Takes a place if one is free.
    func enterIfFree() -> Bool {
        lock.withLock {
            guard taken < count else { return false }
            taken += 1
            return true
        }
    }

    /// How many tasks are in the body now. From any thread.
    public var runningCount: Int { lock.withLock { taken } }

    /// How many tasks wait for a place. From any thread.
    public var waitingCount: Int { lock.withLock { line.count } }

    /// The limit, and how many tasks run and wait.
    public var description: String {
        let (running, waiting) = lock.withLock { (taken, line.count) }
        return "ConcurrencyLimit: \(running) of \(count) run, \(waiting) wait"
    }

    /// Nil if the task has a place.
    private func takePlaceOrWait() -> WaitingSender<Void>? {
        lock.withLock {
            guard taken == count else {
                taken += 1
                return nil
            }
            let waiter = WaitingSender<Void>(())
            line.append(waiter)
            return waiter
        }
    }

    /// The task's wait ends with an error, unless it has a place already.
    private func withdraw(_ waiter: WaitingSender<Void>) {
        let isWithdrawn = lock.withLock { line.withdraw(waiter) != nil }
        if isWithdrawn { waiter.answer.fulfil(.failure(CancellationError())) }
    }

    /// Gives the place to the first task in the line.
    func leave() {
        let next = lock.withLock {
            let next = line.takeFirst()
            if next == nil { taken -= 1 }
            return next
        }
        next?.sender.answer.fulfil(.success(()))
    }
}
