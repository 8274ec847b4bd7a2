/// The core of `Throttle` and `Debounce`: one `RateLimitState`, and what is pending.
final class Limiter<Input: Sendable>: LimiterCore, @unchecked Sendable {
    // Guarded by the lock.
    private var state: RateLimitState
    private var action: (@Sendable (InputBatch<Input>) -> Void)?
    /// The inputs before the last one, if all are kept.
    private var earlier: [Input] = []
    private let keepsAll: Bool

    /// The last input; holds one while the state says that one is pending. A pointer, since it is changed at each call
    /// and callers are seldom specialised for `Input`: a property of type `Input?` takes ten times as long.
    private let last = UnsafeMutablePointer<Input>.allocate(capacity: 1)

    init(_ settings: LimiterSettings, keepsAll: Bool, action: @escaping @Sendable (InputBatch<Input>) -> Void) {
        state = settings.state
        self.keepsAll = keepsAll
        self.action = action
        super.init(settings)
    }

    deinit {
        if state.isPending { last.deinitialize(count: 1) }
        last.deallocate()
    }

    // MARK: Calls

    func call(_ input: Input) -> Bool {
        lock.lock()
        guard isOpen, !state.edges.isEmpty else {
            defer { lock.unlock() }
            return isOpen
        }
        let (wasPending, isTimed) = (state.isPending, state.timer != nil)
        let acts = state.call(at: now)
        // Everything below is what most calls do: those inside a burst, which leave the timer alone.
        guard isTimed, !acts else { return finish(input, acts, wasPending) }
        guard state.isPending else {
            lock.unlock()
            return true
        }
        guard wasPending, !keepsAll else { return finish(input, acts, wasPending) }
        let replaced = last.move()
        last.initialize(to: input)
        lock.unlock()
        _ = consume replaced  // Not earlier: an input's deinit may call the limiter.
        return true
    }

    /// The rest of a call that does not just replace the input before it.
    @inline(never)
    private func finish(_ input: Input, _ acts: Bool, _ wasPending: Bool) -> Bool {
        var replaced: Input?
        if wasPending {
            if keepsAll { earlier.append(last.move()) } else { replaced = last.move() }
        }
        var batch: InputBatch<Input>?
        if acts {
            batch = InputBatch(earlier: takeEarlier(), last: input)
        } else if state.isPending {
            last.initialize(to: input)
        }
        let result = carryOutAndUnlock(batch)
        withExtendedLifetime(replaced) {}
        return result
    }

    func flush() -> Bool { handle(.flush) }

    func cancel() {
        lock.lock()
        let dropped = takeInputs()
        state.cancel()
        _ = carryOutAndUnlock(nil)
        withExtendedLifetime(dropped) {}
    }

    var isPending: Bool { lock.withLock { state.isPending } }

    func isPending(where isSuch: (Input) -> Bool) -> Bool { lock.withLock { state.isPending && isSuch(last.pointee) } }

    var interval: Duration {
        get { .nanoseconds(lock.withLock { state.interval }) }
        set { lock.withLock { state.changeInterval(to: newValue.wholeNanoseconds) } }
    }

    // MARK: LimiterCore

    override func timerFired() { _ = handle(.timer) }

    override func takePending() -> [Action] {
        take(at: .flush).map { [makeAction($0)] } ?? []
    }

    override func forgetAll() -> Any? {
        defer { action = nil }
        let inputs = takeInputs()
        state.cancel()
        return (inputs, action)
    }

    // MARK: Carrying out

    /// What comes without an input. (An enumeration and no closure: a closure that gets `state` as `inout` would have the
    /// runtime check every access to it, in each call.)
    private enum Event { case timer, flush }

    /// Returns whether there is an action, and the loop took it.
    private func handle(_ event: Event) -> Bool {
        lock.lock()
        guard isOpen else {
            lock.unlock()
            return false
        }
        let batch = take(at: event)
        return carryOutAndUnlock(batch) && batch != nil
    }

    // With the lock held.

    /// What an event makes the limiter act on.
    private func take(at event: Event) -> InputBatch<Input>? {
        let acts =
            switch event {
            case .timer: state.timerFired(at: now)
            case .flush: state.flush(at: now)
            }
        guard acts else { return nil }
        return InputBatch(earlier: takeEarlier(), last: last.move())
    }

    /// Everything that is pending. The state still has to be told.
    private func takeInputs() -> InputBatch<Input>? {
        state.isPending ? InputBatch(earlier: takeEarlier(), last: last.move()) : nil
    }

    private func takeEarlier() -> [Input] {
        defer { earlier = [] }
        return earlier
    }

    /// Returns false when the loop refuses the action.
    private func carryOutAndUnlock(_ batch: InputBatch<Input>?) -> Bool {
        setTimer(to: state.timer)
        let acceptance = lineUp(batch.map { [makeAction($0)] } ?? [])
        lock.unlock()
        withExtendedLifetime(batch) {}
        act(on: acceptance)
        return acceptance.isAccepted
    }

    private func makeAction(_ batch: InputBatch<Input>) -> Action {
        let action = action!
        return { action(batch) }
    }
}
