/// The implementation of `KeyedThrottle` and `KeyedDebounce`: a burst for each key, and one timer for all.
///
/// A key is remembered until its state behaves like a new one (`RateLimitState.quietTime`). The queue says when to look
/// at which key again, for its timer or to forget it.
final class KeyedLimiter<Key: Hashable & Sendable, Input: Sendable>: LimiterBase, @unchecked Sendable {
    /// The burst of a key that is remembered. In the queue whenever the lock is not held.
    private final class KeyBurst: Burst<Input> {
        let key: Key

        init(_ key: Key, _ state: RateLimitState, keepsAll: Bool) {
            self.key = key
            super.init(state, keepsAll: keepsAll)
        }
    }

    private let keepsAll: Bool

    // Guarded by the lock.
    private var action: (@Sendable (Key, InputBatch<Input>) -> Void)?
    /// The state that a key's burst starts with.
    private var fresh: RateLimitState
    private var bursts: [Key: KeyBurst] = [:]
    private var queue = KeyQueue()

    init(_ settings: LimiterSettings, keepsAll: Bool, action: @escaping @Sendable (Key, InputBatch<Input>) -> Void) {
        fresh = settings.state
        self.keepsAll = keepsAll
        self.action = action
        super.init(settings)
    }

    // MARK: Events

    func call(_ input: Input, for key: Key) -> Bool {
        lock.lock()
        guard isOpen, !fresh.edges.isEmpty else {
            defer { lock.unlock() }
            return isOpen
        }
        let now = now
        let burst = burst(of: key)
        burst.state.changeInterval(to: fresh.interval)
        let (wasPending, isTimed) = (burst.state.isPending, burst.state.timer != nil)
        let acts = burst.state.call(at: now)
        // Everything below is what most calls do: those inside a burst, which leave the timer alone.
        guard isTimed, !acts else { return finish(input, acts, wasPending, burst, at: now) }
        guard burst.state.isPending else {
            lock.unlock()
            return true
        }
        guard wasPending, !keepsAll else { return finish(input, acts, wasPending, burst, at: now) }
        let replaced = burst.replaceLast(with: input)
        lock.unlock()
        _ = consume replaced  // Not earlier: an input's deinit may call the limiter.
        return true
    }

    /// The rest of a call that does not just replace the input before it.
    @inline(never)
    private func finish(_ input: Input, _ acts: Bool, _ wasPending: Bool, _ burst: KeyBurst, at now: Int64) -> Bool {
        let (batch, replaced) = burst.add(input, acts: acts, wasPending: wasPending)
        queueAgain(burst, at: now)
        let result = carryOutAndUnlock(batch.map { [makeAction(burst.key, $0)] } ?? [], at: now)
        withExtendedLifetime((batch, replaced)) {}
        return result
    }

    func flush(_ key: Key) -> Bool {
        lock.lock()
        guard isOpen, let burst = bursts[key] else {
            lock.unlock()
            return false
        }
        let now = now
        let action = flush(burst, at: now)
        return carryOutAndUnlock(action.map { [$0] } ?? [], at: now) && action != nil
    }

    func flushAll() -> Bool {
        lock.lock()
        let actions = takePending()
        return carryOutAndUnlock(actions, at: now) && !actions.isEmpty
    }

    func cancel(_ key: Key) {
        lock.lock()
        let forgotten = bursts[key].map(forget)
        _ = carryOutAndUnlock([], at: now)
        withExtendedLifetime(forgotten) {}
    }

    func cancelAll() {
        lock.lock()
        let dropped = forgetKeys()
        _ = carryOutAndUnlock([], at: now)
        withExtendedLifetime(dropped) {}
    }

    func isPending(_ key: Key) -> Bool { lock.withLock { bursts[key]?.state.isPending ?? false } }

    var keyCount: Int { lock.withLock { bursts.count } }

    var interval: Duration {
        get { .nanoseconds(lock.withLock { fresh.interval }) }
        set { lock.withLock { fresh.changeInterval(to: newValue.wholeNanoseconds) } }
    }

    // MARK: LimiterBase

