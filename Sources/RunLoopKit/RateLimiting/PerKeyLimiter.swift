/// What `KeyedThrottle` and `KeyedDebounce` do, whatever their keys and inputs: a burst for each key, and one timer for
/// all. Not generic, so that it needs no type metadata at run time.
///
/// The timer and the queue are for keys with a pending input; whenever the lock is not held, they have all of these. A
/// key is remembered until its burst behaves like a new one (`RateLimitRules.isQuiet`). No timer waits for that: each
/// event that begins a burst or acts looks at the next few keys in turn.
@usableFromInline
class KeyedLimiterCore: LimiterBase, @unchecked Sendable {
    /// A burst whose time has come.
    struct Due {
        let slot: Int
        let acts: Bool
        /// Whether the key behaves like a new one.
        let isQuiet: Bool
    }

    /// Guarded by the lock. Exclusivity is unchecked, as in `Loop`.
    @exclusivity(unchecked) @usableFromInline final var table = KeyTable(capacity: KeyedLimiterCore.firstCapacity)

    static var firstCapacity: Int { 8 }

    /// How many slots an event looks at for keys to forget. So at most a fourth of the slots are taken by keys that
    /// became quiet while the hand went round.
    static var looks: Int { 4 }

    /// Begins a call. If it has nothing to do, releases the lock and returns whether the call is accepted.
    @usableFromInline
    final func beginCall() -> Bool? {
        lock.lock()
        if isOpen, !rules.edges.isEmpty { return nil }
        let isOpen = isOpen
        lock.unlock()
        return isOpen
    }

    @usableFromInline
    final func endCall() { lock.unlock() }

    // MARK: With the lock held

    /// Handles the call of a key.
    @usableFromInline
    final func call(_ slot: Int) -> CallStep {
        let now = now
        guard rules.continueBurst(&table[slot], at: now) else { return callSlowly(slot, at: now) }
        if table[slot].isPending { return .keep(wasPending: true, keepsAll: keepsAll) }
        lock.unlock()
        return .ignore
    }

    /// Handles a call that acts, begins a burst, or is the first one that is pending: it may set the timer.
    @inline(never)
    private func callSlowly(_ slot: Int, at now: Int64) -> CallStep {
        let wasPending = table[slot].isPending
        rules.catchUp(&table[slot], at: now)
        let acts = rules.call(&table[slot], at: now)
        updateQueue(slot)
        setTimerToFirst(at: now)
        if acts { return .act(wasPending: wasPending) }
        if table[slot].isPending { return .keep(wasPending: wasPending, keepsAll: keepsAll) }
        lock.unlock()
        return .ignore
    }

    /// Returns whether to act on what is pending.
    final func flush(_ slot: Int, at now: Int64) -> Bool {
        let acts = rules.flush(&table[slot], at: now)
        updateQueue(slot)
        return acts
    }

    /// Takes the first burst whose time has come out of the queue, or moves it there.
    final func takeDue() -> Due? {
        let now = now
        guard isOpen, let slot = table.firstDue(at: now) else { return nil }
        table.unqueue(slot)
        let acts = rules.timerFired(&table[slot], at: now)
        updateQueue(slot)
        setTimerToFirst(at: now)
        return Due(slot: slot, acts: acts, isQuiet: rules.isQuiet(&table[slot], at: now))
    }

    /// The bursts with a pending input.
    final var pendingSlots: [Int] { (0..<table.queueCount).map(table.queuedSlot) }

    /// Puts a burst whose times have changed into the queue, or takes it out.
    private func updateQueue(_ slot: Int) {
        guard let time = table[slot].timerOfPending else { return table.unqueue(slot) }
        // A time that has moved to later is noticed at the earlier one. So a call inside a burst leaves the queue
        // alone.
        if let queued = table.time(of: slot), queued <= time { return }
        table.put(slot, at: time)
    }

    /// Looks at slots in turn for a key that can be forgotten.
    ///
    /// - Parameter looks: How many slots it may look at. Subtracts those that it has looked at.
    final func findQuiet(_ looks: inout Int) -> Int? {
        // A pending key is not quiet, and many limiters have no other keys.
        guard table.queueCount < table.count else { return nil }
        let now = now
        while looks > 0 {
            looks -= 1
            if let slot = table.turnHand(), rules.isQuiet(&table[slot], at: now) { return slot }
        }
        return nil
    }

