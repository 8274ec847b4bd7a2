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
    ///   - interval, edges, maxWait, loop, modes, combine, action: As in ``Debounce``, for each key.
    ///   - label, file, line: As in ``Throttle``: one timer serves all keys.
    ///   - whenReleased: What happens to pending calls when the limiter is deallocated or the loop ends.
    public convenience init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil,
        label: StaticString? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @Sendable (_ key: Key, _ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait?.wholeNanoseconds), interval, edges, loop, modes, whenReleased,
            Place(label, file, line))
        self.init(KeyedLimiter(settings, keepsAll: combine != nil) { action($0, merged($1, $2, combine)) })
    }

    /// The longest time for which calls for a key that keep coming can delay its action; nil for no limit. As in
    /// ``Debounce``.
    public final var maxWait: Duration? {
        get { core.maxWait }
        set { core.maxWait = newValue }
    }

    /// Makes a debounce whose action gets all inputs of a key since its last action, in the order of the calls.
    ///
    /// - Parameters:
    ///   - action: Called on the loop's thread, with no lock held. Never with an empty array.
    ///   - interval, edges, maxWait, loop, modes, whenReleased, label, file, line: As in the initializer.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        label: StaticString? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @Sendable (_ key: Key, _ inputs: [Input]) -> Void
    ) -> KeyedDebounce {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait?.wholeNanoseconds), interval, edges, loop, modes, whenReleased,
            Place(label, file, line))
        return KeyedDebounce(KeyedLimiter(settings, keepsAll: true) { action($0, all($1, $2)) })
    }
}
