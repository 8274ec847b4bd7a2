/// A `Throttle` for each key: at most one action in any interval for one key, whatever happens with the others.
///
/// ```swift
/// let refresh = KeyedThrottle<String, Void>(interval: .seconds(5)) { path, _ in reload(path) }
/// refresh((), for: "/a")  // at once
/// refresh((), for: "/b")  // at once
/// refresh((), for: "/a")  // not now
/// ```
///
/// A key costs memory only until its interval is over and nothing is pending: then it is forgotten. All keys share one
/// timer, which has an event for each key's end. Everything else is as in `Throttle`.
public final class KeyedThrottle<Key: Hashable & Sendable, Input: Sendable>: Sendable {
    private let limiter: KeyedLimiter<Key, Input>

    deinit { limiter.release() }

    /// Makes a limiter that acts on the last input of each key.
    ///
    /// - Parameters:
    ///   - interval: As in `Throttle`, for each key.
    ///   - edges: When to act. None: never.
    ///   - loop: Whose thread the action runs on.
    ///   - modes: In which of the loop's modes.
    ///   - whenReleased: What becomes of pending calls when the last reference to the limiter goes, or the loop ends.
    ///   - action: Called on the loop's thread, with no lock held.
    public init(
        interval: Duration, edges: RateLimitEdges = .leading, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ key: Key, _ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            interval: interval, edges: edges, loop: loop, modes: modes, whenReleased: whenReleased)
        limiter = KeyedLimiter(.throttle, settings, keepsAll: false) { action($0.key, $0.inputs.last) }
    }

    /// Makes a limiter that combines the inputs of a key's burst, so that nothing is lost.
    ///
    /// - Parameters:
    ///   - interval: As in `Throttle`, for each key.
    ///   - edges: When to act. None: never.
    ///   - loop: Whose thread the action runs on.
    ///   - modes: In which of the loop's modes.
    ///   - whenReleased: What becomes of pending calls when the last reference to the limiter goes, or the loop ends.
    ///   - combine: Combines what there is with the input of the next call. Called on the loop's thread, with no lock
    ///     held.
    ///   - action: Called on the loop's thread, with no lock held, with everything that was collected for the key.
    public init(
        interval: Duration, edges: RateLimitEdges = .leading, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: @escaping @Sendable (_ pending: Input, _ new: Input) -> Input,
        action: @escaping @Sendable (_ key: Key, _ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            interval: interval, edges: edges, loop: loop, modes: modes, whenReleased: whenReleased)
        limiter = KeyedLimiter(.throttle, settings, keepsAll: true) {
            action($0.key, $0.inputs.merged(combine))
        }
    }

    /// Calls the limiter for a key. From any thread.
    ///
    /// - Returns: Whether the call was taken. False after `invalidate()`, when the loop has ended, and when this call
    ///   was to make an action that a stopping loop refused.
    @discardableResult
    public func callAsFunction(_ input: Input, for key: Key) -> Bool { limiter.call(input, for: key) }

    /// Acts now on what is pending for a key. From any thread.
    ///
    /// - Returns: Whether there was something pending, and the loop took it.
    @discardableResult
    public func flush(_ key: Key) -> Bool { limiter.flush(key) }

    /// Acts now on everything that is pending, the keys in no particular order. From any thread.
    ///
    /// - Returns: Whether there was something pending, and the loop took it.
    @discardableResult
    public func flushAll() -> Bool { limiter.flushAll() }

    /// Forgets what is pending for a key, and its last action. From any thread.
    public func cancel(_ key: Key) { limiter.cancel(key) }

    /// Forgets all keys and what is pending for them. From any thread.
    public func cancelAll() { limiter.cancelAll() }

    /// Whether a call for this key waits to be acted on. From any thread.
    public func isPending(_ key: Key) -> Bool { limiter.isPending(key) }

    /// How many keys are remembered. From any thread.
    public var keyCount: Int { limiter.keyCount }

    /// The interval of every key, as in `Throttle`: may be set from any thread, and counts for each key from its next
    /// event on.
    public var interval: Duration {
        get { limiter.interval }
        set { limiter.interval = newValue }
    }

    /// Ends the limiter for good: everything pending is dropped, and the action released with what it captured. Later
    /// calls do nothing. From any thread.
    public func invalidate() { limiter.invalidate() }
}
