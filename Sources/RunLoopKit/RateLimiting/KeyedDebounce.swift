/// A ``Debounce`` for each key: the bursts of different keys are independent.
///
/// ```swift
/// let save = KeyedDebounce<String, Document>(interval: .seconds(2), whenReleased: .flush) { path, document in
///     write(document, to: path)
/// }
/// save(draft, for: "/a")  // is written 2 s after the last call for this path
/// ```
///
/// A key is forgotten when its burst is over. ``KeyedLimiter`` has the calls.
public final class KeyedDebounce<Key: Hashable & Sendable, Input: Sendable>: KeyedLimiter<Key, Input>,
    @unchecked Sendable
{
    /// Makes a debounce that acts on the last input of each key, or on all inputs of a burst combined.
    /// ``Debounce/init(interval:edges:maxWait:on:in:whenReleased:merging:label:file:line:action:)`` has the details of
    /// each parameter.
    ///
    /// - Parameters:
    ///   - interval: The time without a call after which a burst is over.
    ///   - edges: When to act.
    ///   - maxWait: The longest time for which calls that keep coming can delay an action; nil for no limit.
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
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @Sendable (_ key: Key, _ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait?.wholeNanoseconds), interval, edges, loop, modes, whenReleased,
            Place(label, file, line))
        self.init(PerKeyLimiter(settings, keepsAll: combine != nil, .init(merging: combine, action)))
    }

    /// Makes a limiter without a handler, which ``KeyedLimiter/setHandler(_:)`` gives it later.
    ///
    /// ``KeyedDebounce/init(interval:edges:maxWait:on:in:whenReleased:merging:label:file:line:action:)``
    /// has the parameters.
    @_disfavoredOverload
    public convenience init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line
    ) {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait?.wholeNanoseconds), interval, edges, loop, modes, whenReleased,
            Place(label, file, line))
        self.init(PerKeyLimiter(settings, keepsAll: combine != nil, .init(merging: combine, nil)))
    }

    /// The longest time for which calls for a key that keep coming can delay its action; nil for no limit. May be set
    /// at any time: see ``Debounce/maxWait``.
    public final var maxWait: Duration? {
        get { core.maxWait }
        set { core.maxWait = newValue }
    }

    /// Makes a debounce whose action gets all inputs of a key since its last action, in the order of the calls.
    /// ``Debounce/init(interval:edges:maxWait:on:in:whenReleased:merging:label:file:line:action:)`` has the details of
    /// each parameter.
    ///
    /// - Parameters:
    ///   - interval: The time without a call after which a burst is over.
    ///   - edges: When to act.
    ///   - maxWait: The longest time for which calls that keep coming can delay an action; nil for no limit.
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
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: (@Sendable (_ key: Key, _ inputs: [Input]) -> Void)? = nil
    ) -> KeyedDebounce {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait?.wholeNanoseconds), interval, edges, loop, modes, whenReleased,
            Place(label, file, line))
        return KeyedDebounce(PerKeyLimiter(settings, keepsAll: true, .init(collecting: action)))
    }
}
