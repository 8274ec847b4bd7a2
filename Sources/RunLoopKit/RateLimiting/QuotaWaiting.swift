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

/// The tasks that wait for tokens, in the order of their calls. One has its turn: it has taken its tokens, which the
/// quota owes until they are there. Those in the line behind it have taken none. So a line exists only while a task has
/// its turn. Guarded by the quota's lock.
final class QuotaLine: @unchecked Sendable {
    // Exclusivity is unchecked, as in `Loop`.
    /// Withdrawn ones stay until their turn.
    @exclusivity(unchecked) private var waiters = RingQueue<QuotaWaiter>()
    @exclusivity(unchecked) private var withdrawn = 0

    fileprivate func append(_ waiter: QuotaWaiter) { waiters.append(waiter) }

    fileprivate func takeFirst() -> QuotaWaiter? {
        while let waiter = waiters.takeFirst() {
            if waiter.state == .inLine {
                waiter.state = .served
                return waiter
            }
            withdrawn -= 1
        }
        return nil
    }

    /// Returns false if its turn has come.
    fileprivate func withdraw(_ waiter: QuotaWaiter) -> Bool {
        guard waiter.state == .inLine else { return false }
        waiter.state = .withdrawn
        withdrawn += 1
        // Calls that are cancelled while the first waits for long must not use unbounded memory.
        if withdrawn > waiters.count / 2 + 16 { closeRanks() }
        return true
    }

    private func closeRanks() {
        withdrawn = 0
        for _ in 0..<waiters.count {
            let waiter = waiters.removeFirst()
            if waiter.state == .inLine { waiters.append(waiter) }
        }
    }

    /// Those behind the one that has its turn.
    var count: Int { waiters.count - withdrawn }
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
    /// - *Cancelled,* a task gives back what it has reserved, unless ``reset()`` has forgiven it. Those behind it do
    ///   not wait for it.
    /// - *Two limits together,* such as those of an API, are one quota of two windows. Of two quotas, waited for in
    ///   turn, only the second holds exactly: its wait moves calls together that the first has spaced.
    /// - *A task whose actor is busy* when its time has come delays those behind it until it continues.
    /// - *In virtual time* call ``wait(_:on:)``: this traps, since nothing would wake the task at a virtual time.
    ///
    /// It sleeps on Swift's `SuspendingClock`, so no loop need run. Go: `Wait`; Guava: `acquire`; Bucket4j:
    /// `asScheduler().consume`.
    ///
    /// - Parameter cost: How many tokens. Zero or less waits for its turn, and takes none.
    /// - Throws: `CancellationError`; ``Quota/NoTokens`` if the tokens are not there, and none ever come.
    public nonisolated(nonsending) func wait(_ cost: Int = 1) async throws {
        try await waitInLine(cost)
    }

    /// Waits as ``wait(_:)`` does, and sleeps on a loop's timers: in virtual time, too.
    ///
    /// - Parameters:
    ///   - cost: How many tokens.
    ///   - loop: A loop that runs in the common modes, and counts as the quota does: in real time, or on its virtual
    ///     clock. An automatic one needs a task that prefers the loop: <doc:TestingInVirtualTime>.
    /// - Throws: `CancellationError`; ``Quota/NoTokens``; ``Loop/Ended`` if the loop has ended, or ends before the
    ///   tokens are there. They are given back then.
    public nonisolated(nonsending) func wait(_ cost: Int = 1, on loop: Loop) async throws {
        try await waitInLine(cost, on: loop)
    }

    /// The error of a task that waits for tokens that never come.
    public struct NoTokens: Error, Equatable, Sendable, CustomStringConvertible {
        /// For tests of callers that handle it.
        public init() {}

        /// What happened.
        public var description: String { "the quota has too few tokens, and none ever come" }
    }
}

extension KeyedQuota {
    /// Waits until the tokens of a key are there, and takes them, as ``Quota/wait(_:)`` does. In any task.
    ///
    /// ```swift
    /// let mails = KeyedQuota<String>(10, per: .seconds(60))
    /// try await mails.wait(for: "example.org")
    /// ```
    ///
    /// Each key has a line of its own: tasks get its tokens in the order of their calls, and wait for no other key. A
    /// key for which a task waits is kept, and forgotten later as any other. After ``reset(_:)`` the first task in the
    /// line continues no earlier, and if it is cancelled, it gives nothing back.
    ///
    /// Go: `Wait` of a limiter for each key.
    ///
    /// - Parameters:
    ///   - cost: How many tokens. Zero or less waits for its turn, and takes none.
    ///   - key: Whose tokens.
    /// - Throws: `CancellationError`; ``Quota/NoTokens`` if the tokens are not there, and none ever come.
    public nonisolated(nonsending) func wait(_ cost: Int = 1, for key: Key) async throws {
        try await QuotaOfKey(quota: self, key: key).waitInLine(cost)
    }

    /// Waits as ``wait(_:for:)`` does, and sleeps on a loop's timers: in virtual time, too.
    ///
    /// - Parameters:
    ///   - cost: How many tokens.
    ///   - key: Whose tokens.
    ///   - loop: A loop that runs in the common modes, and counts as the quota does: in real time, or on its virtual
    ///     clock. An automatic one needs a task that prefers the loop: <doc:TestingInVirtualTime>.
    /// - Throws: `CancellationError`; ``Quota/NoTokens``; ``Loop/Ended`` if the loop has ended, or ends before the
    ///   tokens are there. They are given back then.
    public nonisolated(nonsending) func wait(_ cost: Int = 1, for key: Key, on loop: Loop) async throws {
        try await QuotaOfKey(quota: self, key: key).waitInLine(cost, on: loop)
    }
}

