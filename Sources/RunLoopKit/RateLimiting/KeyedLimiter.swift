/// Limits how often something is done for each key: the common base of ``KeyedThrottle`` and ``KeyedDebounce``. Make
/// one of these two. Threads and lifetime are those of ``Limiter``.
///
/// It treats each key as a limiter of its own would, except that it forgets keys: see ``KeyedLimiter/interval``. All
/// keys share one timer, which runs only while a call is pending.
///
/// - *Memory:* a key that would behave like a new one is forgotten during a later call, for whatever key. A limiter
///   that is never called again keeps its last keys; ``KeyedLimiter/cancelAll()`` drops them.
/// - *Many keys at once:* keys that are due at the same instant act in no particular order. The loop's thread serves
///   64, and then makes a pass, so that timers, sources and blocks get their turn.
/// - *A call of a key that is due but not served yet* counts as a call before a late timer. A throttle acts at once, in
///   the timer's place. A debounce continues the burst, and acts at once only if a `maxWait` is over.
/// - *Comparing keys* happens with a lock held: `==` and `hash(into:)` must not call the limiter.
public class KeyedLimiter<Key: Hashable & Sendable, Input: Sendable>: CustomStringConvertible, @unchecked Sendable {
    // The loop may retain the core for longer than this object lives.
    @usableFromInline let core: PerKeyLimiter<Key, Input>

    init(_ core: PerKeyLimiter<Key, Input>) {
        self.core = core
        core.open()
    }

    deinit {
        core.reportIfDropped()
        core.release()
    }

    /// Calls the limiter for a key. From any thread.
    ///
    /// - Returns: Whether the limiter accepted the call. False after ``invalidate()``, after the end of the loop, and
    ///   if a stopping loop refused this call's action and `whenReleased` is `discard`.
    @inlinable @discardableResult
    public final func callAsFunction(_ input: Input, for key: Key) -> Bool {
        core.call(input, for: key) || core.reportRefusal()
    }

    /// Sets the action of all keys, as ``Limiter/setHandler(_:)`` does for one. What fell due without an action waits
    /// for it, for each key by itself.
    ///
    /// - Parameter handler: Called on the loop's thread, with no lock held. If the limiter collects, it is called for
    ///   each input.
    /// - Returns: Whether the limiter has the action. False if it was invalidated, or its loop has ended.
    @discardableResult
    public final func setHandler(_ handler: @escaping @Sendable (_ key: Key, _ input: Input) -> Void) -> Bool {
        core.setHandler(handler)
    }

    /// Sets an action that gets all inputs of a key, as ``Limiter/setHandler(collecting:)`` does for one.
    ///
    /// - Parameter handler: Called on the loop's thread, with no lock held. Never with an empty array.
    @_disfavoredOverload @discardableResult
    public final func setHandler(
        collecting handler: @escaping @Sendable (_ key: Key, _ inputs: [Input]) -> Void
    ) -> Bool {
        core.setHandler(collecting: handler)
    }

    /// Sets an action of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the limiter has the action. False if it has ended; and if its loop is neither ``Loop/main``
    ///   nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public final func setHandler(
        isolation mainActor: MainActor, _ handler: @escaping @MainActor (_ key: Key, _ input: Input) -> Void
    ) -> Bool {
        core.mayBelongToMainActor() && core.setHandler(core.ofMainActor(handler))
    }

    /// Acts now on the pending call of a key. From any thread. On the loop's thread it runs actions that other threads
    /// have handed over, too.
    ///
    /// - Returns: Whether a call was pending and the loop accepted the action.
    @discardableResult
    public final func flush(_ key: Key) -> Bool { core.flush(key) }

    /// Acts now on all pending calls, the keys in no particular order. From any thread.
    ///
    /// On the loop's thread, all of these actions have run when this returns, and those that other threads had handed
    /// over before. Otherwise the loop's thread runs them in portions of 64, between which the loop makes a pass.
    ///
    /// - Returns: Whether calls were pending and the loop accepted all actions.
    @discardableResult
    public final func flushAll() -> Bool { core.flushAll() }

    /// Drops the pending call of a key, and forgets the key. From any thread.
    public final func cancel(_ key: Key) { core.cancel(key) }

    /// Drops all pending calls, and forgets all keys. From any thread.
    public final func cancelAll() { core.cancelAll() }

    /// Whether a call for this key is pending. From any thread.
    public final func isPending(_ key: Key) -> Bool { core.isPending(key) }

    /// The keys for which a call is pending at this moment, in no particular order, for a report or a save. Takes time
    /// that grows with their number, with the limiter's lock held. From any thread.
    public final var pendingKeys: [Key] { core.pendingKeys }

    /// The number of keys whose past matters: others behave like new ones. Takes time that grows with the number of
    /// keys in memory, with the limiter's lock held. From any thread.
    public final var keyCount: Int { core.keyCount }

    /// The kind of limiter and its interval. If a timer runs for a key, it says why the key does not act yet.
    public final var description: String { "\(type(of: self)): interval \(interval). \(core.explanation)" }

    /// The interval of every key, as in ``Limiter``. Any thread may set it, in time that grows with the number of
    /// keys in memory.
    ///
    /// A new value counts for each key from its next call on, even inside a burst. A pending call without another one
    /// waits for the running timer, and then for the rest of an interval that has become longer: see
    /// ``KeyedLimiter/flushAll()``.
    ///
    /// A key that behaves like a new one before the change does so after it, since it may have been forgotten. A
    /// ``Limiter`` remembers its last call, from which a longer interval counts.
    public final var interval: Duration {
        get { core.interval }
        set { core.interval = newValue }
    }

    /// Ends the limiter for good: drops all pending calls, and releases the action with its captures. Later calls do
    /// nothing. From any thread; an action that runs at this moment continues.
    public final func invalidate() { core.invalidate() }
}

extension KeyedLimiter where Input == Void {
    /// Calls a limiter that has no input.
    @inlinable @discardableResult
    public final func callAsFunction(for key: Key) -> Bool { self((), for: key) }
}
