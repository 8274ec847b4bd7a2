/// A `Throttle` for each key: at most one action in any interval for one key, whatever happens with the others.
///
/// ```swift
/// let refresh = KeyedThrottle<String, Void>(interval: .seconds(5)) { path, _ in reload(path) }
/// refresh(for: "/a")  // at once
/// refresh(for: "/b")  // at once
/// refresh(for: "/a")  // not now
/// ```
///
/// A key is forgotten when its interval is over and nothing is pending. `KeyedRateLimiter` has the calls.
public final class KeyedThrottle<Key: Hashable & Sendable, Input: Sendable>: KeyedRateLimiter<Key, Input>,
    @unchecked Sendable
{
    /// Makes a throttle that acts on the last input of each key.
    ///
    /// - Parameters:
    ///   - interval: As in `Throttle`, for each key.
    ///   - edges: When to act. None: never.
    ///   - loop: Whose thread the action runs on.
    ///   - modes: In which of the loop's modes, as in `Throttle`.
    ///   - whenReleased: What becomes of pending calls when the last reference to the limiter goes, or the loop ends.
    ///   - action: Called on the loop's thread, with no lock held.
    public init(
        interval: Duration, edges: RateLimitEdges = .leading, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ key: Key, _ input: Input) -> Void
    ) {
        let settings = LimiterSettings(.throttle, interval, edges, loop, modes, whenReleased)
        super.init(KeyedLimiter(settings, keepsAll: false) { action($0, $1.last) })
    }

    /// Makes a throttle that combines the inputs of a key's burst, so that nothing is lost. They are kept until the action,
    /// and combined right before it.
    ///
    /// - Parameters:
    ///   - combine: Combines what there is with the input of the next call. Called on the loop's thread, with no lock
    ///     held.
    ///   - action: Called on the loop's thread, with no lock held, with everything that was collected.
    ///   - interval, edges, loop, modes, whenReleased: As in `init(interval:edges:on:in:whenReleased:action:)`.
    public init(
        interval: Duration, edges: RateLimitEdges = .leading, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: @escaping @Sendable (_ pending: Input, _ new: Input) -> Input,
        action: @escaping @Sendable (_ key: Key, _ input: Input) -> Void
    ) {
        let settings = LimiterSettings(.throttle, interval, edges, loop, modes, whenReleased)
        super.init(KeyedLimiter(settings, keepsAll: true) { action($0, $1.merged(combine)) })
    }

    /// Makes a throttle whose action gets all inputs of a key since its last action, in the order of the calls.
    ///
    /// - Parameters:
    ///   - edges: When to act. Both unless you say otherwise: with the leading one alone nothing would be collected.
    ///   - action: Called on the loop's thread, with no lock held. Never with an empty array.
    ///   - interval, loop, modes, whenReleased: As in `init(interval:edges:on:in:whenReleased:action:)`.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = [.leading, .trailing], on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ key: Key, _ inputs: [Input]) -> Void
    ) -> KeyedThrottle {
        let settings = LimiterSettings(.throttle, interval, edges, loop, modes, whenReleased)
        return KeyedThrottle(KeyedLimiter(settings, keepsAll: true) { action($0, $1.all) })
    }

    private override init(_ core: KeyedLimiter<Key, Input>) { super.init(core) }
}
