/// What every limiter is built on: the loop, its thread and some of its modes; the limiter's lock and its one timer; the
/// actions that are on their way. When to act is for subclasses to decide.
///
/// The loop keeps the core alive, by the timer and by the handler of its end, not the limiter that its user holds: when
/// that goes it calls `release()`, which cuts these ties. So a pending call can always be reached by who comes first,
/// the limiter's end or the loop's.
///
/// The loop's lock may be taken with this one held, never the other way round.
class LimiterCore: @unchecked Sendable {
    typealias Action = @Sendable () -> Void

    /// How many actions that fell due together, or were handed over together, the loop's thread does at most before others
    /// get their turn. As many as the messages of a port that one pass handles.
    static let actionsPerPortion = 64

    final let lock = Lock(.limiter)
    private let loop: Loop
    private let modes: Set<Loop.Mode>
    private let whenReleased: RateLimitRelease

    // Guarded by `lock`.
    /// False for ever once the limiter was invalidated or released, or the loop has ended.
    private(set) final var isOpen = true
    /// In the loop only while it runs, so that a limiter with nothing to do keeps no run going.
    private var timer: Loop.Timer?
    /// A block in the loop for each, or the thread that lined it up is going to act on it.
    private var linedUp = FirstInFirstOut<Action>()
    /// What a stopping loop refused, of a limiter that is to lose nothing.
    private var leftForTheEnd: [Action] = []
    private var endHandler: Loop.EndHandler?

    init(_ settings: LimiterSettings) {
        loop = settings.loop
        modes = settings.modes
        whenReleased = settings.whenReleased
    }

    // MARK: For subclasses to override

    /// The timer has fired, and does not run any more. Called on the loop's thread, without the lock.
    func timerFired() {}

    /// Takes out everything that is pending, as actions. The lock is held.
    func takePending() -> [Action] { [] }

    /// Forgets everything, for good. Returns what is to be let go of without the lock, which is held: it may be the
    /// user's, and call the limiter as it goes.
    func forgetAll() -> Any? { nil }

    // MARK: Time

    /// Read with the lock held, or the times of two threads could come in the wrong order.
    final var now: Int64 { loop.now.nanoseconds }

    /// Whether the timer runs, and its time has come. The lock is held.
    final func isTimerDue(at now: Int64) -> Bool { timer?.nextFireTime.map { $0.nanoseconds <= now } ?? false }

    /// Has the timer run until this time, or not at all. The lock is held.
    final func setTimer(to time: Int64?) {
        guard let time else {
            timer?.invalidate()
            timer = nil
            return
        }
        let instant = Loop.Instant(nanoseconds: time)
        if let timer {
            if timer.nextFireTime != instant { timer.nextFireTime = instant }
            return
        }
        let made = Loop.Timer(at: instant) { [self] in fired($0.timer) }
        timer = made
        // A loop that is about to end refuses it: then its end decides about what is pending.
        for mode in modes { loop.add(made, in: mode) }
    }

    private func fired(_ firing: Loop.Timer) {
        let isWanted = lock.withLock {
            // It may have been stopped meanwhile. Or moved: then the subclass starts another one.
            guard firing === timer else { return false }
            timer = nil
            return true
        }
        if isWanted { timerFired() }
    }

    // MARK: Acting

    /// What became of actions that were lined up.
    struct Acceptance {
        let isAccepted: Bool
        /// How many of the first ones the caller is to act on.
        fileprivate let toActOnHere: Int
    }

    /// Lines up actions for the loop's thread. The lock is held; once it is not, call `act`.
    final func lineUp(_ actions: [Action]) -> Acceptance {
        guard !actions.isEmpty else { return Acceptance(isAccepted: true, toActOnHere: 0) }
        guard !loopIsHere else {
            for action in actions { linedUp.append(action) }
            return Acceptance(isAccepted: true, toActOnHere: linedUp.count)
        }
        // One block for each action that is handed over by itself, so that it keeps its place among other blocks. It need
        // not find its own action: the loop's thread may have been faster.
        let isAccepted =
            actions.count == 1
            ? loop.perform(in: modes) { self.actOnFirst() } : loop.perform(in: modes) { self.actOnPortion() }
        if isAccepted {
            for action in actions { linedUp.append(action) }
        } else if whenReleased == .flush, isOpen, !modes.isEmpty {
            leftForTheEnd += actions
            return Acceptance(isAccepted: true, toActOnHere: 0)
        }
        return Acceptance(isAccepted: isAccepted, toActOnHere: 0)
    }

