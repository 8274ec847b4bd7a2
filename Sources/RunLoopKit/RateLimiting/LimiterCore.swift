/// Where a limiter acts: a loop, its thread and some of its modes. Owns the limiter's lock, its one timer, its action,
/// and the values that wait for the action. It decides nothing.
///
/// Everything but `settle` and `dispose` is called with `lock` held. The loop's lock may be taken then, never the other
/// way round.
final class LimiterStage<Value: Sendable>: @unchecked Sendable {
    /// What became of a value that was handed over.
    enum Acceptance {
        /// The caller is on the loop's thread: it calls `settle` once it has released the lock.
        case toBeActedOnHere(count: Int)
        case accepted, refused
    }

    let lock = Lock()
    let loop: Loop
    private let modes: Set<Loop.Mode>

    // Guarded by `lock`.
    /// False for ever once the limiter was invalidated or the loop has ended.
    private(set) var isOpen = true
    private var action: (@Sendable (Value) -> Void)?
    private var values = FirstInFirstOut<Value>()
    private var timer: Loop.Timer?
    private var timerIsInLoop = false
    /// The instant that the timer's last call was due at. Inside that call only a later one counts.
    private var lastTimerCall = Int64.min
    /// Is in a mode in which nobody runs, so that it keeps no run going, and hears when the loop ends.
    private var farewell: Loop.Source0?

    private static var farewellMode: Loop.Mode { "RunLoopKit.RateLimiting" }

    init(_ loop: Loop, _ modes: Set<Loop.Mode>, _ action: @escaping @Sendable (Value) -> Void) {
        self.loop = loop
        self.modes = modes
        self.action = action
    }

    /// Called once, by the limiter's `init`. The handlers are called on the loop's thread, without the lock; they must
    /// not retain the limiter.
    func open(timerFired: @escaping @Sendable () -> Void, loopEnds: @escaping @Sendable () -> Void) {
        // Repeating, since a timer that fires once is invalid afterwards; the distance never matters.
        timer = Loop.Timer(at: .distantFuture, repeating: .nanoseconds(Int64.max)) { [weak self] firing in
            guard let self else { return }
            self.lock.withLock { self.lastTimerCall = firing.scheduledTime.nanoseconds }
            timerFired()
        }
        let source = Loop.Source0(cancel: { _, _ in loopEnds() }, perform: {})
        farewell = source
        isOpen = loop.add(source, in: Self.farewellMode)
        if !isOpen { action = nil }
    }

    // MARK: Time

    var now: Int64 { loop.now.nanoseconds }

    func carryOut(_ change: RateLimitState.Step.TimerChange) {
        switch change {
        case .keep: break
        case .start(let time): startTimer(at: time)
        case .stop: stopTimer()
        }
    }

    /// The timer is in the loop only while it runs, so that a limiter with nothing to do keeps no run going. A loop
    /// that is about to end refuses it: then the farewell decides about what is pending.
    private func startTimer(at time: Int64) {
        guard let timer else { return }
        timer.nextFireTime = Loop.Instant(nanoseconds: max(time, lastTimerCall.addingSaturating(1)))
        guard !timerIsInLoop else { return }
        timerIsInLoop = true
        for mode in modes { loop.add(timer, in: mode) }
    }

    func stopTimer() {
        guard timerIsInLoop, let timer else { return }
        timerIsInLoop = false
        for mode in modes { loop.remove(timer, in: mode) }
    }

    // MARK: Acting

    /// Lines up a value for the action.
    func handOver(_ value: Value) -> Acceptance {
        if loopIsHere {
            values.append(value)
            return .toBeActedOnHere(count: values.count)
        }
        // The block keeps this object, not the limiter. It need not find its own value: the loop's thread may have been
        // faster.
        guard loop.perform(in: modes, { self.actOnFirst() }) else { return .refused }
        values.append(value)
        return .accepted
    }

    /// Calls the action if that is to be done here. Returns false when the value was refused. Called without the lock.
    ///
    /// In order: what other threads handed over goes first. No more than there was, or they could keep the caller here
    /// for ever.
    func settle(_ acceptance: Acceptance) -> Bool {
        switch acceptance {
        case .refused: return false
        case .accepted: return true
        case .toBeActedOnHere(let count):
            for _ in 0..<count where !actOnFirst() { break }
            return true
        }
    }

    @discardableResult
    private func actOnFirst() -> Bool {
        lock.lock()
        let action = action
        let value = values.takeFirst()
        lock.unlock()
        guard let action, let value else { return false }
        action(value)
        return true
    }

    /// Whether the caller is on the loop's thread, and the loop in one of the modes or in no run at all.
    private var loopIsHere: Bool {
        guard loop.isOnOwnThread else { return false }
        guard let mode = loop.currentMode, !modes.contains(mode) else { return true }
        return modes.contains(.common) && isCommon(mode)
    }

    /// A loop does not say which modes are common; what is added to `common` does.
    private func isCommon(_ mode: Loop.Mode) -> Bool {
        guard mode != .default else { return true }
        let probe = Loop.Observer([]) { _, _ in }
        loop.add(probe, in: .common)
        defer { probe.invalidate() }
        return loop.contains(probe, in: mode)
    }

    // MARK: The end

    /// What is to be let go of without the lock.
    struct Remains {
        fileprivate var action: (@Sendable (Value) -> Void)?
        fileprivate var values: FirstInFirstOut<Value>?
        fileprivate var items: [Loop.Item] = []
    }

    /// Refuses everything from now on.
    func close() -> Remains {
        isOpen = false
        defer {
            action = nil
            values = FirstInFirstOut()
        }
        var remains = releaseItems()
        remains.action = action
        remains.values = values
        return remains
    }

    /// The same, but values that wait are still acted on.
    func retire() -> Remains {
        isOpen = false
        return releaseItems()
    }

    private func releaseItems() -> Remains {
        stopTimer()
        defer {
            timer = nil
            farewell = nil
        }
        return Remains(items: [timer, farewell].compactMap { $0 })
    }

    /// Lets go, without the lock.
    static func dispose(_ remains: Remains) { for item in remains.items { item.invalidate() } }
}
