/// The core of `KeyedThrottle` and `KeyedDebounce`: a `RateLimitState` for each key, and one timer for all.
///
/// A key is remembered until its state does the same as a new one would (`RateLimitState.quietTime`). The queue says
/// when to look at which key again, for its timer or to forget it.
final class KeyedLimiter<Key: Hashable & Sendable, Input: Sendable>: LimiterCore, @unchecked Sendable {
    typealias Delivery = (key: Key, inputs: InputBatch<Input>)

    private struct Entry {
        var state: RateLimitState
        var pending = PendingInputs<Input>()
        /// The time of its place in the queue that counts; others are left over.
        var queued: Int64?
    }

    private let keepsAll: Bool

    // Guarded by the lock.
    private var action: (@Sendable (Delivery) -> Void)?
    /// The state that a key begins with.
    private var fresh: RateLimitState
    private var entries: [Key: Entry] = [:]
    private var queue = KeyQueue<Key>()

    init(_ settings: LimiterSettings, keepsAll: Bool, action: @escaping @Sendable (Delivery) -> Void) {
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
        var replaced: Input?
        let batch = change(key) { entry in
            let step = entry.state.call(at: now)
            guard step.acts || entry.state.isPending else { return nil }
            replaced = entry.pending.add(input, keepingAll: keepsAll)
            return step.acts ? entry.pending.takeAll() : nil
        }
        let result = carryOutAndUnlock(deliveries(key, batch))
        withExtendedLifetime(replaced) {}
        return result
    }

    func flush(_ key: Key) -> Bool {
        lock.lock()
        let flushed = deliveries(key, takeFlushed(key))
        return carryOutAndUnlock(flushed) && !flushed.isEmpty
    }

    func flushAll() -> Bool {
        lock.lock()
        let flushed = takeAllFlushed()
        return carryOutAndUnlock(flushed) && !flushed.isEmpty
    }

    func cancel(_ key: Key) {
        lock.lock()
        var dropped: InputBatch<Input>?
        if isOpen, entries[key] != nil {
            _ = change(key) { entry in
                _ = entry.state.cancel()
                dropped = entry.pending.takeAll()
                return nil
            }
        }
        _ = carryOutAndUnlock([])
        withExtendedLifetime(dropped) {}
    }

    func cancelAll() {
        lock.lock()
        let dropped = forgetKeys()
        _ = carryOutAndUnlock([])
        withExtendedLifetime(dropped) {}
    }

    func isPending(_ key: Key) -> Bool { lock.withLock { entries[key]?.state.isPending ?? false } }

    var keyCount: Int { lock.withLock { entries.count } }

    var interval: Duration {
        get { .nanoseconds(lock.withLock { fresh.interval }) }
        set { lock.withLock { fresh.changeInterval(to: newValue.wholeNanoseconds) } }
    }

    // MARK: LimiterCore

    /// Serves what is in the queue now, and no more: an action may add what is due at once. One key after the other,
    /// since an action may also cancel what is due.
    override func timerFired() {
        for _ in 0..<lock.withLock({ queue.count }) where !serveFirst() { break }
        lock.withLock { setTimerToFirst() }
    }

    override func takePending() -> [Action] { takeAllFlushed().map(makeAction) }

    override func forgetAll() -> Any? {
        defer { action = nil }
        return (forgetKeys(), action)
    }

    /// Returns false when nothing is due.
    private func serveFirst() -> Bool {
        lock.lock()
        let now = now
        guard isOpen, let first = queue.first, first.time <= now else {
            lock.unlock()
            return false
        }
        queue.removeFirst()
        var forgotten: (key: Key, value: Entry)?
        var batch: InputBatch<Input>?
        if let entry = entries[first.key], entry.queued == first.time {
            entries[first.key]!.queued = nil
            batch = change(first.key) { entry in
                entry.state.timerFired(at: now).acts ? entry.pending.takeAll() : nil
            }
            if entries[first.key]!.queued == nil { forgotten = forget(first.key) }
        }
        // The timer too: the action may run the loop, nested, and there the other keys want to be served.
        _ = carryOutAndUnlock(deliveries(first.key, batch))
        withExtendedLifetime((first, forgotten)) {}
        return true
    }

    // MARK: With the lock held

    /// Changes a key's entry, made if there is none, and sees to it that the key is looked at in time.
    private func change(_ key: Key, _ body: (inout Entry) -> InputBatch<Input>?) -> InputBatch<Input>? {
        var place: Int64?
        let batch = { (entry: inout Entry) -> InputBatch<Input>? in
            entry.state.changeInterval(to: fresh.interval)
            let batch = body(&entry)
            // With nothing ahead of it the key is only to be forgotten: at its place in the queue, or by who took it
            // out there.
            let time = entry.state.timer ?? entry.state.quietTime!
            if entry.queued.map({ time < $0 }) ?? true, entry.state.timer != nil || time > now {
                entry.queued = time
                place = time
            }
            return batch
        }(&entries[key, default: Entry(state: fresh)])
        if let place { queue.add(key, at: place) }
        return batch
    }

    private func takeFlushed(_ key: Key) -> InputBatch<Input>? {
        guard isOpen, entries[key] != nil else { return nil }
        return change(key) { entry in
            entry.state.flush(at: now).acts ? entry.pending.takeAll() : nil
        }
    }

    private func takeAllFlushed() -> [Delivery] {
        let pending = entries.filter { $0.value.state.isPending }.keys
        return pending.flatMap { deliveries($0, takeFlushed($0)) }
    }

    private func forget(_ key: Key) -> (key: Key, value: Entry)? {
        let forgotten = entries.index(forKey: key).map { entries.remove(at: $0) }
        // A dictionary keeps the size that it once had.
        if entries.capacity > 64, entries.count < entries.capacity / 8 {
            entries = Dictionary(uniqueKeysWithValues: entries.map { $0 })
        }
        return forgotten
    }

    /// Returns what is to be let go of without the lock.
    private func forgetKeys() -> ([Key: Entry], KeyQueue<Key>) {
        defer {
            entries = [:]
            queue = KeyQueue()
        }
        return (entries, queue)
    }

    /// Returns false when the loop refuses an action.
    private func carryOutAndUnlock(_ deliveries: [Delivery]) -> Bool {
        setTimerToFirst()
        let acceptance = lineUp(deliveries.map(makeAction))
        lock.unlock()
        withExtendedLifetime(deliveries) {}
        act(on: acceptance)
        return acceptance.isAccepted
    }

    private func setTimerToFirst() { if isOpen { setTimer(to: queue.first?.time) } }

    private func makeAction(_ delivery: Delivery) -> Action {
        let action = action!
        return { action(delivery) }
    }

    private func deliveries(_ key: Key, _ batch: InputBatch<Input>?) -> [Delivery] { batch.map { [(key, $0)] } ?? [] }
}
