/// A ``Throttle`` for each key: at most one action in any interval for one key, independently of all others.
///
/// ```swift
/// let refresh = KeyedThrottle<String, Void>(interval: .seconds(5)) { path, _ in reload(path) }
/// refresh(for: "/a")  // at once
/// refresh(for: "/b")  // at once
/// refresh(for: "/a")  // not now
/// ```
///
/// A key is forgotten when its interval is over and nothing is pending. ``KeyedLimiter`` has the calls.
public final class KeyedThrottle<Key: Hashable & Sendable, Input: Sendable>: KeyedLimiter<Key, Input>,
    @unchecked Sendable
{
    /// Makes a throttle that acts on the first input of a key in an interval. With the trailing edge it acts on the
    /// last one, too, or on all inputs combined.
    /// ``Throttle/init(interval:edges:on:in:whenReleased:merging:label:file:line:action:)`` has the details of each
    /// parameter.
    ///
    /// - Parameters:
    ///   - interval: The time in which at most one action happens.
    ///   - edges: When to act. Nil, the default: the leading edge; with `merging` both.
    ///   - loop: The loop on whose thread the action runs.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to pending calls when the limiter is deallocated or the loop ends.
    ///   - combine: Combines the inputs so far with that of the next call, so that none is lost; nil to keep the last
    ///     one.
    ///   - label: What diagnostics call the limiter's timer and blocks, which serve all keys; nil to call them by the
    ///     place where it was made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the loop's thread, with no lock held.
    public convenience init(
        interval: Duration, edges: RateLimitEdges? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @Sendable (_ key: Key, _ input: Input) -> Void
    ) {
        let edges = edges ?? .ofThrottle(merges: combine != nil)
        let settings = LimiterSettings(.throttle, interval, edges, loop, modes, whenReleased, Place(label, file, line))
        self.init(PerKeyLimiter(settings, keepsAll: combine != nil, .init(merging: combine, action)))
    }

    /// Makes a limiter without a handler, which ``KeyedLimiter/setHandler(_:)`` gives it later.
    ///
    /// ``KeyedThrottle/init(interval:edges:on:in:whenReleased:merging:label:file:line:action:)``
    /// has the parameters.
    @_disfavoredOverload
    public convenience init(
        interval: Duration, edges: RateLimitEdges? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line
    ) {
        let edges = edges ?? .ofThrottle(merges: combine != nil)
        let settings = LimiterSettings(.throttle, interval, edges, loop, modes, whenReleased, Place(label, file, line))
        self.init(PerKeyLimiter(settings, keepsAll: combine != nil, .init(merging: combine, nil)))
    }

    /// Makes a throttle whose action gets all inputs of a key since its last action, in the order of the calls.
    /// ``Throttle/init(interval:edges:on:in:whenReleased:merging:label:file:line:action:)`` has the details of each
    /// parameter.
    ///
    /// - Parameters:
    ///   - interval: The time in which at most one action happens.
    ///   - edges: When to act. Both by default: with the leading edge alone nothing would be collected.
    ///   - loop: The loop on whose thread the action runs.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to pending calls when the limiter is deallocated or the loop ends.
    ///   - label: What diagnostics call the limiter's timer and blocks, which serve all keys; nil to call them by the
    ///     place where it was made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the loop's thread, with no lock held. Never with an empty array. Nil to set it later:
    ///     ``KeyedLimiter/setHandler(collecting:)``, of an actor by `setHandler(isolation:collecting:)`.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = [.leading, .trailing], on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: (@Sendable (_ key: Key, _ inputs: [Input]) -> Void)? = nil
    ) -> KeyedThrottle {
        let settings = LimiterSettings(.throttle, interval, edges, loop, modes, whenReleased, Place(label, file, line))
        return KeyedThrottle(PerKeyLimiter(settings, keepsAll: true, .init(collecting: action)))
    }
}
