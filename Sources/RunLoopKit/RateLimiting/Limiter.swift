/// What `Throttle` and `Debounce` share: carries out what a `RateLimitState` says, on a `LimiterStage`.
final class Limiter<Input: Sendable>: @unchecked Sendable {
    private typealias Stage = LimiterStage<InputBatch<Input>>

    private let stage: Stage
    private let keepsAll: Bool
    private let whenReleased: RateLimitRelease

    // Guarded by the stage's lock.
    private var state: RateLimitState
    private var pending = PendingInputs<Input>()

    init(
        _ kind: RateLimitState.Kind, _ settings: LimiterSettings, keepsAll: Bool,
        action: @escaping @Sendable (InputBatch<Input>) -> Void
    ) {
        stage = LimiterStage(settings.loop, settings.modes, action)
        state = RateLimitState(kind, interval: settings.interval.wholeNanoseconds, edges: settings.edges)
        whenReleased = settings.whenReleased
        self.keepsAll = keepsAll
        stage.open(timerFired: { [weak self] in self?.timerFired() }, loopEnds: { [weak self] in self?.loopEnds() })
    }

    func call(_ input: Input) -> Bool {
        stage.lock.lock()
        guard stage.isOpen else {
            stage.lock.unlock()
            return false
        }
        guard !state.edges.isEmpty else {
            stage.lock.unlock()
            return true
        }
        // Read with the lock held, or the times of two threads could come in the wrong order.
        let step = state.call(at: stage.now)
        guard step.acts || state.isPending else {
            stage.carryOut(step.timer)
            stage.lock.unlock()
            return true
        }
        let replaced = pending.add(input, keepingAll: keepsAll)
        let result = carryOutAndUnlock(step)
        withExtendedLifetime(replaced) {}
        return result
    }

    func flush() -> Bool { handle { $0.flush(at: $1) } }

    func cancel() {
        stage.lock.lock()
        let step = state.cancel()
        let dropped = pending.takeAll()
        _ = carryOutAndUnlock(step)
        withExtendedLifetime(dropped) {}
    }

    var isPending: Bool { stage.lock.withLock { state.isPending } }

    var interval: Duration {
        get { .nanoseconds(stage.lock.withLock { state.interval }) }
        set { stage.lock.withLock { state.changeInterval(to: newValue.wholeNanoseconds) } }
    }

    // MARK: The end

    func invalidate() {
        stage.lock.lock()
        let remains = stage.close()
        _ = state.cancel()
        let dropped = pending.takeAll()
        stage.lock.unlock()
        Stage.dispose(remains)
        withExtendedLifetime(dropped) {}
    }

    /// The last reference has gone. Values that wait on the loop keep the stage alive until they are acted on.
    func release() {
        if whenReleased == .flush { _ = flush() }
        stage.lock.lock()
        let remains = stage.retire()
        stage.lock.unlock()
        Stage.dispose(remains)
    }

    /// On the loop's thread, with its last work done.
    private func loopEnds() {
        // Also called when the limiter takes leave of the loop.
        guard stage.lock.withLock({ stage.isOpen }) else { return }
        if whenReleased == .flush { _ = flush() }
        invalidate()
    }

    // MARK: Carrying out

    private func timerFired() { _ = handle { $0.timerFired(at: $1) } }

    /// Returns whether there is an action.
    private func handle(_ event: (inout RateLimitState, Int64) -> RateLimitState.Step) -> Bool {
        stage.lock.lock()
        guard stage.isOpen else {
            stage.lock.unlock()
            return false
        }
        let step = event(&state, stage.now)
        return carryOutAndUnlock(step) && step.acts
    }

    /// Returns false when the loop refuses the action.
    private func carryOutAndUnlock(_ step: RateLimitState.Step) -> Bool {
        stage.carryOut(step.timer)
        guard step.acts, let batch = pending.takeAll() else {
            stage.lock.unlock()
            return true
        }
        let acceptance = stage.handOver(batch)
        stage.lock.unlock()
        // Not earlier: an input's deinit may call the limiter.
        withExtendedLifetime(batch) {}
        return stage.settle(acceptance)
    }
}

/// What every limiter is told when it is made.
struct LimiterSettings {
    let interval: Duration
    let edges: RateLimitEdges
    let loop: Loop
    let modes: Set<Loop.Mode>
    let whenReleased: RateLimitRelease
}

extension Optional where Wrapped == Duration {
    /// A `maxWait`, for the state.
    var asMaxWait: Int64? { self?.wholeNanoseconds }
}
