/// Limits how often something is done: the common base of ``Throttle`` and ``Debounce``. Any thread may call everything
/// here; the action runs on its loop's thread.
///
/// Make one of these two; use this class where either will do. ``KeyedLimiter`` is the same for many keys.
///
/// ```swift
/// final class Field {
///     let onChange: Limiter<String>
///     init(onChange: Limiter<String>) { self.onChange = onChange }
///     func type(_ text: String) { onChange(text) }
/// }
/// let field = Field(onChange: Debounce(interval: .milliseconds(300)) { lookUp($0) })
/// ```
///
/// **Threads.** A call on the loop's thread runs the action at once, while the loop runs in one of the limiter's modes
/// or not at all. Otherwise the action is handed over, in order.
///
/// **Isolation.** The action is `@Sendable`, and does not belong to the caller's actor:
/// <doc:ThrottleOrDebounce#Whose-state-the-action-may-touch>. One of the main actor goes to an initializer with
/// `isolation: .shared`, whose limiter is on ``Loop/main``. One of an actor on the limiter's loop is set by
/// `setHandler(isolation: self)`, in the actor's `init`. For an actor that is on no loop, take an ``AsyncLimiter``,
/// whose action may `await` it.
///
/// **Lifetime:**
///
/// - The loop does not retain the limiter; keep a reference. When the limiter is deallocated, or the loop ends,
///   `whenReleased` decides about a pending call: by default it is dropped. ``Loop/Mistake/droppedLimiter(limiter:)``
///   says when that is reported.
/// - A ``LoopThread`` that is stopped first runs the blocks that it has accepted.
/// - The limiter retains its action: capture the limiter's owner as `[weak self]`, or neither is ever deallocated.
public class Limiter<Input: Sendable>: CustomStringConvertible, @unchecked Sendable {
    // The loop may retain the core for longer than this object lives.
    @usableFromInline package let core: SingleLimiter<Input>

    init(_ core: SingleLimiter<Input>) {
        self.core = core
        core.open()
    }

