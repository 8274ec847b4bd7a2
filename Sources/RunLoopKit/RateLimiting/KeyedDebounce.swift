/// A `Debounce` for each key: the bursts of different keys have nothing to do with each other.
///
/// ```swift
/// let save = KeyedDebounce<String, Document>(interval: .seconds(2), whenReleased: .flush) { path, document in
///     write(document, to: path)
/// }
/// save(draft, for: "/a")  // is written 2 s after the last call for this path
/// ```
///
/// A key costs memory only until its burst is over: then it is forgotten. All keys share one timer, which has an event
/// for each key's end. Everything else is as in `Debounce`.
public final class KeyedDebounce<Key: Hashable & Sendable, Input: Sendable>: Sendable {
    private let limiter: KeyedLimiter<Key, Input>

    deinit { limiter.release() }

    /// Makes a limiter that acts on the last input of each key.
    ///
    /// - Parameters:
    ///   - interval: As in `Debounce`, for each key.
    ///   - edges: When to act. None: never.
    ///   - maxWait: For how long calls that keep coming can hold an action back. Less than the interval counts as the
    ///     interval.
    ///   - loop: Whose thread the action runs on.
    ///   - modes: In which of the loop's modes.
    ///   - whenReleased: What becomes of pending calls when the last reference to the limiter goes, or the loop ends.
    ///   - action: Called on the loop's thread, with no lock held.
    public init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ key: Key, _ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            interval: interval, edges: edges, loop: loop, modes: modes, whenReleased: whenReleased)
        limiter = KeyedLimiter(.debounce(maxWait: maxWait.asMaxWait), settings, keepsAll: false) {
            action($0.key, $0.inputs.last)
        }
    }

    /// Makes a limiter that combines the inputs of a key's burst, so that nothing is lost.
    ///
    /// - Parameters:
    ///   - interval: As in `Debounce`, for each key.
    ///   - edges: When to act. None: never.
    ///   - maxWait: For how long calls that keep coming can hold an action back. Less than the interval counts as the
    ///     interval.
    ///   - loop: Whose thread the action runs on.
    ///   - modes: In which of the loop's modes.
    ///   - whenReleased: What becomes of pending calls when the last reference to the limiter goes, or the loop ends.
    ///   - combine: Combines what there is with the input of the next call. Called on the loop's thread, with no lock
    ///     held.
    ///   - action: Called on the loop's thread, with no lock held, with everything that was collected for the key.
    public init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: @escaping @Sendable (_ pending: Input, _ new: Input) -> Input,
        action: @escaping @Sendable (_ key: Key, _ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            interval: interval, edges: edges, loop: loop, modes: modes, whenReleased: whenReleased)
        limiter = KeyedLimiter(.debounce(maxWait: maxWait.asMaxWait), settings, keepsAll: true) {
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

    /// Forgets what is pending for a key, and its burst. From any thread.
    public func cancel(_ key: Key) { limiter.cancel(key) }

    /// Forgets all keys and what is pending for them. From any thread.
    public func cancelAll() { limiter.cancelAll() }

    /// Whether a call for this key waits to be acted on. From any thread.
    public func isPending(_ key: Key) -> Bool { limiter.isPending(key) }

    /// How many keys are remembered. From any thread.
    public var keyCount: Int { limiter.keyCount }

    /// The interval of every key, as in `Debounce`: may be set from any thread, and counts for each key from its next
    /// event on.
    public var interval: Duration {
        get { limiter.interval }
        set { limiter.interval = newValue }
    }

    /// Ends the limiter for good: everything pending is dropped, and the action released with what it captured. Later
    /// calls do nothing. From any thread.
    public func invalidate() { limiter.invalidate() }
}