    /// Serves one portion of the keys that are in the queue now: the timer fires again for the rest, in the loop's next
    /// pass. No keys that come meanwhile, since an action may add one that is due at once; and one key after the other,
    /// since an action may cancel one that is due.
    override func timerFired() {
        let count = min(lock.withLock { queue.count }, LimiterBase.actionsPerPortion)
        for _ in 0..<count where !serveFirst() { break }
        lock.withLock { setTimerToFirst(at: now) }
    }

    override func takePending() -> [Action] {
        guard isOpen else { return [] }
        let now = now
        return bursts.values.compactMap { $0.state.isPending ? flush($0, at: now) : nil }
    }

    override func forgetAll() -> Any? { (forgetKeys(), action.take()) }

    /// Returns false when nothing is due.
    private func serveFirst() -> Bool {
        lock.lock()
        let now = now
        guard isOpen, let first = queue.firstDue(at: now) else {
            lock.unlock()
            return false
        }
        let burst = unsafeDowncast(first, to: KeyBurst.self)
        queue.remove(burst)
        burst.state.changeInterval(to: fresh.interval)
        let batch = burst.state.timerFired(at: now) ? burst.take() : nil
        queueAgain(burst, at: now)
        let forgotten = burst.place == nil ? forget(burst) : nil
        // Before the action, which may run the loop, nested: the timer serves the other keys there.
        setTimerToFirst(at: now)
        guard let batch else {
            lock.unlock()
            withExtendedLifetime(forgotten) {}
            return true
        }
        performAndUnlock(makeAction(burst.key, batch))
        withExtendedLifetime((burst, forgotten)) {}
        return true
    }

    // MARK: With the lock held

    private func burst(of key: Key) -> KeyBurst {
        if let burst = bursts[key] { return burst }
        let burst = KeyBurst(key, fresh, keepsAll: keepsAll)
        bursts[key] = burst
        return burst
    }

    /// Puts a burst whose state has changed into the queue, so that the limiter looks at it in time.
    private func queueAgain(_ burst: KeyBurst, at now: Int64) {
        // Without a timer the key only has to be forgotten: at its place in the queue, or by the caller that took it
        // out.
        let time = burst.state.timer ?? burst.state.quietTime!
        // A time that has moved to later is noticed at the earlier one: so a call inside a burst leaves the queue
        // alone.
        if let queued = queue.time(of: burst), queued <= time { return }
        if burst.state.timer != nil || time > now { queue.put(burst, at: time) }
    }

    private func flush(_ burst: KeyBurst, at now: Int64) -> Action? {
        burst.state.changeInterval(to: fresh.interval)
        let action = burst.state.flush(at: now) ? makeAction(burst.key, burst.take()) : nil
        queueAgain(burst, at: now)
        return action
    }

    /// Returns what the caller must release without the lock.
    private func forget(_ burst: KeyBurst) -> (key: Key, value: KeyBurst)? {
        queue.remove(burst)
        let forgotten = bursts.index(forKey: burst.key).map { bursts.remove(at: $0) }
        // A dictionary never shrinks by itself.
        if bursts.capacity > 64, bursts.count < bursts.capacity / 8 {
            bursts = Dictionary(uniqueKeysWithValues: bursts.map { $0 })
        }
        return forgotten
    }

    /// Returns what the caller must release without the lock.
    private func forgetKeys() -> [Key: KeyBurst] {
        queue = KeyQueue()
        return exchange(&bursts, with: [:])
    }

    /// Returns false when the loop refuses an action.
    private func carryOutAndUnlock(_ actions: [Action], at now: Int64) -> Bool {
        setTimerToFirst(at: now)
        return lineUpAndUnlock(actions)
    }

    private func setTimerToFirst(at now: Int64) {
        guard isOpen else { return }
        let first = queue.firstTime
        // When keys are due it does not matter which is first: so the timer is not moved for every key of a portion.
        if let first, first <= now, isTimerDue(at: now) { return }
        setTimer(to: first)
    }

    private func makeAction(_ key: Key, _ batch: InputBatch<Input>) -> Action {
        let action = action!
        return { action(key, batch) }
    }
}
