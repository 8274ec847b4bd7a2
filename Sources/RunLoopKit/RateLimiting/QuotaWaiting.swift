/// A task that waits for tokens.
final class QuotaWaiter: @unchecked Sendable {
    let cost: Int
    /// When its tokens are there, on the quota's clock: provided when its turn has come.
    let turn = Promise<Int64>()
    fileprivate enum State { case inLine, withdrawn, served }
    /// Guarded by the quota's lock.
    @exclusivity(unchecked) fileprivate var state = State.inLine

    init(_ cost: Int) { self.cost = cost }
}

/// The tasks that wait for a quota's tokens, in the order of their calls. The one whose turn has come has taken its
/// tokens, which the quota owes until they are there; the others have taken none.
struct QuotaWaiters: ~Copyable {
    /// Whether a task has its turn.
    fileprivate var isServing = false
    /// Those behind it. Withdrawn ones stay until their turn.
    private var line = RingQueue<QuotaWaiter>()
    private var withdrawn = 0

    fileprivate mutating func append(_ waiter: QuotaWaiter) { line.append(waiter) }

    fileprivate mutating func takeFirst() -> QuotaWaiter? {
        while let waiter = line.takeFirst() {
            if waiter.state == .inLine {
                waiter.state = .served
                return waiter
            }
            withdrawn -= 1
        }
        return nil
    }

    /// Returns false if its turn has come.
    fileprivate mutating func withdraw(_ waiter: QuotaWaiter) -> Bool {
        guard waiter.state == .inLine else { return false }
        waiter.state = .withdrawn
        withdrawn += 1
        // Calls that are cancelled while the first waits for long must not use unbounded memory.
        if withdrawn > line.count / 2 + 16 { closeRanks() }
        return true
    }

    private mutating func closeRanks() {
        withdrawn = 0
        for _ in 0..<line.count {
            let waiter = line.removeFirst()
            if waiter.state == .inLine { line.append(waiter) }
        }
    }

    /// Those behind the one that has its turn.
    var count: Int { line.count - withdrawn }
}

extension Quota {
    /// Waits until the tokens are there, and takes them: tasks that wait get them in the order of their calls. In any
    /// task.
    ///
    /// ```swift
    /// let requests = Quota(50, per: .seconds(1), burst: 5)
    /// try await requests.wait()
    /// reload("/a")
    /// ```
    ///
    /// - *If the quota has the tokens* and no task waits, the call returns without suspending.
    /// - *A cost above the burst* waits until nothing is owed, as after ``reserve(_:)``: the rate holds for any cost.
    /// - *Calls of* ``take(_:)`` *meanwhile* are refused, since the first that waits has its tokens reserved. They get
    ///   tokens that are there when that task's time has come, and it has not continued yet.
    /// - *Cancelled,* a task gives back what it has reserved, and those behind it do not wait for it.
    /// - *A task whose actor is busy* when its time has come delays those behind it until it continues.
    /// - *In virtual time* call ``wait(_:on:)``: this traps, since nothing would wake the task at a virtual time.
    ///
    /// It sleeps on Swift's `SuspendingClock`, so no loop need run. Go: `Wait`; Guava: `acquire`; Bucket4j:
    /// `asScheduler().consume`.
    ///
    /// - Parameter cost: How many tokens. Zero or less waits for its turn, and takes none.
    /// - Throws: `CancellationError`; ``Quota/NoTokens`` if the tokens are not there, and none ever come.
    public nonisolated(nonsending) func wait(_ cost: Int = 1) async throws {
        require(!clock.isVirtual, "A task waits for a quota in virtual time: name the loop, by wait(_:on:)")
        try await wait(cost) { rest, _ in try await Task.sleep(for: .nanoseconds(rest), clock: SuspendingClock()) }
    }

    /// Waits as ``wait(_:)`` does, and sleeps on a loop's timers: in virtual time, too.
    ///
    /// - Parameters:
    ///   - cost: How many tokens.
    ///   - loop: A loop that runs in the common modes, and counts as the quota does: in real time, or on its virtual
    ///     clock.
    /// - Throws: `CancellationError`; ``Quota/NoTokens``; ``Loop/Ended`` if the loop has ended, or ends before the
    ///   tokens are there. They are given back then.
    public nonisolated(nonsending) func wait(_ cost: Int = 1, on loop: Loop) async throws {
        require(
            clock.isSame(as: loop.clock),
            "A task waits for a quota on a loop of another clock: both count in real time, or on one VirtualClock")
        try await wait(cost) { _, time in
            try await LoopClock(loop).sleep(until: Loop.Instant(nanoseconds: time))
        }
    }

    /// The error of a task that waits for tokens that never come.
    public struct NoTokens: Error, Equatable, Sendable, CustomStringConvertible {
        /// For tests of callers that handle it.
        public init() {}

        /// What happened.
        public var description: String { "the quota has too few tokens, and none ever come" }
    }

    // MARK: The line

    /// - Parameter sleep: Gets how long to sleep, and until when on the quota's clock.
    private nonisolated(nonsending) func wait(
        _ cost: Int, sleeping sleep: nonisolated(nonsending) (_ rest: Int64, _ time: Int64) async throws -> Void
    ) async throws {
        try Task.checkCancellation()
        guard let waiter = takeOrLineUp(cost) else { return }
        let time = try await waiter.turn.value { [self] in withdraw(waiter) }
        defer { endTurn() }
        let rest = time.subtractingSaturating(clock.nanoseconds)
        guard rest > 0 else { return }
        do {
            try await sleep(rest, time)
        } catch {
            giveBack(cost)
            throw error
        }
    }

    /// Returns nil if the tokens were taken.
    private func takeOrLineUp(_ cost: Int) -> QuotaWaiter? {
        lock.lock()
        if !waiters.isServing, rules.take(cost, from: &bucket, at: clock.nanoseconds) {
            lock.unlock()
            return nil
        }
        let waiter = QuotaWaiter(cost)
        waiters.append(waiter)
        if waiters.isServing { lock.unlock() } else { serveFirst(unlocking: lock.held) }
        return waiter
    }

    private func endTurn() {
        lock.lock()
        serveFirst(unlocking: lock.held)
    }

    /// Reserves the tokens of the first in the line, and tells it when they are there.
    private func serveFirst(unlocking held: consuming Lock.Held) {
        var failed: [QuotaWaiter] = []
        var served: (QuotaWaiter, Int64)?
        while served == nil, let waiter = waiters.takeFirst() {
            let now = clock.nanoseconds
            rules.charge(waiter.cost, to: &bucket, at: now)
            if let debt = rules.debt(of: bucket, at: now) {
                served = (waiter, now.addingSaturating(debt))
            } else {
                rules.giveBack(waiter.cost, to: &bucket, at: now)
                failed.append(waiter)
            }
        }
        waiters.isServing = served != nil
        lock.unlock(held)
        for waiter in failed { waiter.turn.fulfil(.failure(NoTokens())) }
        if let (waiter, time) = served { waiter.turn.fulfil(.success(time)) }
    }

    private func withdraw(_ waiter: QuotaWaiter) {
        // A task that has its turn already goes on to its sleep, which throws since the task is cancelled.
        guard lock.withLock({ waiters.withdraw(waiter) }) else { return }
        waiter.turn.fulfil(.failure(CancellationError()))
    }
}
