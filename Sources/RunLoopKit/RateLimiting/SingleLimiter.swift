/// What `Throttle` and `Debounce` do with a call, whatever its input: a limiter with one burst.
///
/// Not generic, so that a call needs no type metadata at run time. A caller's module has the rest of a call inlined.
@usableFromInline
package class SingleLimiterCore: LimiterBase, @unchecked Sendable {
    /// Guarded by the lock. Exclusivity is unchecked, as in `Loop`.
    @exclusivity(unchecked) final var burst = BurstTimes()

    /// Begins a call.
    @usableFromInline
    final func beginCall() -> CallStep {
        lock.lock()
        return handleCall()
    }

    /// Takes the lock if an input is pending.
    @usableFromInline
    package final func lockIfPending() -> Bool {
        lock.lock()
        if burst.isPending { return true }
        lock.unlock()
        return false
    }

    /// Handles a call, with the lock held.
    @usableFromInline @inline(__always)
    package final func handleCall() -> CallStep {
        guard isOpen, !rules.edges.isEmpty else {
            let isOpen = isOpen
            lock.unlock()
            return isOpen ? .ignore : .refuse
        }
        let now = now
        guard rules.continueBurst(&burst, at: now) else { return callSlowly(at: now) }
        if burst.isPending { return .keep(wasPending: true, keepsAll: keepsAll) }
        lock.unlock()
        return .ignore
    }

    /// Handles a call that acts, begins a burst, or is the first one that is pending: it may set the timer.
    @inline(never)
    private func callSlowly(at now: Int64) -> CallStep {
        let wasPending = burst.isPending
        rules.catchUp(&burst, at: now)
        let acts = rules.call(&burst, at: now)
        setTimer(to: burst.timerOfPending)
        if acts { return .act(wasPending: wasPending) }
        if burst.isPending { return .keep(wasPending: wasPending, keepsAll: keepsAll) }
        lock.unlock()
        return .ignore
    }

    @usableFromInline
    package final func endCall() { lock.unlock() }
}

