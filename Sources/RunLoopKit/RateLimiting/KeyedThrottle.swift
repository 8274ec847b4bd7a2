/// A `Throttle` for each key: at most one action in any interval for one key, independently of all others.
///
/// ```swift
/// let refresh = KeyedThrottle<String, Void>(interval: .seconds(5)) { path, _ in reload(path) }
/// refresh(for: "/a")  // at once
/// refresh(for: "/b")  // at once
/// refresh(for: "/a")  // not now
/// ```
///
/// A key is forgotten when its interval is over and nothing is pending. ``KeyedRateLimiter`` has the calls.
public final class KeyedThrottle<Key: Hashable & Sendable, Input: Sendable>: KeyedRateLimiter<Key, Input>,
    @unchecked Sendable
{
    /// Makes a throttle that acts on the last input of each key, or on all inputs of a burst combined.
    ///
    /// - Parameters:
    ///   - interval, edges, loop, modes, combine, action: As in ``Throttle``, for each key.
    ///   - label, file, line: As in ``Throttle``: one timer serves all keys.
    ///   - whenReleased: What happens to pending calls when the limiter is deallocated or the loop ends.
    public convenience init(
        interval: Duration, edges: RateLimitEdges = .leading, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil,
        label: StaticString? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @Sendable (_ key: Key, _ input: Input) -> Void
    ) {
        let settings = LimiterSettings(.throttle, interval, edges, loop, modes, whenReleased, Place(label, file, line))
        self.init(KeyedLimiter(settings, keepsAll: combine != nil) { action($0, merged($1, $2, combine)) })
    }

    /// Makes a throttle whose action gets all inputs of a key since its last action, in the order of the calls.
    ///
    /// - Parameters:
    ///   - edges: When to act. Both by default: with the leading edge alone nothing would be collected.
    ///   - action: Called on the loop's thread, with no lock held. Never with an empty array.
    ///   - interval, loop, modes, whenReleased, label, file, line: As in the initializer.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = [.leading, .trailing], on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        label: StaticString? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @Sendable (_ key: Key, _ inputs: [Input]) -> Void
    ) -> KeyedThrottle {
        let settings = LimiterSettings(.throttle, interval, edges, loop, modes, whenReleased, Place(label, file, line))
        return KeyedThrottle(KeyedLimiter(settings, keepsAll: true) { action($0, all($1, $2)) })
    }
}
