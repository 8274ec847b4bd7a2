/// Limits how often something is done for each key: what `KeyedThrottle` and `KeyedDebounce` have in common.
///
/// Make one of these two. It does for each key what a limiter of the key's own would do. A key costs memory only until
/// a new one would do the same: then it is forgotten. All keys share one timer, which has an event for each key's end.
///
/// **Many keys at once.** Of keys that are due together the loop's thread serves 64, and then makes a pass before it goes
/// on, so that timers, sources and blocks get their turn. A call for a key that is due and has not been served yet finds
/// its burst going on, as with any timer that is late.
///
/// Threads and lifetime are those of `RateLimiter`. Keys are compared with a lock held: their `==` and `hash(into:)` must
/// not call the limiter.
public class KeyedRateLimiter<Key: Hashable & Sendable, Input: Sendable>: @unchecked Sendable {
    // It holds the core only, which the loop may keep alive for longer.
    private let core: KeyedLimiter<Key, Input>

    init(_ core: KeyedLimiter<Key, Input>) {
        self.core = core
        core.open()
    }

    deinit { core.release() }

    /// Calls the limiter for a key. From any thread.
    ///
    /// - Returns: Whether the call was taken. False after `invalidate()`, when the loop has ended, and when this call
    ///   was to make an action that a stopping loop refused (and `whenReleased` is `discard`).
    @discardableResult
    public final func callAsFunction(_ input: Input, for key: Key) -> Bool { core.call(input, for: key) }

    /// Acts now on what is pending for a key. From any thread.
    ///
    /// - Returns: Whether there was something pending, and the loop took it.
    @discardableResult
    public final func flush(_ key: Key) -> Bool { core.flush(key) }

    /// Acts now on everything that is pending, the keys in no particular order. From any thread: what is handed over to the
    /// loop's thread is acted on there in portions of 64, between which others get their turn; on that thread itself all of
    /// it has been acted on when this returns.
    ///
    /// - Returns: Whether there was something pending, and the loop took all of it.
    @discardableResult
    public final func flushAll() -> Bool { core.flushAll() }

    /// Forgets what is pending for a key, and the key's past: the key is not remembered any more. From any thread.
    public final func cancel(_ key: Key) { core.cancel(key) }

    /// Forgets all keys and what is pending for them. From any thread.
    public final func cancelAll() { core.cancelAll() }

    /// Whether a call for this key waits to be acted on. From any thread.
    public final func isPending(_ key: Key) -> Bool { core.isPending(key) }

    /// How many keys are remembered. From any thread.
    public final var keyCount: Int { core.keyCount }

    /// The interval of every key, as in `RateLimiter`: may be set from any thread, and counts for each key from its
    /// next event on.
    public final var interval: Duration {
        get { core.interval }
        set { core.interval = newValue }
    }

    /// Ends the limiter for good: everything pending is dropped, and the action released with what it captured. Later
    /// calls do nothing. From any thread; an action that runs at this moment goes on.
    public final func invalidate() { core.invalidate() }
}

extension KeyedRateLimiter where Input == Void {
    /// Calls a limiter that has no input.
    @discardableResult
    public final func callAsFunction(for key: Key) -> Bool { self((), for: key) }
}
