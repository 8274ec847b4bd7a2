/// Lets inputs through at a rate, in order, and loses none: so many tokens in a period, of which each input takes its
/// cost. Any thread may call everything here; the action runs on the thread of the queue's loop.
///
/// ```swift
/// let requests = PacedQueue<String>(50, per: .seconds(1), capacity: 1000) { path in reload(path) }
/// guard requests("/a") == .accepted else { return print("too many wait") }
/// ```
///
/// That is one every 20 ms, and 1,000 may wait. A ``Throttle`` drops what comes too often, and a ``Quota`` refuses it.
///
/// - *Order:* inputs are acted on in the order of the calls, one at a time.
/// - *The rate* counts actions, not calls: the queue takes an input's tokens when its action begins. So a loop that was
///   busy acts on a burst at most, and the rest waits for its tokens.
/// - *The burst* is how many tokens there are at first, and after a pause. With 1, the default, actions are evenly
///   spaced.
/// - *A cost*, such as a number of bytes, may exceed the burst. Such an input needs a full burst, and what it costs
///   besides delays the next ones. So the rate holds for any cost.
/// - *A full queue* answers `full`, and drops the new input. Nothing that was accepted is dropped.
///
/// To pace bytes, give each block its size. This sends 100 kB a second:
///
/// ```swift
/// let output = PacedQueue<[UInt8]>(100_000, per: .seconds(1), capacity: 64) { block in
///     write(STDOUT_FILENO, block, block.count)
/// }
/// let block = [UInt8](repeating: 0, count: 4096)
/// let answer = output(block, cost: block.count)
/// ```
///
/// The input may be work: `PacedQueue<@Sendable () -> Void>(…) { $0() }`.
///
/// A queue that was made without an action keeps its inputs until ``setHandler(_:)`` gives it one.
///
/// **Threads.** A call on the loop's thread acts at once if nothing waits, the tokens are there, and the loop runs in
/// one of the queue's modes or not at all. Otherwise, and inside the queue's own action, the input waits for the loop,
/// which must run.
///
/// **Isolation and lifetime** are those of ``Limiter``. `isolation: .shared` makes a queue on ``Loop/main`` whose
/// action belongs to the main actor. Keep a reference to the queue: `whenReleased` decides about inputs that wait when
/// it is deallocated or the loop ends. At most 64 actions run in a row before the loop makes a pass.
///
/// ASIHTTPRequest: bandwidth throttling. nginx: `limit_req` without `nodelay`. Guava: `RateLimiter`, whose `acquire`
/// blocks the caller.
public final class PacedQueue<Input: Sendable>: CustomStringConvertible, @unchecked Sendable {
    // The loop may retain the core for longer than this object lives.
    let core: PacedQueueCore<Input>

    /// Makes a queue with all its tokens. On any thread.
    ///
    /// - Parameters:
    ///   - tokens: How many tokens come in a period. If zero or less, none ever come, and nothing is let through after
    ///     the burst.
    ///   - period: The period, rounded up to a whole nanosecond. If it is zero or less, nothing is delayed.
    ///   - burst: How many tokens can be saved up. Less than 1 counts as 1.
    ///   - capacity: How many inputs can wait. Less than 1 counts as 1.
    ///   - loop: The loop on whose thread the action runs, and whose clock counts.
    ///   - modes: The modes of the loop in which it acts. While the loop runs in others, inputs wait.
    ///   - whenReleased: What happens to inputs that wait when the queue is deallocated or the loop ends.
    ///   - label: What diagnostics call the queue's timer and blocks; nil to call them by the place where it was made.
    ///   - file: The source file that makes the queue, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the loop's thread for each input, with no lock held. It may do anything, including calling
    ///     the queue or dropping it. Nil to set it later: ``setHandler(_:)``.
    public init(
        _ tokens: Int, per period: Duration, burst: Int = 1, capacity: Int, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line, action: (@Sendable (_ input: Input) -> Void)? = nil
    ) {
        let quota = BucketSettings(tokens, period, max(1, burst))
        let settings = LimiterSettings(
            .throttle, .nanoseconds(quota.rules.interval), .leading, loop, modes, whenReleased, Place(label, file, line)
        )
        core = PacedQueueCore(settings, quota, capacity: max(1, capacity), action)
        core.open()
    }

    deinit {
        core.reportIfDropped()
        core.release()
    }

    /// Appends an input, which is acted on when its turn and its tokens have come. From any thread.
    ///
    /// - Parameters:
    ///   - input: What the action gets.
    ///   - cost: How many tokens it takes. Zero or less takes none, and waits until nothing is owed.
    /// - Returns: `accepted`; `full` if as many wait as the capacity allows; `closed` after ``invalidate()`` and after
    ///   the end of the loop. Unless it is accepted, the input is dropped.
    public func callAsFunction(_ input: Input, cost: Int = 1) -> Loop.SendAnswer { core.call(input, max(0, cost)) }

