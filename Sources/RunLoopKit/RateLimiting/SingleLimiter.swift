/// The implementation of `Throttle` and `Debounce`: a limiter with one burst.
final class SingleLimiter<Input: Sendable>: LimiterBase, @unchecked Sendable {
    // Guarded by the lock.
    private let burst: Burst<Input>
    private var action: (@Sendable (InputBatch<Input>) -> Void)?

    init(_ settings: LimiterSettings, keepsAll: Bool, action: @escaping @Sendable (InputBatch<Input>) -> Void) {
        burst = Burst(settings.state, keepsAll: keepsAll)
        self.action = action
        super.init(settings)
    }

    // MARK: Events

    func call(_ input: Input) -> Bool {
        lock.lock()
        guard isOpen, !burst.state.edges.isEmpty else {
            defer { lock.unlock() }
            return isOpen
        }
        let (wasPending, isTimed) = (burst.state.isPending, burst.state.timer != nil)
        let acts = burst.state.call(at: now)
        // Everything below is what most calls do: those inside a burst, which leave the timer alone.
        guard isTimed, !acts else { return finish(input, acts, wasPending) }
        guard burst.state.isPending else {
            lock.unlock()
            return true
        }
        guard wasPending, !burst.keepsAll else { return finish(input, acts, wasPending) }
        let replaced = burst.replaceLast(with: input)
        lock.unlock()
        _ = consume replaced  // Not earlier: an input's deinit may call the limiter.
        return true
    }

    /// The rest of a call that does not just replace the input before it.
    @inline(never)
    private func finish(_ input: Input, _ acts: Bool, _ wasPending: Bool) -> Bool {
        let (batch, replaced) = burst.add(input, acts: acts, wasPending: wasPending)
        let result = carryOutAndUnlock(batch)
        withExtendedLifetime((batch, replaced)) {}
        return result
    }

    func flush() -> Bool {
        lock.lock()
        let batch = isOpen && burst.state.flush(at: now) ? burst.take() : nil
        return carryOutAndUnlock(batch) && batch != nil
    }

    func cancel() {
        lock.lock()
        let dropped = burst.cancel()
        _ = carryOutAndUnlock(nil)
        withExtendedLifetime(dropped) {}
    }

    var isPending: Bool { lock.withLock { burst.state.isPending } }

    func isPending(where isSuch: (Input) -> Bool) -> Bool { lock.withLock { burst.isPending(where: isSuch) } }

    var interval: Duration {
        get { .nanoseconds(lock.withLock { burst.state.interval }) }
        set { lock.withLock { burst.state.changeInterval(to: newValue.wholeNanoseconds) } }
    }

    // MARK: LimiterBase

    override func timerFired() {
        lock.lock()
        let batch = isOpen && burst.state.timerFired(at: now) ? burst.take() : nil
        _ = carryOutAndUnlock(batch)
    }

    override func takePending() -> [Action] { burst.state.flush(at: now) ? [makeAction(burst.take())] : [] }

    override func forgetAll() -> Any? { (burst.cancel(), action.take()) }

    // MARK: With the lock held

    /// Returns false when the loop refuses the action.
    private func carryOutAndUnlock(_ batch: InputBatch<Input>?) -> Bool {
        setTimer(to: burst.state.timer)
        return lineUpAndUnlock(batch.map { [makeAction($0)] } ?? [])
    }

    private func makeAction(_ batch: InputBatch<Input>) -> Action {
        let action = action!
        return { action(batch) }
    }
}
