extension KeyedQuota {
    /// Calls a function as soon as a key has its tokens, *and* there is a place for it: so many calls a second for each
    /// key, and so many at once of all keys. In any task.
    ///
    /// ```swift
    /// let calls = KeyedQuota<String>(.atMost(5, inAny: .seconds(1)), on: loop)
    /// let atOnce = ConcurrencyLimit(3)
    /// let answer = try await calls.run(for: account, limitedBy: atOnce, on: loop) { try await send(request) }
    /// ```
    ///
    /// - *The tokens* are taken when the function is called, and not while it waits for its place. So the rate holds
    ///   for the calls themselves. A server sees some of them late, and the next ones in time: leave a margin.
    /// - *Order:* tasks of one key are called in the order of their calls. Only the first of each key waits for a
    ///   place, and it holds none while it waits for tokens.
    /// - *Calls of* ``take(_:for:)`` meanwhile are refused, as while a task waits by ``wait(_:for:)``.
    /// - *Cancelled* before the function is called, a task takes nothing. Tokens stay taken if the function throws: one
    ///   that has sent nothing may give them back, by ``giveBack(_:for:)``.
    ///
    /// - Parameters:
    ///   - cost: How many tokens.
    ///   - key: Whose tokens.
    ///   - limit: The places. Other calls may use them, too.
    ///   - loop: A loop that runs in the common modes, and counts as the quota does: in real time, or on its virtual
    ///     clock.
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
        var time = try await waiter.turn.value { withdraw(waiter) }
        do {
            while true {
                if time > clock.nanoseconds {
                    try await LoopClock(loop).sleep(until: Loop.Instant(nanoseconds: time))
                }
                try await limit.enter()
                guard let later = takeNow(cost, ofTime: time) else { return endTurn() }
                limit.leave()
                guard later < .max else { throw Quota.NoTokens() }
                time = later
            }
        } catch {
            endTurn(givingBack: cost, ofTime: time)
            throw error
        }
    }

    /// Takes tokens that were there at a time. Returns nil, or when they are there: others may have taken some
    /// meanwhile.
    private func takeNow(_ cost: Int, ofTime time: Int64) -> Int64? {
        change { tokens, _, now in
            // After a reset nothing is charged, nor if the key was forgotten, since its quota was full again.
            let charged = exchange(&tokens.wereChargedWithTurn, with: true) ? time : nil
            let wait = rules.charge(cost, insteadOf: charged, to: &tokens, at: now)
            return wait == 0 ? nil : now.addingSaturating(wait ?? .max)
        }
    }
}