    /// Sets the action, for the inputs whose turn comes from now on: one that is on its way to the loop's thread
    /// already goes to the old action. From any thread, any number of times.
    ///
    /// It lets an object make its queue in its `init`, without an action, and then set one that captures it. Until then
    /// inputs wait, as many as the capacity allows, and take no tokens. ``flush()`` leaves them waiting, and
    /// `whenReleased` has no effect. The first handler gets them from the loop, at the rate.
    ///
    /// The old action is released as soon as no call uses it, with no lock held.
    ///
    /// - Parameter handler: Called on the loop's thread for each input, with no lock held.
    /// - Returns: Whether the queue has the action. False if it was invalidated, or its loop has ended.
    @discardableResult
    public func setHandler(_ handler: @escaping @Sendable (_ input: Input) -> Void) -> Bool { core.setHandler(handler) }

    /// Sets an action of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the queue has the action. False if it has ended; and if its loop is neither ``Loop/main``
    ///   nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setHandler(
        isolation mainActor: MainActor, _ handler: @escaping @MainActor (_ input: Input) -> Void
    ) -> Bool {
        core.mayBelongToMainActor() && core.setHandler(core.ofMainActor(handler))
    }

    /// Acts now on all inputs that wait, in order. From any thread: the actions run where they always do. They take
    /// their tokens, so that later inputs wait until nothing is owed.
    ///
    /// On the loop's thread, all earlier inputs have been acted on when this returns. Otherwise the loop's thread acts
    /// in portions of 64, between which the loop makes a pass.
    ///
    /// - Returns: Whether inputs waited and the loop accepted all actions.
    @discardableResult
    public func flush() -> Bool { core.flush() }

    /// Drops all inputs that wait. Tokens that were taken stay taken. From any thread.
    public func cancel() { core.cancel() }

    /// The number of inputs that wait. From any thread.
    public var waitingCount: Int { core.waitingCount }

    /// Ends the queue for good: drops the inputs that wait, and releases the action with its captures. Later calls are
    /// answered with `closed`. From any thread; an action that runs at this moment continues.
    public func invalidate() { core.invalidate() }

    /// The rate, how many inputs wait, and why the queue does not act yet.
    public var description: String { core.description }
}

extension PacedQueue where Input == Void {
    /// Appends an input to a queue whose action needs none.
    public func callAsFunction(cost: Int = 1) -> Loop.SendAnswer { self((), cost: cost) }
}

/// The implementation of `PacedQueue`, which only this class knows the inputs of.
final class PacedQueueCore<Input: Sendable>: PacedQueueBase, @unchecked Sendable {
    /// Guarded by the lock. Exclusivity is unchecked, as in `Loop`.
    @exclusivity(unchecked) private var action: (@Sendable (Input) -> Void)?

    init(
        _ settings: LimiterSettings, _ quota: BucketSettings, capacity: Int,
        _ action: (@Sendable (Input) -> Void)?
    ) {
        self.action = action
        super.init(settings, quota, capacity: capacity, isWithoutHandler: action == nil)
    }

    func call(_ input: Input, _ cost: Int) -> Loop.SendAnswer {
        let held = lock.hold()
        guard isOpen else {
            lock.unlock(held)
            return refuse()
        }
        if actsAtOnce(cost) {
            perform(makeAction(input), unlocking: held)
            return .accepted
        }
        guard hasRoom else {
            lock.unlock(held)
            return .full
        }
        let waiting = Waiting(cost: cost) { unsafeDowncast($0, to: PacedQueueCore<Input>.self).makeAction(input) }
        append(waiting, unlocking: held)
        return .accepted
    }

    private func refuse() -> Loop.SendAnswer {
        _ = reportRefusal()
        return .closed
    }

    /// Returns false if the queue has ended.
    ///
    /// - Parameter isolated: What the handler calls, if it is isolated to an actor.
    func setHandler(of isolated: AnyObject? = nil, _ handler: @escaping @Sendable (Input) -> Void) -> Bool {
        let held = lock.hold()
        guard isOpen else {
            lock.unlock(held)
            return false
        }
        let old = exchange(&action, with: handler)
        hasGotHandler(isolated)
        setTimerToFirst()
        lock.unlock(held)
        // Released without the lock, as its captures.
        withExtendedLifetime(old) {}
        return true
    }

    override func forgetAll() -> Any? { (action.take(), super.forgetAll()) }

