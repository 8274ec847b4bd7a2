/// A `Debounce` for each key: the bursts of different keys have nothing to do with each other.
///
/// ```swift
/// let save = KeyedDebounce<String, Document>(interval: .seconds(2), whenReleased: .flush) { path, document in
///     write(document, to: path)
/// }
/// save(draft, for: "/a")  // is written 2 s after the last call for this path
/// ```
///
/// A key is forgotten when its burst is over. `KeyedRateLimiter` has the calls.
public final class KeyedDebounce<Key: Hashable & Sendable, Input: Sendable>: KeyedRateLimiter<Key, Input>,
    @unchecked Sendable
{
    /// Makes a debounce that acts on the last input of each key.
    ///
    /// - Parameters:
    ///   - interval: As in `Debounce`, for each key.
    ///   - edges: When to act. None: never.
    ///   - maxWait: For how long calls that keep coming can hold an action back. Less than the interval counts as the
    ///     interval; nil: for ever.
    ///   - loop: Whose thread the action runs on.
    ///   - modes: In which of the loop's modes, as in `Debounce`.
    ///   - whenReleased: What becomes of pending calls when the last reference to the limiter goes, or the loop ends.
    ///   - action: Called on the loop's thread, with no lock held.
    public init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ key: Key, _ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait.asMaxWait), interval, edges, loop, modes, whenReleased)
        super.init(KeyedLimiter(settings, keepsAll: false) { action($0, $1.last) })
    }

    /// Makes a debounce that combines the inputs of a key's burst, so that nothing is lost. They are kept until the action,
    /// and combined right before it.
    ///
    /// - Parameters:
    ///   - combine: Combines what there is with the input of the next call. Called on the loop's thread, with no lock
    ///     held.
    ///   - action: Called on the loop's thread, with no lock held, with everything that was collected.
    ///   - interval, edges, maxWait, loop, modes, whenReleased: As in `init(interval:edges:maxWait:on:in:whenReleased:action:)`.
    public init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: @escaping @Sendable (_ pending: Input, _ new: Input) -> Input,
        action: @escaping @Sendable (_ key: Key, _ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait.asMaxWait), interval, edges, loop, modes, whenReleased)
        super.init(KeyedLimiter(settings, keepsAll: true) { action($0, $1.merged(combine)) })
    }

    /// Makes a debounce whose action gets all inputs of a key since its last action, in the order of the calls.
    ///
    /// - Parameters:
    ///   - edges: When to act. None: never.
    ///   - action: Called on the loop's thread, with no lock held. Never with an empty array.
    ///   - interval, maxWait, loop, modes, whenReleased: As in `init(interval:edges:maxWait:on:in:whenReleased:action:)`.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ key: Key, _ inputs: [Input]) -> Void
    ) -> KeyedDebounce {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait.asMaxWait), interval, edges, loop, modes, whenReleased)
        return KeyedDebounce(KeyedLimiter(settings, keepsAll: true) { action($0, $1.all) })
    }

    private override init(_ core: KeyedLimiter<Key, Input>) { super.init(core) }
}
