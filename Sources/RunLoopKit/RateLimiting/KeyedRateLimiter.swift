/// Limits how often something is done for each key: the common base of ``KeyedThrottle`` and ``KeyedDebounce``.
///
/// Make one of these two. It treats each key as a limiter of its own would. All keys share one timer, which runs only
/// while a call is pending. A key costs memory until it behaves like a new one: then it is forgotten with one of the
/// next calls of any key. A limiter that is called no more keeps its last keys; ``KeyedRateLimiter/cancelAll()`` drops
/// them.
///
/// **Many keys at once.** Keys that are due at the same instant act in no particular order. Of keys that are due
/// together the loop's thread serves 64, and then makes a pass, so that timers, sources and blocks get their turn. A
/// call of a key that is due but not served yet is as one before a late timer: of a throttle it acts at once, in the
/// timer's place; of a debounce it continues the burst, and acts at once only if there is a `maxWait` that is over.
///
/// Threads and lifetime are those of ``RateLimiter``. Keys are compared with a lock held: their `==` and `hash(into:)`
/// must not call the limiter.
public class KeyedRateLimiter<Key: Hashable & Sendable, Input: Sendable>: CustomStringConvertible, @unchecked Sendable {
    // The loop may retain the core for longer than this object lives.
    @usableFromInline let core: KeyedLimiter<Key, Input>

    init(_ core: KeyedLimiter<Key, Input>) {
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

    /// Acts now on the pending call of a key. From any thread. On the loop's thread, actions that other threads have
    /// handed over to it run too.
    ///
    /// - Returns: Whether a call was pending and the loop accepted the action.
    @discardableResult
    public final func flush(_ key: Key) -> Bool { core.flush(key) }

    /// Acts now on all pending calls, the keys in no particular order.
    ///
    /// From any thread: actions that are handed over to the loop's thread run there in portions of 64, between which
    /// the loop makes a pass; on that thread itself all of them have run when this returns, and so have those that
    /// other threads had handed over before.
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

    /// The keys for which a call is pending, in no particular order: of this moment, for a report or a save. Takes time
    /// that grows with their number, with the limiter's lock held. From any thread.
    public final var pendingKeys: [Key] { core.pendingKeys }

    /// The number of keys whose past matters: others behave like new ones. Takes time that grows with the number of
    /// keys in memory, with the limiter's lock held. From any thread.
    public final var keyCount: Int { core.keyCount }

    /// The kind of limiter and its interval, and if a timer runs for a key, why that does not act yet.
    public final var description: String { "\(type(of: self)): interval \(interval). \(core.explanation)" }

    /// The interval of every key, as in ``RateLimiter``. May be set from any thread. A new value counts for each key
    /// from its next call on, also inside a burst. A pending call without another one waits for the timer that runs
    /// already, and then for the rest of an interval that has become longer: see ``KeyedRateLimiter/flushAll()``. To
    /// set it takes time that grows with the number of keys in memory.
    public final var interval: Duration {
        get { core.interval }
        set { core.interval = newValue }
    }

    /// Ends the limiter for good: drops all pending calls, and releases the action with its captures. Later calls do
    /// nothing. From any thread; an action that runs at this moment continues.
    public final func invalidate() { core.invalidate() }
}

extension KeyedRateLimiter where Input == Void {
    /// Calls a limiter that has no input.
    @inlinable @discardableResult
    public final func callAsFunction(for key: Key) -> Bool { self((), for: key) }
}
