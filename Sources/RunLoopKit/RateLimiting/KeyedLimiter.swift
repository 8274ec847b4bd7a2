/// What `KeyedThrottle` and `KeyedDebounce` share: a `RateLimitState` for each key, and one timer for all.
///
/// A key is remembered until its state does the same as a new one would (`RateLimitState.quietTime`). The queue says
/// when to look at which key again, for its timer or to forget it.
final class KeyedLimiter<Key: Hashable & Sendable, Input: Sendable>: @unchecked Sendable {
    typealias Delivery = (key: Key, inputs: InputBatch<Input>)
    private typealias Stage = LimiterStage<Delivery>

    private struct Entry {
        var state: RateLimitState
        var pending = PendingInputs<Input>()
        /// The time of its place in the queue that counts; others are left over.
        var queued: Int64?
    }

    private let stage: Stage
    private let keepsAll: Bool
    private let whenReleased: RateLimitRelease

    // Guarded by the stage's lock.
    /// The state that a key begins with.
    private var fresh: RateLimitState
    private var entries: [Key: Entry] = [:]
    private var queue = KeyQueue<Key>()
    /// What the stage's timer is set to.
    private var armed: Int64?

    init(
        _ kind: RateLimitState.Kind, _ settings: LimiterSettings, keepsAll: Bool,
        action: @escaping @Sendable (Delivery) -> Void
    ) {
        stage = LimiterStage(settings.loop, settings.modes, action)
        fresh = RateLimitState(kind, interval: settings.interval.wholeNanoseconds, edges: settings.edges)
        whenReleased = settings.whenReleased
        self.keepsAll = keepsAll
        stage.open(timerFired: { [weak self] in self?.timerFired() }, loopEnds: { [weak self] in self?.loopEnds() })
    }

    // MARK: Events

    func call(_ input: Input, for key: Key) -> Bool {
        stage.lock.lock()
        guard stage.isOpen, !fresh.edges.isEmpty else {
            defer { stage.lock.unlock() }
            return stage.isOpen
        }
        var replaced: Input?
        let batch = change(key) { entry in
            let step = entry.state.call(at: stage.now)
            guard step.acts || entry.state.isPending else { return nil }
            replaced = entry.pending.add(input, keepingAll: keepsAll)
            return step.acts ? entry.pending.takeAll() : nil
        }
        arm()
        let result = handOverAndUnlock(batch.map { [(key, $0)] } ?? [])
        withExtendedLifetime(replaced) {}
        return result
    }

    func flush(_ key: Key) -> Bool {
        stage.lock.lock()
        let batch = flushed(key)
        arm()
        return handOverAndUnlock(batch.map { [(key, $0)] } ?? []) && batch != nil
    }

    func flushAll() -> Bool {
        stage.lock.lock()
        let pending = entries.filter { $0.value.state.isPending }.keys
        let deliveries = pending.compactMap { key in flushed(key).map { (key, $0) } }
        arm()
        return handOverAndUnlock(deliveries) && !deliveries.isEmpty
    }

    func cancel(_ key: Key) {
        stage.lock.lock()
        var dropped: InputBatch<Input>?
        if stage.isOpen, entries[key] != nil {
            _ = change(key) { entry in
                _ = entry.state.cancel()
                dropped = entry.pending.takeAll()
                return nil
            }
            arm()
        }
        stage.lock.unlock()
        withExtendedLifetime(dropped) {}
    }

    func cancelAll() {
        stage.lock.lock()
        let dropped = forgetAll()
        arm()
        stage.lock.unlock()
        withExtendedLifetime(dropped) {}
    }

    func isPending(_ key: Key) -> Bool { stage.lock.withLock { entries[key]?.state.isPending ?? false } }

    var keyCount: Int { stage.lock.withLock { entries.count } }

    var interval: Duration {
        get { .nanoseconds(stage.lock.withLock { fresh.interval }) }
        set { stage.lock.withLock { fresh.changeInterval(to: newValue.wholeNanoseconds) } }
    }

    // MARK: The timer

    /// Serves what is in the queue now, and no more: an action may add what is due at once.
    private func timerFired() {
        for _ in 0..<stage.lock.withLock({ queue.count }) where !serveFirst() { break }
        // What has fired has to be set again, also to the same time.
        stage.lock.withLock { arm(again: true) }
    }

    /// Returns false when nothing is due.
    private func serveFirst() -> Bool {
        stage.lock.lock()
        let now = stage.now
        guard stage.isOpen, let first = queue.first, first.time <= now else {
            stage.lock.unlock()
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
        _ = handOverAndUnlock(batch.map { [(first.key, $0)] } ?? [])
        withExtendedLifetime((first, forgotten)) {}
        return true
    }

    // MARK: The end

    func invalidate() {
        stage.lock.lock()
        let remains = stage.close()
        let dropped = forgetAll()
        stage.lock.unlock()
        Stage.dispose(remains)
        withExtendedLifetime(dropped) {}
    }

    func release() {
        if whenReleased == .flush { _ = flushAll() }
        stage.lock.lock()
        let remains = stage.retire()
        stage.lock.unlock()
        Stage.dispose(remains)
    }

    private func loopEnds() {
        guard stage.lock.withLock({ stage.isOpen }) else { return }
        if whenReleased == .flush { _ = flushAll() }
        invalidate()
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
            if entry.queued.map({ time < $0 }) ?? true, entry.state.timer != nil || time > stage.now {
                entry.queued = time
                place = time
            }
            return batch
        }(&entries[key, default: Entry(state: fresh)])
        if let place { queue.add(key, at: place) }
        return batch
    }

    private func flushed(_ key: Key) -> InputBatch<Input>? {
        guard stage.isOpen, entries[key] != nil else { return nil }
        return change(key) { entry in
            entry.state.flush(at: stage.now).acts ? entry.pending.takeAll() : nil
        }
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
    private func forgetAll() -> ([Key: Entry], KeyQueue<Key>) {
        defer {
            entries = [:]
            queue = KeyQueue()
        }
        return (entries, queue)
    }

    /// Sets the timer to the first time in the queue, if it is not.
    private func arm(again: Bool = false) {
        let first = queue.first?.time
        guard stage.isOpen, again || first != armed else { return }
        armed = first
        stage.carryOut(first.map { .start(at: $0) } ?? .stop)
    }

    /// Returns false when the loop refuses an action.
    private func handOverAndUnlock(_ deliveries: [Delivery]) -> Bool {
        let acceptances = deliveries.map { stage.handOver($0) }
        stage.lock.unlock()
        withExtendedLifetime(deliveries) {}
        // The last one to be acted on here stands for all.
        return acceptances.last.map { stage.settle($0) } ?? true
    }
}
