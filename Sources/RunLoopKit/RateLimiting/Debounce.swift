/// Acts once for a burst of calls: when they have stopped coming for an interval, or on the first of them.
///
/// ```swift
/// let save = Debounce<String>(interval: .seconds(2), maxWait: .seconds(30), whenReleased: .flush) { write($0) }
/// textChanged = { save($0) }  // saves 2 s after the last change, and every 30 s if the changes never stop
/// ```
///
/// A burst is a run of calls, each less than the interval after the one before. The leading edge is its first call, the
/// trailing one, which is the default, the interval's end after its last call.
///
/// `RateLimiter` has the calls, and says what goes for threads and for the end. lodash: `debounce`. HWThrottle:
/// `HWDebounce`.
public final class Debounce<Input: Sendable>: RateLimiter<Input>, @unchecked Sendable {
    /// Makes a debounce that acts on the last input.
    ///
    /// - Parameters:
    ///   - interval: How long there must be no call for a burst to be over. Negative counts as zero; what goes beyond
    ///     the clock's range never ends.
    ///   - edges: When to act. None: never.
    ///   - maxWait: For how long calls that keep coming can hold an action back. Less than the interval counts as the
    ///     interval; nil: for ever.
    ///   - loop: Whose thread the action runs on.
    ///   - modes: In which of the loop's modes: while it runs in others the action waits. None: never on its own, and
    ///     only for calls made on the loop's thread while the loop does not run.
    ///   - whenReleased: What becomes of a pending call when the last reference to the limiter goes, or the loop ends.
    ///   - action: Called on the loop's thread, with no lock held. It may do anything, also call the limiter, or drop
    ///     it.
    public init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait.asMaxWait), interval, edges, loop, modes, whenReleased)
        super.init(Limiter(settings, keepsAll: false) { action($0.last) })
    }

    /// Makes a debounce that combines the inputs of a burst, so that nothing is lost. They are kept until the action,
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
        action: @escaping @Sendable (_ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait.asMaxWait), interval, edges, loop, modes, whenReleased)
        super.init(Limiter(settings, keepsAll: true) { action($0.merged(combine)) })
    }

    /// Makes a debounce whose action gets all inputs since the last action, in the order of the calls.
    ///
    /// - Parameters:
    ///   - edges: When to act. None: never.
    ///   - action: Called on the loop's thread, with no lock held. Never with an empty array.
    ///   - interval, maxWait, loop, modes, whenReleased: As in `init(interval:edges:maxWait:on:in:whenReleased:action:)`.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ inputs: [Input]) -> Void
    ) -> Debounce {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait.asMaxWait), interval, edges, loop, modes, whenReleased)
        return Debounce(Limiter(settings, keepsAll: true) { action($0.all) })
    }

    private override init(_ core: Limiter<Input>) { super.init(core) }
}
