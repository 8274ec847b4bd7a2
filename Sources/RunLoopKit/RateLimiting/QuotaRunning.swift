extension KeyedQuota {
    /// Calls a function as soon as a key has its tokens, *and* there is a place for it: so many calls a second for each
    /// key, and so many at once of all keys. In any task.
    ///
    /// ```swift
    /// let calls = KeyedQuota<String>(.atMost(5, inAny: .seconds(1)), on: loop)
    /// let atOnce = ConcurrencyLimit(3)
    /// let answer = try await calls.run(for: "example.org", limitedBy: atOnce, on: loop) {
    ///     try await fetchResults(for: "run loop")
    /// }
    /// ```
    ///
    /// - *The tokens* are taken when the function is called, and not while it waits for its place. So the rate holds
    ///   for the calls themselves. A server sees some of them late, and the next ones in time: leave a margin of what
    ///   that may differ by, as in `.atMost(5, inAny: .seconds(1) + .milliseconds(50))`.
    /// - *Order:* tasks of one key are called in the order of their calls. Only the first of each key waits for a
    ///   place, and it holds none while it waits for tokens.
    /// - *Calls of* ``take(_:for:)`` are refused while the first task of the key waits for tokens. While it waits for
    ///   its place, they get what is there; then it waits for tokens once more.
    /// - *Cancelled* before the function is called, a task takes nothing. Tokens stay taken if the function throws: one
    ///   that has sent nothing may give them back, by ``giveBack(_:for:)``.
    ///
    /// - Parameters:
    ///   - cost: How many tokens.
    ///   - key: Whose tokens.
    ///   - limit: The places. Other calls may use them, too.
    ///   - loop: A loop that runs in the common modes, and counts as the quota does: in real time, or on its virtual
    ///     clock. An automatic one needs a task that prefers the loop: <doc:TestingInVirtualTime>.
    ///   - body: Called in the caller's task and isolation. Its place is free when it has returned or thrown.
    /// - Returns: What the function returns.
    /// - Throws: What the function throws; `CancellationError`; ``Quota/NoTokens``; ``Loop/Ended`` if the loop has
    ///   ended, or ends before the tokens are there.
    public nonisolated(nonsending) func run<Value>(
        _ cost: Int = 1, for key: Key, limitedBy limit: ConcurrencyLimit, on loop: Loop,
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        let tokens = QuotaOfKey(quota: self, key: key)
        tokens.requireSameClock(as: loop)
        try Task.checkCancellation()
        if !tokens.take(cost, withPlaceOf: limit) { try await tokens.wait(cost, forPlaceOf: limit, on: loop) }
        defer { limit.leave() }
        return try await body()
    }
}

extension AwaitedTokens {
    /// Takes the tokens and a place, if both are there and no task waits.
    fileprivate func take(_ cost: Int, withPlaceOf limit: ConcurrencyLimit) -> Bool {
        guard limit.enterIfFree() else { return false }
        if change({ $1 == nil && rules.take(cost, from: &$0, at: $2) }) { return true }
        limit.leave()
        return false
    }

    /// Waits for the tokens, and then, still the first in the line, for a place.
    fileprivate nonisolated(nonsending) func wait(
        _ cost: Int, forPlaceOf limit: ConcurrencyLimit, on loop: Loop
    ) async throws {
        let waiter = lineUp(cost)
        // When the charged tokens are there; nil while none are charged.
        var time: Int64? = try await waiter.turn.value { withdraw(waiter) }
        do {
            while true {
                if let time, time > clock.nanoseconds {
                    try await LoopClock(loop).sleep(until: Loop.Instant(nanoseconds: time))
                }
                if !limit.enterIfFree() {
                    time = giveBack(cost, ofTime: time)
                    try await limit.enter()
                }
                // It may have been cancelled after it got its place, or its turn.
                if !Task.isCancelled {
                    time = takeNow(cost, insteadOf: time)
                    guard time != nil else { return endTurn() }
                }
                limit.leave()
                try Task.checkCancellation()
                if time == .max { throw Quota.NoTokens() }
            }
        } catch {
            endTurn(givingBack: time == nil ? 0 : cost, ofTime: time ?? 0)
            throw error
        }
    }

    /// Gives the tokens back, since the task is about to wait for its place, and returns nil. A cost that the quota
    /// never holds stays charged, or it would be awaited without an end: then this returns the time.
    private func giveBack(_ cost: Int, ofTime time: Int64?) -> Int64? {
        guard rules.canHold(cost) else { return time }
        change { tokens, _, now in takeBack(cost, ofTime: time, from: &tokens, at: now) }
        return nil
    }

    /// Takes the tokens, and returns nil. If others have taken some meanwhile, charges them, and returns when they are
    /// there.
    private func takeNow(_ cost: Int, insteadOf time: Int64?) -> Int64? {
        guard rules.canHold(cost) else { return nil }
        return change { tokens, _, now in
            takeBack(cost, ofTime: time, from: &tokens, at: now)
            if rules.take(cost, from: &tokens, at: now) { return nil }
            rules.charge(cost, to: &tokens, at: now)
            tokens.wereChargedWithTurn = true
            return rules.debt(of: tokens, at: now).map { now.addingSaturating($0) } ?? .max
        }
    }

    /// Undoes the charge of a turn, unless a reset has.
    private func takeBack(_ cost: Int, ofTime time: Int64?, from tokens: inout QuotaTokens, at now: Int64) {
        guard let time, exchange(&tokens.wereChargedWithTurn, with: false) else { return }
        rules.giveBack(cost, ofTime: time, to: &tokens, at: now)
    }
}
