/// A `Debounce` for each key: the bursts of different keys are independent.
///
/// ```swift
/// let save = KeyedDebounce<String, Document>(interval: .seconds(2), whenReleased: .flush) { path, document in
///     write(document, to: path)
/// }
/// save(draft, for: "/a")  // is written 2 s after the last call for this path
/// ```
///
/// A key is forgotten when its burst is over. ``KeyedRateLimiter`` has the calls.
public final class KeyedDebounce<Key: Hashable & Sendable, Input: Sendable>: KeyedRateLimiter<Key, Input>,
    @unchecked Sendable
{
    /// Makes a debounce that acts on the last input of each key, or on all inputs of a burst combined.
    ///
    /// - Parameters:
    ///   - interval: As in `Debounce`, for each key.
    ///   - edges: When to act. Without any edge it never acts.
    ///   - maxWait: The longest time for which calls that keep coming can delay an action. Less than the interval
    ///     counts as the interval; nil: no limit.
    ///   - loop: The loop on whose thread the action runs.
    ///   - modes: The modes of the loop in which it acts: the action waits while the loop runs in others. With none it
    ///     acts only on calls made on the loop's thread while the loop does not run.
    ///   - whenReleased: What happens to pending calls when the limiter is deallocated or the loop ends.
    ///   - combine: Combines the inputs so far with that of the next call, so that none is lost. The inputs of a burst
    ///     are kept, and combined on the loop's thread right before the action, with no lock held. Nil: the last one
    ///     counts.
    ///   - action: Called on the loop's thread, with no lock held. It may do anything, including calling the limiter or
    ///     dropping it.
    public init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil,
        action: @escaping @Sendable (_ key: Key, _ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait?.wholeNanoseconds), interval, edges, loop, modes, whenReleased)
        super.init(KeyedLimiter(settings, merging: combine, action: action))
    }

    /// Makes a debounce whose action gets all inputs of a key since its last action, in the order of the calls.
    ///
    /// - Parameters:
    ///   - edges: When to act. Without any edge it never acts.
    ///   - action: Called on the loop's thread, with no lock held. Never with an empty array.
    ///   - interval, maxWait, loop, modes, whenReleased: As in
    ///     ``init(interval:edges:maxWait:on:in:whenReleased:merging:action:)``.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ key: Key, _ inputs: [Input]) -> Void
    ) -> KeyedDebounce {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait?.wholeNanoseconds), interval, edges, loop, modes, whenReleased)
        return KeyedDebounce(KeyedLimiter(settings, keepsAll: true) { action($0, $1.all) })
    }

    private override init(_ core: KeyedLimiter<Key, Input>) { super.init(core) }
}
