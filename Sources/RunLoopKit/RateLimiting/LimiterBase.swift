/// The base of every limiter's implementation: the loop and some of its modes, the limiter's lock, its timer while a
/// call is pending, and the actions that are on their way to the loop's thread. Subclasses decide when to act.
///
/// The loop keeps this object alive, by the timer and as an end listener, but not the public limiter. When that is
/// deallocated it calls `release()`, which cuts these ties. So whichever ends first, the limiter or the loop, finds the
/// pending calls.
///
/// **Lock order.** The loop's lock may be taken with this one held, never the other way round.
@usableFromInline
package class LimiterBase: EndListener, @unchecked Sendable {
    typealias Action = @Sendable () -> Void

    /// The most actions that the loop's thread performs in a row before it makes a pass, of those that fell due or were
    /// handed over together. As many as the messages of a port that one pass handles.
    static let actionsPerPortion = 64

    // The small properties fill the gap after the base's and after `rules`.
    final let lock = Lock(.limiter)

    // Guarded by `lock`, if they change. Exclusivity is unchecked, as in `Loop`.
    @exclusivity(unchecked) final var rules: RateLimitRules
    private enum Life {
        case open
        /// It was invalidated or released.
        case invalid
        case loopHasEnded
    }
    @exclusivity(unchecked) private var life = Life.open
    @exclusivity(unchecked) private var isTimerSet = false
    private let whenReleased: RateLimitRelease
    /// Whether the action gets all inputs of a burst.
    final let keepsAll: Bool
    /// Whether the limiter has no action yet. Then what falls due waits for it: the limiter itself goes on as usual.
    @exclusivity(unchecked) private(set) final var isWithoutHandler: Bool
    /// Whether a lost call was reported.
    @exclusivity(unchecked) private var wasReported = false
    /// The actions that have not returned: more than one if an action runs the loop nested. On the loop's thread only.
    @exclusivity(unchecked) private(set) final var actionsUnderWay: UInt16 = 0
    /// What the handler calls, if it is isolated to an actor.
    @exclusivity(unchecked) private var isolatedHandler: ObjectIdentifier?
    /// Has what limiters made at the same place share.
    private let pool: Loop.TimerPool
    /// Whether the limiter accepts calls. Not in a forked child of its process, whose loops are other ones.
    final var isOpen: Bool { life == .open && loop.process.isCurrent }
    /// When a trailing edge can come first; `.min` once the limiter has acted.
    @exclusivity(unchecked) private var firstTrailingEdge = Int64.min
    /// Lent by the pool while a call is pending, and while its handler runs.
    @exclusivity(unchecked) private var timer: Loop.Timer?
    /// When the timer fires, if `isTimerSet`. An optional would take 8 bytes more, and 16 of the allocator's.
    @exclusivity(unchecked) private var setTime: Int64 = 0
    /// When the timer fires; nil when nothing is pending.
    private var timerTime: Int64? {
        get { isTimerSet ? setTime : nil }
        set { (isTimerSet, setTime) = (newValue != nil, newValue ?? 0) }
    }
    /// For each of these actions, either the loop has a block, or the thread that lined it up performs it next.
    @exclusivity(unchecked) private var linedUp = RingQueue<Action>()
    /// The actions that a stopping loop refused, of a limiter that must not lose any; and those for which a handler was
    /// set.
    @exclusivity(unchecked) private var leftForTheEnd: [Action] = []

    /// - Parameter kind: What diagnostics call it; nil for that of its rules.
    init(
        _ settings: LimiterSettings, keepsAll: Bool, isWithoutHandler: Bool,
        kind: Loop.Timer.AfterCall.Limiter? = nil
    ) {
        rules = settings.rules
        self.keepsAll = keepsAll
        self.isWithoutHandler = isWithoutHandler
        whenReleased = settings.whenReleased
        let kind = kind ?? (settings.rules.isThrottle ? .throttle : .debounce)
        pool = settings.loop.timerPool(
            for: Loop.TimerPool.Key(limiter: kind, modes: settings.modes, place: settings.place))
        super.init()
    }

    deinit { pool.leave() }

    final var loop: Loop { pool.loop }
    private var clock: LoopTime { @inline(__always) get { pool.clock } }
    private var modes: Set<Loop.Mode> { pool.key.modes }
    /// What diagnostics call the timer and the blocks.
    private var place: Place { pool.key.place }

    // MARK: For subclasses to override

    /// The timer has fired, and no timer runs. Called on the loop's thread, without the lock.
    func timerFired() {}

    /// Handles timers whose time has come and for which nothing is pending, as the rules' `catchUp`. The lock is held.
    func catchUp(at now: Int64) {}

    /// Takes everything that is pending, as actions. The lock is held, and the limiter open.
    func takePending() -> [Action] { [] }

    /// Whether anything is pending, or waits for a handler. The lock is held.
    var hasPending: Bool { false }

    /// Drops everything for good. The lock is held. Returns what the caller must release without it: a user's object
    /// may call the limiter in its `deinit`.
    func forgetAll() -> Any? { nil }

    // MARK: Time

    /// The time of an event. Read with the lock held: otherwise the times of two threads could be out of order.
    final var now: Int64 { clock.nanoseconds }

    /// Whether the timer runs, and its time has come. The lock is held.
    final func isTimerDue(at now: Int64) -> Bool { timerTime.map { $0 <= now } ?? false }

    final var interval: Duration {
        get { .nanoseconds(lock.withLock { rules.interval }) }
        set { changeRules { $0.changeInterval(to: newValue.wholeNanoseconds) } }
    }

    /// Of a debounce.
    final var maxWait: Duration? {
        get { lock.withLock { rules.maxWait }.map { .nanoseconds($0) } }
        set { changeRules { $0.changeMaxWait(to: newValue?.wholeNanoseconds) } }
    }

    /// Changes the rules. What was due before must follow the old ones.
    private func changeRules(_ body: (inout RateLimitRules) -> Void) {
        lock.withLock {
            catchUp(at: now)
            body(&rules)
        }
    }

    /// Starts, moves or stops the timer. The lock is held.
    final func setTimer(to time: Int64?) {
        guard time != timerTime else { return }
        timerTime = time
        if let time {
            guard let timer else { return timer = pool.lend(at: time) { [self] _ in fired() } }
            timer.set(to: time)
        } else if let timer {
            if loop.isOnOwnThread { stop(timer) } else { stopAndWakeLoop(timer) }
        }
    }

    /// The lock is held.
    @inline(__always)
    private func stop(_ timer: Loop.Timer) {
        if timer.firing.load(ordering: .relaxed) { timer.set(to: nil) } else { giveTimerBack() }
    }

    /// A run of the loop's thread that waits for nothing but the timer is to end: see Retiring.swift.
    @inline(never)
    private func stopAndWakeLoop(_ timer: Loop.Timer) {
        let modes = timer.currentModes
        stop(timer)
        modes.wakeIfEmpty()
    }

    /// The lock is held.
    private func giveTimerBack() { if let timer = timer.take() { pool.takeBack(timer) } }

    /// Why the limiter does not act now, in words.
    final var explanation: String {
        let (timer, isWithoutHandler) = lock.withLock { () -> (Loop.Timer?, Bool) in
            (timerTime == nil ? nil : self.timer, self.isWithoutHandler)
        }
        let waits = isWithoutHandler ? "No handler is set. " : ""
        return waits + (timer.map { loop.explain($0).description } ?? "No timer runs.")
    }

    /// Another thread may have stopped or moved the timer meanwhile. The rules do nothing before their time, and the
    /// subclass then sets the timer again.
    private func fired() {
        lock.withLock { timerTime = nil }
        timerFired()
        // Not before the action, in which diagnostics and a nested run know the timer as this limiter's.
        lock.withLock { if timerTime == nil { giveTimerBack() } }
    }

    // MARK: Acting

    /// The outcome of lining up actions, and how many of the first actions in line the caller must perform.
    private typealias Acceptance = (isAccepted: Bool, countToPerform: Int)

    /// Lines up actions for the loop's thread, and performs them if this is that thread.
    ///
    /// - Returns: False when the loop refuses the actions.
    final func lineUp(_ actions: [Action], unlocking held: consuming Lock.Held) -> Bool {
        let acceptance = lineUp(actions)
        lock.unlock(held)
        perform(acceptance)
        if !acceptance.isAccepted { loop.complainIfMainIsGone() }
        return acceptance.isAccepted
    }

    /// The same for one action.
    final func lineUp(_ action: @escaping Action, unlocking held: consuming Lock.Held) -> Bool {
        guard loopIsHere else { return lineUp([action], unlocking: held) }
        perform(action, unlocking: held)
        return true
    }

    /// Hands actions over to the loop, even on its own thread: those that waited for the handler that the caller, which
    /// may be in an `init`, has just set.
    final func handOver(_ actions: [Action], unlocking held: consuming Lock.Held) {
        let acceptance = lineUp(actions, handsOver: true)
        lock.unlock(held)
        if !acceptance.isAccepted { reportDropped() }
    }

    /// Whether the limiter may have a handler of the main actor; reports it if not.
    final func mayBelongToMainActor() -> Bool {
        if loop.takesMainActor { return true }
        Mistakes.shared.report(.refusedItem(item: name, reason: .itemIsForMainActor))
        return false
    }

    /// An action of the main actor as the limiter calls it. As for items, a call is checked in virtual time alone.
    final func ofMainActor<Input>(_ action: @escaping @MainActor (Input) -> Void) -> @Sendable (Input) -> Void {
        let action = unsafeBitCast(action, to: (@Sendable (Input) -> Void).self)
        if loop.isMain { return action }
        return { [name] input in
            Loop.requireMainActor(name)
            action(input)
        }
    }

    /// The same, with a key.
    final func ofMainActor<Key, Input>(
        _ action: @escaping @MainActor (Key, Input) -> Void
    ) -> @Sendable (Key, Input) -> Void {
        let action = unsafeBitCast(action, to: (@Sendable (Key, Input) -> Void).self)
        if loop.isMain { return action }
        return { [name] key, input in
            Loop.requireMainActor(name)
            action(key, input)
        }
    }

    /// The lock is held; once it is released, call `perform(_:)`.
    private func lineUp(_ actions: [Action], handsOver: Bool = false) -> Acceptance {
        guard !actions.isEmpty else { return (true, 0) }
        firstTrailingEdge = .min
        guard handsOver || !loopIsHere else {
            lineUpRefused()
            for action in actions { linedUp.append(action) }
            return (true, linedUp.count)
        }
        // An action that is handed over alone has a block of its own, and so keeps its place among other blocks. The
        // block may find another action first in line, or none: the loop's thread may have performed its own already.
        let isAccepted =
            actions.count == 1
            ? loop.perform(in: modes, place, isReported: false) { self.performFirst() }
            : loop.perform(in: modes, place, isReported: false) { self.performPortion() }
        if isAccepted {
            for action in actions { linedUp.append(action) }
            pool.watchIfUnrun(nil)
        } else if handsOver || whenReleased == .flush, isOpen, !modes.isEmpty {
            leftForTheEnd += actions
            return (true, 0)
        }
        return (isAccepted, 0)
    }

    /// Performs an action on the loop's thread, in one of the modes: after the actions in line, if there are any.
    final func perform(_ action: @escaping Action, unlocking held: consuming Lock.Held) {
        firstTrailingEdge = .min
        guard hasLine else {
            lock.unlock(held)
            return call(action)
        }
        lineUpRefused()
        linedUp.append(action)
        let count = linedUp.count
        lock.unlock(held)
        perform((true, count))
    }

    /// Performs the actions in line if this is the loop's thread: a flush that finds nothing pending ensures that all
    /// calls before it have been acted on.
    final func performLine(unlocking held: consuming Lock.Held) {
        let count = hasLine && loopIsHere ? lineUpRefused() : 0
        lock.unlock(held)
        perform((true, count))
    }

    /// Whether earlier actions have not been performed. The lock is held.
    private var hasLine: Bool { !linedUp.isEmpty || !leftForTheEnd.isEmpty }

    /// Appends the actions that the stopping loop has refused to those in line, for the caller to perform: it is on the
    /// loop's thread, and they come before any later one. Returns the length of the line. The lock is held.
    @discardableResult
    private func lineUpRefused() -> Int {
        for action in exchange(&leftForTheEnd, with: []) { linedUp.append(action) }
        return linedUp.count
    }

    /// A block of the loop that performs one portion of the actions in line, and leaves the rest to another block.
    private func performPortion() {
        let count = lock.withLock { linedUp.count }
        // Posted before the first action, which may run the loop, nested. A stopping loop refuses the block, but has
        // accepted the actions: then this block is the last one that can perform them.
        let isPortion =
            count > LimiterBase.actionsPerPortion && loop.perform(in: modes, place) { self.performPortion() }
        for _ in 0..<(isPortion ? LimiterBase.actionsPerPortion : count) {
            guard !loop.discardsBlocks, performFirst() else { break }
        }
    }

    /// Performs the actions that fall to the caller, which is on the loop's thread then. Called without the lock.
    ///
    /// In order: actions that other threads handed over come first. No more than there were when the caller's were
    /// lined up: otherwise other threads could keep the caller here for ever.
    private func perform(_ acceptance: Acceptance) {
        for _ in 0..<acceptance.countToPerform where !performFirst() { break }
    }

    @discardableResult
    private func performFirst() -> Bool {
        guard let action = lock.withLock({ linedUp.takeFirst() }) else { return false }
        call(action)
        return true
    }

    private func call(_ action: Action) {
        actionsUnderWay &+= 1
        action()
        actionsUnderWay &-= 1
    }

    /// Whether this is the loop's thread, and the loop runs in one of the modes or not at all.
    final var loopIsHere: Bool {
        guard loop.isOnOwnThread else { return false }
        guard let mode = loop.currentMode, !modes.contains(mode) else { return true }
        return modes.contains(.common) && loop.isCommon(mode)
    }

    // MARK: The beginning and the end

    /// Called once, by the public limiter's `init`.
    final func open() { if !beginLife() { reportIfMainIsGone() } }

    /// As `open()`, for a caller that holds a lock: afterwards, without the lock, it calls `reportIfMainIsGone()`.
    /// Returns false if the loop refuses the limiter.
    @discardableResult
    final func beginLife() -> Bool {
        let isRefused = lock.withLock {
            firstTrailingEdge = now.addingSaturating(rules.interval)
            return !loop.addEndListener(self)
        }
        if isRefused { end(.loopHasEnded) }
        return !isRefused
    }

    /// Reports that the limiter can never act.
    package final func reportIfMainIsGone() { loop.complainIfMainIsGone() }

    final func invalidate() { end(.invalid) }

    private func end(_ life: Life) {
        let (line, remains) = lock.withLock { (takeLine(), close(life)) }
        withExtendedLifetime(line) { giveUp(remains) }
    }

    /// The handler was set. The lock is held.
    final func hasGotHandler(_ isolated: AnyObject?) {
        isWithoutHandler = false
        isolatedHandler = isolated.map { ObjectIdentifier($0) }
    }

    /// An action on its way to the loop may belong to a handler that was replaced: then the limiter goes on.
    final func actorIsGone(of handler: AnyObject) {
        let remains = lock.withLock {
            isolatedHandler == ObjectIdentifier(handler) ? (line: takeLine(), rest: close(.invalid)) : nil
        }
        if let remains { giveUp(remains.rest) }
    }

    /// Called after a call was refused that its caller does not make in another way, as rules do. A limiter that must
    /// lose no call loses this one if its loop has ended. Returns false.
    @usableFromInline @inline(never)
    final func reportRefusal() -> Bool {
        guard loop.isOfThisProcess, whenReleased == .flush, lock.withLock({ life == .loopHasEnded }) else {
            return false
        }
        Mistakes.shared.report(.refusedCall(limiter: name))
        return false
    }

    private var name: String { pool.limiterName }

    /// Called before `release()`, and before a `LoopThread` that is dropped stops. A limiter that ends before its first
    /// trailing edge could never act on the call that it discards; nor could one without a handler, which cannot flush
    /// either. In virtual time a test may end there.
    final func reportIfDropped() {
        guard loop.process.isCurrent else { return }
        let isDropped = lock.withLock {
            guard isOpen, hasPending else { return false }
            return isWithoutHandler || whenReleased == .discard && now < firstTrailingEdge
        }
        if isDropped { reportDropped() }
    }

    /// Reports that a call is lost; once, and not in virtual time. A thread that was stopped before is no mistake,
    /// unless the limiter was to flush.
    final func reportDropped() {
        guard !clock.isVirtual, loop.process.isCurrent, whenReleased == .flush || !loop.isClosing else { return }
        let isFirst = lock.withLock { !exchange(&wasReported, with: true) }
        if isFirst { Mistakes.shared.report(.droppedLimiter(limiter: name)) }
    }

    final override func threadIsDropped() { reportIfDropped() }

    /// The public limiter is deallocated. Actions in line keep this object alive until they have been performed.
    final func release() {
        lock.lock()
        let pending = isOpen && whenReleased == .flush ? takePending() : []
        var acceptance = lineUp(pending)
        if pending.isEmpty, whenReleased == .flush, hasLine, loopIsHere {
            acceptance.countToPerform = lineUpRefused()
        }
        let remains = close(.invalid)
        lock.unlock()
        perform(acceptance)
        withExtendedLifetime(pending) { giveUp(remains) }
    }

    /// Called on the loop's thread, after its last block.
    final override func loopEnds() {
        lock.lock()
        let isLost = isOpen && whenReleased == .flush && isWithoutHandler && hasPending
        let pending = isOpen && whenReleased == .flush ? takePending() : []
        // The blocks of those in line were dropped.
        let (dropped, left) = takeLine()
        let remains = close(.loopHasEnded)
        lock.unlock()
        if isLost { reportDropped() }
        for action in left + pending { action() }
        withExtendedLifetime(dropped) { giveUp(remains) }
    }

    /// Takes the actions in line, and those left for the loop's end. The lock is held.
    private func takeLine() -> (inLine: [Action], left: [Action]) {
        (linedUp.takeAll(), exchange(&leftForTheEnd, with: []))
    }

    /// What a limiter leaves at its end: to be released without the lock.
    private struct Remains {
        let contents: Any?
        /// Those of its timer.
        let modes: ModeList
    }

    /// Refuses everything from now on. The lock is held; once it is released, call `giveUp(_:)`.
    private func close(_ life: Life) -> Remains {
        if isOpen {
            self.life = life
            if life == .invalid, leftForTheEnd.isEmpty { loop.removeEndListener(self) }
        }
        timerTime = nil
        // Its handler may run, in which the limiter ends.
        let modes = timer.take()?.invalidateLeavingModes() ?? ModeList()
        return Remains(contents: forgetAll(), modes: modes)
    }

    /// A run that waits for nothing but the timer is to end: see Retiring.swift.
    private func giveUp(_ remains: Remains) {
        remains.modes.wakeIfEmpty()
        withExtendedLifetime(remains) {}
    }
}