    /// The number of keys that cannot be forgotten.
    final var loudKeyCount: Int {
        let now = now
        return table.usedSlots.count { !rules.isQuiet(&table[$0], at: now) }
    }

    /// A quiet key becomes a new one. Under other rules it may not be quiet, and whether it has been forgotten must not
    /// matter.
    final override func catchUp(at now: Int64) {
        for slot in table.usedSlots where rules.isQuiet(&table[slot], at: now) { table[slot] = BurstTimes() }
    }

    final func setTimerToFirst(at now: Int64) {
        guard isOpen else { return }
        let first = table.firstTime
        // When keys are due it does not matter which is first: so the timer is not moved for every key of a portion.
        if let first, first <= now, isTimerDue(at: now) { return }
        setTimer(to: first)
    }
}

/// The implementation of `KeyedThrottle` and `KeyedDebounce`.
@usableFromInline
final class PerKeyLimiter<Key: Hashable & Sendable, Input: Sendable>: KeyedLimiterCore, @unchecked Sendable {
    // Guarded by the lock.
    @exclusivity(unchecked) private var action: KeyedAction<Key, Input>?
    @exclusivity(unchecked) @usableFromInline var contents: KeyContents<Key, Input>

    init(
        _ settings: LimiterSettings, keepsAll: Bool, _ action: KeyedAction<Key, Input>
    ) {
        self.action = action
        contents = KeyContents(capacity: KeyedLimiterCore.firstCapacity, keepsAll: keepsAll)
        var isWithoutHandler = false
        if case .awaited = action { isWithoutHandler = true }
        super.init(settings, keepsAll: keepsAll, isWithoutHandler: isWithoutHandler)
    }

    deinit { contents.deallocate(with: table) }

    // MARK: Events

    @inlinable
    func call(_ input: Input, for key: Key) -> Bool {
        let hash = hash(key)
        if let isAccepted = beginCall() { return isAccepted }
        let slot = contents.slot(of: key, hash, in: table) ?? add(key, hash)
        switch call(slot) {
        case .refuse, .ignore: return true
        case .begin:
            contents.inputs.begin(with: input, at: slot)
            endFirstCall()
            return true
        case .append: contents.inputs.append(input, at: slot)
        case .replace:
            let replaced = contents.inputs.replaceLast(with: input, at: slot)
            endCall()
            _ = consume replaced  // Not earlier: an input's deinit may call the limiter.
            return true
        case .act(let wasPending):
            let isAccepted = act(slot, input, wasPending)
            forgetQuietKeys()
            return isAccepted
        }
        endCall()
        return true
    }

    /// What is left of a hash value is enough for the number of keys that memory holds.
    @inlinable
    func hash(_ key: Key) -> UInt32 { UInt32(truncatingIfNeeded: key.hashValue) }

    @usableFromInline @inline(never)
    func act(_ slot: Int, _ input: Input, _ wasPending: Bool) -> Bool {
        let inputs = contents.inputs
        guard wasPending, !keepsAll else {
            if wasPending { inputs.append(input, at: slot) } else { inputs.begin(with: input, at: slot) }
            return actOnInputs(slot, unlocking: lock.held)
        }
        let replaced = inputs.replaceLast(with: input, at: slot)
        let isAccepted = actOnInputs(slot, unlocking: lock.held)
        _ = consume replaced
        return isAccepted
    }

    func flush(_ key: Key) -> Bool {
        let hash = hash(key)
        let held = lock.hold()
        guard isOpen, let slot = contents.slot(of: key, hash, in: table) else {
            performLine(unlocking: held)
            return false
        }
        let now = now
        let acts = flush(slot, at: now)
        setTimerToFirst(at: now)
        if acts { return actOnInputs(slot, unlocking: held) }
        performLine(unlocking: held)
        return false
    }

    func flushAll() -> Bool {
        let held = lock.hold()
        if isWithoutHandler { return letAllWait(unlocking: held) }
        let actions = takePending()
        setTimerToFirst(at: now)
        if !actions.isEmpty { return lineUp(actions, unlocking: held) }
        performLine(unlocking: held)
        return false
    }

