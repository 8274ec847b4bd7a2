/// The core of `KeyedThrottle` and `KeyedDebounce`: a `RateLimitState` for each key, and one timer for all.
///
/// A key is remembered until its state does the same as a new one would (`RateLimitState.quietTime`). The queue says
/// when to look at which key again, for its timer or to forget it.
final class KeyedLimiter<Key: Hashable & Sendable, Input: Sendable>: LimiterCore, @unchecked Sendable {
    /// A key that is remembered. In the queue whenever the lock is not held.
    private final class Entry: QueuedKey {
        let key: Key
        var pending = PendingInputs<Input>()

        init(_ key: Key, _ state: RateLimitState) {
            self.key = key
            super.init(state)
        }

        deinit { pending.destroy() }
    }

    private let keepsAll: Bool

    // Guarded by the lock.
    private var action: (@Sendable (Key, InputBatch<Input>) -> Void)?
    /// The state that a key begins with.
    private var fresh: RateLimitState
    private var entries: [Key: Entry] = [:]
    private var queue = KeyQueue()

    init(
        _ settings: LimiterSettings, keepsAll: Bool, action: @escaping @Sendable (Key, InputBatch<Input>) -> Void
    ) {
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
        let entry = entry(for: key)
        entry.state.changeInterval(to: fresh.interval)
        let isTimed = entry.state.timer != nil
        let acts = entry.state.call(at: now)
        // Everything below is what most calls do: those inside a burst, which leave the timer alone.
        guard isTimed, !acts else { return finish(input, acts, of: entry, at: now) }
        guard entry.state.isPending else {
            lock.unlock()
            return true
        }
        if !entry.pending.isEmpty, !keepsAll {
            let replaced = entry.pending.replaceLast(with: input)
            lock.unlock()
            _ = consume replaced  // Not earlier: an input's deinit may call the limiter.
            return true
        }
        return finish(input, acts, of: entry, at: now)
    }

    /// The rest of a call that does not just replace the input before it.
    @inline(never)
    private func finish(_ input: Input, _ acts: Bool, of entry: Entry, at now: Int64) -> Bool {
        var replaced: Input?
        if acts || entry.state.isPending {
            if entry.pending.isEmpty || keepsAll {
                entry.pending.append(input)
            } else {
                replaced = entry.pending.replaceLast(with: input)
            }
        }
        let action = acts ? makeAction(entry) : nil
        queueAgain(entry, at: now)
        let result = carryOutAndUnlock(action.map { [$0] } ?? [], at: now)
        withExtendedLifetime(replaced) {}
        return result
    }

    func flush(_ key: Key) -> Bool {
        lock.lock()
        guard isOpen, let entry = entries[key] else {
            lock.unlock()
            return false
        }
        let now = now
        let action = flush(entry, at: now)
        return carryOutAndUnlock(action.map { [$0] } ?? [], at: now) && action != nil
    }

    func flushAll() -> Bool {
        lock.lock()
        let actions = takePending()
        return carryOutAndUnlock(actions, at: now) && !actions.isEmpty
    }

    func cancel(_ key: Key) {
        lock.lock()
        let forgotten = entries[key].map(forget)
        _ = carryOutAndUnlock([], at: now)
        withExtendedLifetime(forgotten) {}
    }

    func cancelAll() {
        lock.lock()
        let dropped = forgetKeys()
        _ = carryOutAndUnlock([], at: now)
        withExtendedLifetime(dropped) {}
    }

    func isPending(_ key: Key) -> Bool { lock.withLock { entries[key]?.state.isPending ?? false } }

    var keyCount: Int { lock.withLock { entries.count } }

    var interval: Duration {
        get { .nanoseconds(lock.withLock { fresh.interval }) }
        set { lock.withLock { fresh.changeInterval(to: newValue.wholeNanoseconds) } }
    }

    // MARK: LimiterCore