// MARK: Waiting

/// Tokens for which tasks wait: a quota's, or those of a key.
protocol AwaitedTokens: Sendable {
    var rules: QuotaRules { get }
    var clock: LoopTime { get }

    /// Calls the body with the quota's lock held.
    func change<Result>(_ body: (inout QuotaTokens, inout QuotaLine?, _ now: Int64) -> Result) -> Result
}

extension Quota: AwaitedTokens {
    func change<Result>(
        _ body: (inout QuotaTokens, inout QuotaLine?, _ now: Int64) -> Result
    ) -> Result {
        lock.withLock { body(&tokens, &line, clock.nanoseconds) }
    }
}

struct QuotaOfKey<Key: Hashable & Sendable>: AwaitedTokens {
    let quota: KeyedQuota<Key>
    let key: Key

    var rules: QuotaRules { quota.rules }
    var clock: LoopTime { quota.clock }

    func change<Result>(_ body: (inout QuotaTokens, inout QuotaLine?, _ now: Int64) -> Result) -> Result {
        quota.changeWithLine(key, body)
    }
}

extension AwaitedTokens {
    fileprivate nonisolated(nonsending) func waitInLine(_ cost: Int) async throws {
        require(!clock.isVirtual, "A task waits for a quota in virtual time: name the loop, by wait(_:on:)")
        try await wait(cost) { rest, _ in try await Task.sleep(for: .nanoseconds(rest), clock: SuspendingClock()) }
    }

    fileprivate nonisolated(nonsending) func waitInLine(_ cost: Int, on loop: Loop) async throws {
        requireSameClock(as: loop)
        try await wait(cost) { _, time in
            try await LoopClock(loop).sleep(until: Loop.Instant(nanoseconds: time))
        }
    }

    func requireSameClock(as loop: Loop) {
        require(
            clock.isSame(as: loop.clock),
            "A task waits for a quota on a loop of another clock: both count in real time, or on one VirtualClock")
    }

    /// - Parameter sleep: Gets how long to sleep, and until when on the quota's clock.
    private nonisolated(nonsending) func wait(
        _ cost: Int, sleeping sleep: nonisolated(nonsending) (_ rest: Int64, _ time: Int64) async throws -> Void
    ) async throws {
        try Task.checkCancellation()
        guard let waiter = takeOrLineUp(cost) else { return }
        let time = try await waiter.turn.value { withdraw(waiter) }
        let rest = time.subtractingSaturating(clock.nanoseconds)
        do {
            if rest > 0 { try await sleep(rest, time) }
        } catch {
            endTurn(givingBack: cost, ofTime: time)
            throw error
        }
        endTurn()
    }

    /// Returns nil if the tokens were taken.
    private func takeOrLineUp(_ cost: Int) -> QuotaWaiter? {
        let (waiter, turns): (QuotaWaiter?, Turns) = change { tokens, line, now in
            if line == nil, rules.take(cost, from: &tokens, at: now) { return (nil, Turns()) }
            return lineUp(cost, &tokens, &line, at: now)
        }
        turns.announce()
        return waiter
    }

    /// Enters the line, even if the tokens are there.
    func lineUp(_ cost: Int) -> QuotaWaiter {
        let (waiter, turns) = change { lineUp(cost, &$0, &$1, at: $2) }
        turns.announce()
        return waiter
    }

    private func lineUp(
        _ cost: Int, _ tokens: inout QuotaTokens, _ line: inout QuotaLine?, at now: Int64
    ) -> (QuotaWaiter, Turns) {
        let waiter = QuotaWaiter(cost)
        let isFirst = line == nil
        line = line ?? QuotaLine()
        line!.append(waiter)
        return (waiter, isFirst ? serveFirst(&tokens, &line, at: now) : Turns())
    }

    /// What the task gives back goes to those behind it: no call of `take` finds it before they are served.
    func endTurn(givingBack cost: Int = 0, ofTime time: Int64 = 0) {
        let turns = change { tokens, line, now in
            if tokens.wereChargedWithTurn { rules.giveBack(cost, ofTime: time, to: &tokens, at: now) }
            return serveFirst(&tokens, &line, at: now)
        }
        turns.announce()
    }

    /// Reserves the tokens of the first in the line, and ends the line if it has none.
    private func serveFirst(_ tokens: inout QuotaTokens, _ line: inout QuotaLine?, at now: Int64) -> Turns {
        var turns = Turns()
        while let waiter = line?.takeFirst() {
            rules.charge(waiter.cost, to: &tokens, at: now)
            if let debt = rules.debt(of: tokens, at: now) {
                tokens.wereChargedWithTurn = true
                turns.served = (waiter, now.addingSaturating(debt))
                return turns
            }
            rules.giveBack(waiter.cost, ofTime: .max, to: &tokens, at: now)
            turns.failed.append(waiter)
        }
        line = nil
        return turns
    }

    func withdraw(_ waiter: QuotaWaiter) {
        // A task that has its turn already goes on to its sleep, which throws since the task is cancelled.
        guard change({ _, line, _ in line?.withdraw(waiter) ?? false }) else { return }
        waiter.turn.fulfil(.failure(CancellationError()))
    }
}

/// Whose turn has come: told without the lock.
private struct Turns {
    /// And when its tokens are there.
    var served: (waiter: QuotaWaiter, time: Int64)?
    /// Those whose tokens never come.
    var failed: [QuotaWaiter] = []

    func announce() {
        for waiter in failed { waiter.turn.fulfil(.failure(Quota.NoTokens())) }
        if let served { served.waiter.turn.fulfil(.success(served.time)) }
    }
}