    func cancel(_ key: Key) {
        let hash = hash(key)
        lock.lock()
        let waiting = waitingKeys?.remove(key)
        defer { withExtendedLifetime(waiting) {} }
        guard let slot = contents.slot(of: key, hash, in: table) else { return lock.unlock() }
        let key = contents.keys[slot]
        table.unqueue(slot)
        setTimerToFirst(at: now)
        // Released without the lock, as the key is. Not as an optional, which would need type metadata.
        if table[slot].isPending {
            let (earlier, last) = contents.inputs.take(at: slot)
            forget(slot)
            lock.unlock()
            releaseInputs(earlier, last)
        } else {
            forget(slot)
            lock.unlock()
        }
        withExtendedLifetime(key) {}
    }

    func cancelAll() {
        lock.lock()
        let dropped = (forgetKeys(), waitingKeys?.take())
        setTimerToFirst(at: now)
        lock.unlock()
        withExtendedLifetime(dropped) {}
    }

    func isPending(_ key: Key) -> Bool {
        let hash = hash(key)
        return lock.withLock {
            contents.slot(of: key, hash, in: table).map { table[$0].isPending } ?? false
                || waitingKeys?.contains(key) ?? false
        }
    }

    var pendingKeys: [Key] {
        lock.withLock {
            let pending = pendingSlots.map { contents.keys[$0] }
            guard let waiting = waitingKeys?.keys, !waiting.isEmpty else { return pending }
            return Array(Set(pending).union(waiting))
        }
    }

    // MARK: The handler

    /// Returns false if the limiter has ended.
    ///
    /// - Parameter isolated: What the handler calls, if it is isolated to an actor.
    func setHandler(of isolated: AnyObject? = nil, _ handler: @escaping @Sendable (Key, Input) -> Void) -> Bool {
        replaceAction(isolated) { $0.replaced(by: handler) }
    }

    func setHandler(
        of isolated: AnyObject? = nil, collecting handler: @escaping @Sendable (Key, [Input]) -> Void
    ) -> Bool {
        replaceAction(isolated) { $0.replaced(byCollecting: handler) }
    }

    private func replaceAction(
        _ isolated: AnyObject?, _ replaced: (KeyedAction<Key, Input>) -> KeyedAction<Key, Input>
    ) -> Bool {
        let held = lock.hold()
        guard isOpen, let old = action else {
            lock.unlock(held)
            return false
        }
        let new = replaced(old)
        let waiting = waitingKeys?.take() ?? []
        action = new
        hasGotHandler(isolated)
        let actions = waiting.map { waiting -> Action in
            let (key, inputs) = waiting
            return { new(key, inputs.count > 1 ? Array(inputs.dropLast()) : nil, inputs.last!) }
        }
        handOver(actions, unlocking: held)
        // Released without the lock, as its captures.
        withExtendedLifetime((old, waiting)) {}
        return true
    }

    /// What waits for a handler. The lock is held.
    private var waitingKeys: WaitingKeys<Key, Input>? {
        guard isWithoutHandler, case .awaited(let keys) = action else { return nil }
        return keys
    }

    private func actOnInputs(_ slot: Int, unlocking held: consuming Lock.Held) -> Bool {
        if isWithoutHandler { return letInputsWait(slot, unlocking: held) }
        return lineUp(makeAction(slot), unlocking: held)
    }

    /// Keeps the inputs of an action that is due for the handler to come.
    @inline(never)
    private func letInputsWait(_ slot: Int, unlocking held: consuming Lock.Held) -> Bool {
        let released = letInputsWait(slot)
        lock.unlock(held)
        withExtendedLifetime(released) {}
        return true
    }

    /// The same with the lock held. Returns what the caller must release without it.
    private func letInputsWait(_ slot: Int) -> [Input] {
        let (earlier, last) = contents.inputs.take(at: slot)
        return waitingKeys?.add(contents.keys[slot], earlier, last) ?? []
    }

    private func letAllWait(unlocking held: consuming Lock.Held) -> Bool {
        let now = now
        let due = isOpen ? pendingSlots.filter { flush($0, at: now) } : []
        let released = due.map { letInputsWait($0) }
        setTimerToFirst(at: now)
        lock.unlock(held)
        withExtendedLifetime(released) {}
        return !due.isEmpty
    }

    var keyCount: Int { lock.withLock { loudKeyCount } }