/// The implementation of `Throttle` and `Debounce`.
@usableFromInline
package final class SingleLimiter<Input: Sendable>: SingleLimiterCore, @unchecked Sendable {
    // Guarded by the lock.
    @usableFromInline package let inputs: BurstInputs<Input>
    @exclusivity(unchecked) private var action: BurstAction<Input>?

    init(_ settings: LimiterSettings, keepsAll: Bool, _ action: BurstAction<Input>) {
        inputs = BurstInputs(capacity: 1, keepsAll: keepsAll)
        self.action = action
        var isWithoutHandler = false
        if case .awaited = action { isWithoutHandler = true }
        super.init(settings, keepsAll: keepsAll, isWithoutHandler: isWithoutHandler)
    }

    deinit {
        if burst.isPending { _ = inputs.take() }
        inputs.deallocate(capacity: 1)
    }

    // MARK: Events

    @inlinable
    package func call(_ input: Input) -> Bool { finish(beginCall(), with: input) }

    /// Does with the input of a call what the limiter has decided.
    @inlinable
    package func finish(_ step: CallStep, with input: Input) -> Bool {
        switch step {
        case .refuse: return false
        case .ignore: return true
        case .begin: inputs.begin(with: input)
        case .append: inputs.append(input)
        case .replace:
            let replaced = inputs.replaceLast(with: input)
            endCall()
            _ = consume replaced  // Not earlier: an input's deinit may call the limiter.
            return true
        case .act(let wasPending): return act(input, wasPending)
        }
        endCall()
        return true
    }

    @usableFromInline @inline(never)
    func act(_ input: Input, _ wasPending: Bool) -> Bool {
        guard wasPending, inputs.earlier == nil else {
            if wasPending { inputs.append(input) } else { inputs.begin(with: input) }
            return actOnInputs(unlocking: lock.held)
        }
        let replaced = inputs.replaceLast(with: input)
        let isAccepted = actOnInputs(unlocking: lock.held)
        _ = consume replaced
        return isAccepted
    }

    func flush() -> Bool {
        let held = lock.hold()
        if isOpen, rules.flush(&burst, at: now) { return act(if: true, unlocking: held) }
        performLine(unlocking: held)
        return false
    }

    func cancel() {
        lock.lock()
        let isPending = burst.isPending
        burst = BurstTimes()
        setTimer(to: nil)
        let waiting = waitingInputs?.take()
        defer { _ = consume waiting }
        guard isPending else { return lock.unlock() }
        let (earlier, last) = inputs.take()
        lock.unlock()
        releaseInputs(earlier, last)
    }

    var isPending: Bool { lock.withLock { hasPending } }

    // MARK: The handler

    /// Returns false if the limiter has ended.
    ///
    /// - Parameter isolated: What the handler calls, if it is isolated to an actor.
    func setHandler(of isolated: AnyObject? = nil, _ handler: @escaping @Sendable (Input) -> Void) -> Bool {
        replaceAction(isolated) { $0.replaced(by: handler) }
    }

    func setHandler(of isolated: AnyObject? = nil, collecting handler: @escaping @Sendable ([Input]) -> Void) -> Bool {
        replaceAction(isolated) { $0.replaced(byCollecting: handler) }
    }

    private func replaceAction(
        _ isolated: AnyObject?, _ replaced: (BurstAction<Input>) -> BurstAction<Input>
    ) -> Bool {
        let held = lock.hold()
        guard isOpen, let old = action else {
            lock.unlock(held)
            return false
        }
        let new = replaced(old)
        let waiting = waitingInputs?.take() ?? []
        action = new
        hasGotHandler(isolated)
        if let last = waiting.last {
            handOver([{ new(waiting.count > 1 ? Array(waiting.dropLast()) : nil, last) }], unlocking: held)
        } else {
            lock.unlock(held)
        }
        // Released without the lock, as its captures.
        withExtendedLifetime(old) {}
        return true
    }

    /// What waits for a handler. The lock is held.
    private var waitingInputs: WaitingInputs<Input>? {
        guard isWithoutHandler, case .awaited(let inputs) = action else { return nil }
        return inputs
    }

    @inlinable
    func isPending(where isSuch: (Input) -> Bool) -> Bool {
        guard lockIfPending() else { return false }
        defer { endCall() }
        return isSuch(inputs.lasts.pointee)
    }

    // MARK: LimiterBase

    override func timerFired() {
        let held = lock.hold()
        _ = act(if: isOpen && rules.timerFired(&burst, at: now), unlocking: held)
    }

    override var hasPending: Bool { burst.isPending || waitingInputs.map { !$0.isEmpty } ?? false }

    override func catchUp(at now: Int64) { rules.catchUp(&burst, at: now) }

    override func takePending() -> [Action] { !isWithoutHandler && rules.flush(&burst, at: now) ? [makeAction()] : [] }

    override func forgetAll() -> Any? {
        defer { burst = BurstTimes() }
        return (action.take(), burst.isPending ? inputs.take() : nil)
    }

    // MARK: With the lock held

    /// Returns false if it does not act, or the loop refuses the action.
    private func act(if acts: Bool, unlocking held: consuming Lock.Held) -> Bool {
        setTimer(to: burst.timerOfPending)
        guard acts else {
            lock.unlock(held)
            return false
        }
        return actOnInputs(unlocking: held)
    }

    private func actOnInputs(unlocking held: consuming Lock.Held) -> Bool {
        if isWithoutHandler { return letInputsWait(unlocking: held) }
        return lineUp(makeAction(), unlocking: held)
    }

    /// Keeps the inputs of an action that is due for the handler to come.
    @inline(never)
    private func letInputsWait(unlocking held: consuming Lock.Held) -> Bool {
        let (earlier, last) = inputs.take()
        let released = waitingInputs?.add(earlier, last)
        lock.unlock(held)
        withExtendedLifetime(released) {}
        return true
    }

    private func makeAction() -> Action {
        let action = action!
        let (earlier, last) = inputs.take()
        return { action(earlier, last) }
    }
}