    /// Acts on the loop's thread, in one of the modes: after what is lined up, and at once if nothing is. The lock is held,
    /// and not any more when this returns.
    final func actAndUnlock(_ action: @escaping Action) {
        guard !linedUp.isEmpty else {
            lock.unlock()
            return action()
        }
        linedUp.append(action)
        let acceptance = Acceptance(isAccepted: true, toActOnHere: linedUp.count)
        lock.unlock()
        act(on: acceptance)
    }

    /// A block of the loop that acts on one portion of what is lined up, and leaves the rest to another one.
    private func actOnPortion() {
        let count = lock.withLock { linedUp.count }
        // Posted before the first action, which may run the loop, nested. A stopping loop refuses it, but has accepted the
        // actions: then this is the last chance.
        let isPortion = count > LimiterCore.actionsPerPortion && loop.perform(in: modes) { self.actOnPortion() }
        for _ in 0..<(isPortion ? LimiterCore.actionsPerPortion : count) {
            guard !loop.discardsBlocks, actOnFirst() else { break }
        }
    }

    /// Acts if that is to be done by the caller, who is on the loop's thread then. Called without the lock.
    ///
    /// In order: what other threads handed over goes first. No more than there was, or they could keep the caller here
    /// for ever.
    final func act(on acceptance: Acceptance) {
        for _ in 0..<acceptance.toActOnHere where !actOnFirst() { break }
    }

    @discardableResult
    private func actOnFirst() -> Bool {
        guard let action = lock.withLock({ linedUp.takeFirst() }) else { return false }
        action()
        return true
    }

    /// Whether the caller is on the loop's thread, and the loop in one of the modes or in no run at all.
    private var loopIsHere: Bool {
        guard loop.isOnOwnThread else { return false }
        guard let mode = loop.currentMode, !modes.contains(mode) else { return true }
        return modes.contains(.common) && loop.isCommon(mode)
    }

    // MARK: The beginning and the end

    /// Called once, by the limiter's `init`.
    final func open() {
        let isRefused = lock.withLock {
            endHandler = loop.onEnd { [self] in loopEnds() }
            return endHandler == nil
        }
        if isRefused { invalidate() }
    }

    final func invalidate() {
        let remains = lock.withLock { () -> Any in
            defer {
                linedUp = FirstInFirstOut()
                leftForTheEnd = []
            }
            return (close(), linedUp, leftForTheEnd)
        }
        withExtendedLifetime(remains) {}
    }

    /// The last reference to the limiter has gone. What is lined up keeps the core alive until it is acted on.
    final func release() {
        lock.lock()
        let pending = isOpen && whenReleased == .flush ? takePending() : []
        let acceptance = lineUp(pending)
        let remains = close()
        lock.unlock()
        act(on: acceptance)
        withExtendedLifetime((pending, remains)) {}
    }

    /// On the loop's thread, with its last block done.
    private func loopEnds() {
        lock.lock()
        let pending = isOpen && whenReleased == .flush ? takePending() : []
        let actions = leftForTheEnd + pending
        // Blocks that were dropped.
        let dropped = linedUp
        linedUp = FirstInFirstOut()
        leftForTheEnd = []
        let remains = close()
        lock.unlock()
        for action in actions { action() }
        withExtendedLifetime((dropped, remains)) {}
    }

    /// Refuses everything from now on. The lock is held. Returns what is to be let go of without it.
    private func close() -> Any? {
        isOpen = false
        setTimer(to: nil)
        if leftForTheEnd.isEmpty {
            endHandler?.cancel()
            endHandler = nil
        }
        return forgetAll()
    }
}

/// What every limiter is told when it is made.
struct LimiterSettings {
    let kind: RateLimitState.Kind
    let interval: Duration
    let edges: RateLimitEdges
    let loop: Loop
    let modes: Set<Loop.Mode>
    let whenReleased: RateLimitRelease

    init(
        _ kind: RateLimitState.Kind, _ interval: Duration, _ edges: RateLimitEdges, _ loop: Loop,
        _ modes: Set<Loop.Mode>, _ whenReleased: RateLimitRelease
    ) {
        self.kind = kind
        self.interval = interval
        self.edges = edges
        self.loop = loop
        self.modes = modes
        self.whenReleased = whenReleased
    }

    /// The state that a limiter, or a key, begins with.
    var state: RateLimitState { RateLimitState(kind, interval: interval.wholeNanoseconds, edges: edges) }
}

extension Optional where Wrapped == Duration {
    /// A `maxWait`, for the state.
    var asMaxWait: Int64? { self?.wholeNanoseconds }
}