    /// Serves what is in the queue now, and no more, since an action may add what is due at once; and of that one portion:
    /// the timer fires again for the rest, in the loop's next pass. One key after the other, since an action may also
    /// cancel what is due.
    override func timerFired() {
        let count = min(lock.withLock { queue.count }, LimiterCore.actionsPerPortion)
        for _ in 0..<count where !serveFirst() { break }
        lock.withLock { setTimerToFirst(at: now) }
    }

    override func takePending() -> [Action] {
        guard isOpen else { return [] }
        let now = now
        return entries.values.compactMap { $0.state.isPending ? flush($0, at: now) : nil }
    }

    override func forgetAll() -> Any? {
        defer { action = nil }
        return (forgetKeys(), action)
    }

    /// Returns false when nothing is due.
    private func serveFirst() -> Bool {
        lock.lock()
        let now = now
        guard isOpen, let first = queue.firstDue(at: now) else {
            lock.unlock()
            return false
        }
        let entry = unsafeDowncast(first, to: Entry.self)
        queue.remove(entry)
        entry.state.changeInterval(to: fresh.interval)
        let acts = entry.state.timerFired(at: now)
        let inputs = acts ? entry.pending.takeAll() : nil
        queueAgain(entry, at: now)
        let forgotten = entry.place == nil ? forget(entry) : nil
        // The timer too: the action may run the loop, nested, and there the other keys want to be served.
        setTimerToFirst(at: now)
        guard let inputs else {
            lock.unlock()
            withExtendedLifetime(forgotten) {}
            return true
        }
        actAndUnlock { [action = action!, key = entry.key] in action(key, inputs) }
        withExtendedLifetime((entry, forgotten)) {}
        return true
    }

    // MARK: With the lock held

    private func entry(for key: Key) -> Entry {
        if let entry = entries[key] { return entry }
        let entry = Entry(key, fresh)
        entries[key] = entry
        return entry
    }

    /// Has the limiter look at a key in time, after its state has changed.
    private func queueAgain(_ entry: Entry, at now: Int64) {
        // With nothing ahead of it the key is only to be forgotten: at its place in the queue, or by the caller who took it
        // out.
        let time = entry.state.timer ?? entry.state.quietTime!
        // A later time is found out when the earlier one has come: so a call inside a burst does not touch the queue.
        if let queued = queue.time(of: entry), queued <= time { return }
        if entry.state.timer != nil || time > now { queue.put(entry, at: time) }
    }

    private func flush(_ entry: Entry, at now: Int64) -> Action? {
        entry.state.changeInterval(to: fresh.interval)
        let action = entry.state.flush(at: now) ? makeAction(entry) : nil
        queueAgain(entry, at: now)
        return action
    }

    /// Returns what is to be released without the lock.
    private func forget(_ entry: Entry) -> (key: Key, value: Entry)? {
        queue.remove(entry)
        let forgotten = entries.index(forKey: entry.key).map { entries.remove(at: $0) }
        // A dictionary keeps the size that it once had.
        if entries.capacity > 64, entries.count < entries.capacity / 8 {
            entries = Dictionary(uniqueKeysWithValues: entries.map { $0 })
        }
        return forgotten
    }

    /// Returns what is to be released without the lock.
    private func forgetKeys() -> [Key: Entry] {
        defer {
            entries = [:]
            queue = KeyQueue()
        }
        return entries
    }

    /// Returns false when the loop refuses an action.
    private func carryOutAndUnlock(_ actions: [Action], at now: Int64) -> Bool {
        setTimerToFirst(at: now)
        let acceptance = lineUp(actions)
        lock.unlock()
        act(on: acceptance)
        return acceptance.isAccepted
    }

    private func setTimerToFirst(at now: Int64) {
        guard isOpen else { return }
        let first = queue.firstTime
        // Of what is due the timer need not know which comes first: it is not moved for every key of a portion.
        if let first, first <= now, isTimerDue(at: now) { return }
        setTimer(to: first)
    }

    /// An action for what is pending, of which there is some.
    private func makeAction(_ entry: Entry) -> Action {
        let (action, key, inputs) = (action!, entry.key, entry.pending.takeAll())
        return { action(key, inputs) }
    }
}