    /// The lock is held.
    private func makeAction(_ input: Input) -> Action {
        let action = action!
        return { action(input) }
    }
}

/// What `PacedQueue` does, whatever its inputs. It has a timer for the first input that waits.
///
/// Not generic, so that a call needs no type metadata at run time.
class PacedQueueBase: LimiterBase, @unchecked Sendable {
    /// An input that waits, and what it costs.
    struct Waiting {
        let cost: Int
        /// Called with the lock held: the action is that of this moment.
        let makeAction: (_ queue: PacedQueueBase) -> Action
    }

    private let quota: BucketSettings
    private let capacity: Int
    // Guarded by the lock. Exclusivity is unchecked, as in `Loop`.
    @exclusivity(unchecked) private var bucket = TokenBucket()
    @exclusivity(unchecked) private var waiting = RingQueue<Waiting>()

    init(_ settings: LimiterSettings, _ quota: BucketSettings, capacity: Int, isWithoutHandler: Bool) {
        (self.quota, self.capacity) = (quota, capacity)
        super.init(settings, keepsAll: true, isWithoutHandler: isWithoutHandler, kind: .pacedQueue)
    }

    // MARK: Events

    final func flush() -> Bool {
        let held = lock.hold()
        let actions = takePending()
        if !actions.isEmpty { return lineUp(actions, unlocking: held) }
        performLine(unlocking: held)
        return false
    }

    final func cancel() {
        lock.lock()
        let dropped = waiting.takeAll()
        setTimer(to: nil)
        lock.unlock()
        withExtendedLifetime(dropped) {}
    }

    final var waitingCount: Int { lock.withLock { waiting.count } }

    final var description: String {
        let count = waitingCount
        return "PacedQueue: \(quota.rate), " + (count == 0 ? "none wait" : "\(count) wait. \(explanation)")
    }

    // MARK: LimiterBase

    /// Serves one portion of the inputs that wait now. Inputs that come meanwhile wait for the next pass, since an
    /// action may call the queue.
    final override func timerFired() {
        let count = min(waitingCount, LimiterBase.actionsPerPortion)
        for _ in 0..<count where !serveFirst() { break }
        lock.withLock { setTimerToFirst() }
    }

    final override var hasPending: Bool { !waiting.isEmpty }

    final override func takePending() -> [Action] {
        guard isOpen, !isWithoutHandler, !waiting.isEmpty else { return [] }
        setTimer(to: nil)
        let now = now
        var actions: [Action] = []
        actions.reserveCapacity(waiting.count)
        while let item = waiting.takeFirst() {
            quota.rules.charge(item.cost, to: &bucket, at: now)
            actions.append(item.makeAction(self))
        }
        return actions
    }

    override func forgetAll() -> Any? { waiting.takeAll() }

    /// Returns false when nothing is due.
    private func serveFirst() -> Bool {
        let held = lock.hold()
        guard isOpen, !waiting.isEmpty, take(waiting.first.cost, at: now) else {
            lock.unlock(held)
            return false
        }
        let item = waiting.removeFirst()
        // Before the action, which may run the loop, nested: the timer serves the others there.
        setTimerToFirst()
        perform(item.makeAction(self), unlocking: held)
        return true
    }

    // MARK: With the lock held

    /// Whether a call acts now, and takes the tokens then. Elsewhere they are taken when the loop comes around: a busy
    /// one would act on many at once. Inside an action, too: they act one at a time.
    final func actsAtOnce(_ cost: Int) -> Bool {
        waiting.isEmpty && !isWithoutHandler && loopIsHere && actionsUnderWay == 0 && take(cost, at: now)
    }

    final var hasRoom: Bool { waiting.count < capacity }

    final func append(_ item: Waiting, unlocking held: consuming Lock.Held) {
        waiting.append(item)
        if waiting.count == 1 { setTimerToFirst() }
        lock.unlock(held)
    }

    /// How many tokens must be there for an input. What it costs besides is owed.
    private func least(for cost: Int) -> Int { Int(min(Int64(cost), quota.rules.burst)) }

    private func take(_ cost: Int, at now: Int64) -> Bool {
        quota.rules.take(cost, ifThereAre: least(for: cost), from: &bucket, at: now)
    }

    final func setTimerToFirst() {
        guard isOpen, !isWithoutHandler, !waiting.isEmpty else { return setTimer(to: nil) }
        let now = now
        let wait = quota.rules.wait(for: least(for: waiting.first.cost), in: bucket, at: now)
        // Of several that are due, the timer is not moved for each.
        if wait == 0, isTimerDue(at: now) { return }
        setTimer(to: wait.map { now.addingSaturating($0) })
    }
}