    /// Makes the limiter of a rule. It is flushed, so that no call is lost when the rule or its loop ends. The caller
    /// may hold a lock, and reports the main loop's end itself: `core.reportIfMainIsGone()`.
    private init(
        ofRule kind: RateLimitState.Kind, _ interval: Duration, _ loop: Loop, keepsAll: Bool,
        _ action: BurstAction<Input>
    ) {
        let settings = LimiterSettings(
            kind, interval, .trailing, loop, [.common], .flush, Place("rule", #fileID, #line))
        core = SingleLimiter(settings, keepsAll: keepsAll, action)
        core.beginLife()
    }

    /// As above: its action gets the last input.
    package convenience init(
        ofRule kind: RateLimitState.Kind, interval: Duration, on loop: Loop, action: @escaping @Sendable (Input) -> Void
    ) {
        self.init(ofRule: kind, interval, loop, keepsAll: false, .onLast(action))
    }

    /// As above: its action gets all inputs of a burst.
    package convenience init(
        ofRule kind: RateLimitState.Kind, interval: Duration, on loop: Loop,
        collecting action: @escaping @Sendable ([Input]) -> Void
    ) {
        self.init(ofRule: kind, interval, loop, keepsAll: true, .init(collecting: action))
    }

    deinit {
        core.reportIfDropped()
        core.release()
    }

    /// Calls the limiter. From any thread.
    ///
    /// The limiter decides now whether to act, even if it hands the action over to another thread. Inside a burst a
    /// call touches no timer and makes no system call. It allocates nothing unless it has to keep all inputs.
    ///
    /// - Returns: Whether the limiter accepted the call. False after ``invalidate()``, after the end of the loop, and
    ///   if a stopping loop refused this call's action and `whenReleased` is `discard`.
    @inlinable @discardableResult
    public final func callAsFunction(_ input: Input) -> Bool { core.call(input) || core.reportRefusal() }

    /// Sets the action, for the actions that fall due from now on: one that is on its way to the loop's thread already
    /// calls the old action. From any thread, any number of times.
    ///
    /// It lets an object make its limiter in its `init`, without an action, and then set one that captures it. Until
    /// then the limiter decides as usual when to act, and what falls due waits. The first handler gets it from the
    /// loop, in one call: the last input, or all combined if the limiter merges. ``isPending`` counts it, and
    /// ``cancel()`` drops it. `whenReleased` has no effect without an action:
    /// a pending call is dropped then, which is reported as ``Loop/Mistake/droppedLimiter(limiter:)``.
    ///
    /// The old action is released as soon as no call uses it, with no lock held.
    ///
    /// - Parameter handler: Called on the loop's thread, with no lock held. If the limiter collects, it is called for
    ///   each input.
    /// - Returns: Whether the limiter has the action. False if it was invalidated, or its loop has ended.
    @discardableResult
    public final func setHandler(_ handler: @escaping @Sendable (_ input: Input) -> Void) -> Bool {
        core.setHandler(handler)
    }

    /// Sets an action that gets all inputs since the last action, as ``setHandler(_:)`` sets another one. It is for a
    /// limiter that `collecting` has made; in any other it gets the last input alone, or those that it would merge.
    ///
    /// - Parameter handler: Called on the loop's thread, with no lock held. Never with an empty array.
    @_disfavoredOverload @discardableResult
    public final func setHandler(collecting handler: @escaping @Sendable (_ inputs: [Input]) -> Void) -> Bool {
        core.setHandler(collecting: handler)
    }

    /// Sets an action of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the limiter has the action. False if it has ended; and if its loop is neither ``Loop/main``
    ///   nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public final func setHandler(
        isolation mainActor: MainActor, _ handler: @escaping @MainActor (_ input: Input) -> Void
    ) -> Bool {
        core.mayBelongToMainActor() && core.setHandler(core.ofMainActor(handler))
    }

    /// Acts now on the pending call, if there is one, and stops the timer. From any thread: the action runs where it
    /// always does. lodash: `flush`.
    ///
    /// On the loop's thread, all earlier calls have been acted on when this returns, even those whose actions other
    /// threads have handed over. The burst continues: its times stay.
    ///
    /// - Returns: Whether a call was pending and the loop accepted the action.
    @discardableResult
    public final func flush() -> Bool { core.flush() }

    /// Drops the pending call and forgets the past: the next call is a first call. From any thread. An action that was
    /// handed over to the loop's thread already still runs. lodash: `cancel`.
    public final func cancel() { core.cancel() }

    /// Whether a call is pending. From any thread. It is false after the call was cancelled, flushed or acted on, even
    /// while its action is on its way to the loop's thread; and always without a trailing edge. lodash: `pending`,
    /// which counts a timer that does nothing as well.
    public final var isPending: Bool { core.isPending }

    /// Whether a call with such an input is pending. `isSuch` is called with the lock held.
    @inlinable
    package final func isPending(where isSuch: (Input) -> Bool) -> Bool { core.isPending(where: isSuch) }

    /// The kind of limiter, its interval, whether a call is pending, and why it does not act yet.
    public final var description: String { "\(type(of: self)): \(state)" }

    /// The interval, whether a call is pending, and why it does not act yet.
    final var state: String {
        let pending = isPending ? "a call is pending. \(core.explanation)" : "no call is pending"
        return "interval \(interval), \(pending)"
    }

    /// The time in which a throttle acts at most once; the time without a call that ends a debounce's burst. Any thread
    /// may set it; negative values become zero. lodash: `wait`.
    ///
    /// A new value counts from the next call on, even inside a burst. Without another call, a pending one waits for the
    /// running timer, and then for the rest of an interval that has become longer. To shorten that, call
    /// ``Limiter/flush()``.
    public final var interval: Duration {
        get { core.interval }
        set { core.interval = newValue }
    }

    /// Ends the limiter for good. From any thread. Later calls do nothing; an action that runs at this moment
    /// continues. HWThrottle: `invalidate`.
    ///
    /// It drops the pending call and the actions that wait on the loop, and releases the action with its captures, so
    /// that an owner that it captures can be deallocated.
    public final func invalidate() { core.invalidate() }
}

extension Limiter where Input == Void {
    /// Calls a limiter that has no input.
    @inlinable @discardableResult
    public final func callAsFunction() -> Bool { self(()) }
}