    // MARK: LimiterBase

    /// Serves one portion of the keys that are in the queue now: the timer fires again for the rest, in the loop's next
    /// pass. Keys that come meanwhile wait, since an action may add one that is due at once. Takes one key after the
    /// other, since an action may cancel one that is due.
    override func timerFired() {
        let count = min(lock.withLock { table.queueCount }, LimiterBase.actionsPerPortion)
        for _ in 0..<count where !serveFirst() { break }
        let held = lock.hold()
        setTimerToFirst(at: now)
        forgetQuietKeys(count, unlocking: held)
    }

    override var hasPending: Bool { table.queueCount > 0 || waitingKeys.map { !$0.keys.isEmpty } ?? false }

    override func takePending() -> [Action] {
        guard isOpen, !isWithoutHandler else { return [] }
        let now = now
        return pendingSlots.filter { flush($0, at: now) }.map(makeAction)
    }

    override func forgetAll() -> Any? { (forgetKeys(), action.take()) }

    /// Returns false when nothing is due.
    private func serveFirst() -> Bool {
        let held = lock.hold()
        // This sets the timer before the action, which may run the loop, nested: the timer serves the other keys there.
        guard let due = takeDue() else {
            lock.unlock(held)
            return false
        }
        // Released without the lock.
        let key = contents.keys[due.slot]
        if isWithoutHandler {
            let released = due.acts ? letInputsWait(due.slot) : []
            if due.isQuiet { forget(due.slot) }
            lock.unlock(held)
            withExtendedLifetime((key, released)) {}
            return true
        }
        let action = due.acts ? makeAction(due.slot) : nil
        if due.isQuiet { forget(due.slot) }
        if let action { perform(action, unlocking: held) } else { lock.unlock(held) }
        withExtendedLifetime(key) {}
        return true
    }

    @usableFromInline @inline(never)
    func forgetQuietKeys() { forgetQuietKeys(unlocking: lock.hold()) }

    /// Ends a call that `beginCall()` has begun and that is the first of its burst.
    @usableFromInline @inline(never)
    func endFirstCall() { forgetQuietKeys(unlocking: lock.held) }

    // MARK: With the lock held

    @usableFromInline
    func add(_ key: Key, _ hash: UInt32) -> Int {
        if table.count == table.capacity { contents.resize(&table, to: 2 * table.capacity) }
        let slot = table.addSlot(hash)
        (contents.keys + slot).initialize(to: key)
        return slot
    }

    /// Forgets the quiet keys among the next few. Releases each without the lock: a key's deinit may call the limiter.
    ///
    /// - Parameter events: After how many events it is called.
    private func forgetQuietKeys(_ events: Int = 1, unlocking held: consuming Lock.Held) {
        var looks = events * KeyedLimiterCore.looks
        while let slot = findQuiet(&looks) {
            let key = contents.keys[slot]
            forget(slot)
            lock.unlock(held)
            _ = consume key
            held = lock.hold()
        }
        lock.unlock(held)
    }

    /// Forgets a key that is not in the queue and has no input, and to which the caller has another reference.
    private func forget(_ slot: Int) {
        table.removeSlot(slot)
        (contents.keys + slot).deinitialize(count: 1)
        if table.capacity > 64, table.count < table.capacity / 8 { contents.resize(&table, to: table.capacity / 4) }
    }

    /// Returns what the caller must release without the lock.
    private func forgetKeys() -> AnyObject {
        let capacity = KeyedLimiterCore.firstCapacity
        let table = exchange(&table, with: KeyTable(capacity: capacity))
        let contents = exchange(&contents, with: KeyContents(capacity: capacity, keepsAll: keepsAll))
        return Forgotten(table: table, contents: contents)
    }

    /// Keys and inputs that are released with this object.
    private final class Forgotten {
        private let table: KeyTable
        private let contents: KeyContents<Key, Input>

        init(table: KeyTable, contents: KeyContents<Key, Input>) { (self.table, self.contents) = (table, contents) }

        deinit { contents.deallocate(with: table) }
    }

    private func makeAction(_ slot: Int) -> Action {
        let (action, key) = (action!, contents.keys[slot])
        let (earlier, last) = contents.inputs.take(at: slot)
        return { action(key, earlier, last) }
    }
}
