/// Limits how often something is done: at most once in any interval, however often it is called.
///
/// ```swift
/// let report = Throttle<Int>(interval: .seconds(1)) { print("\($0) bytes so far") }
/// for size in 1...1_000_000 { report(size) }  // prints the first, and then at most one a second
/// ```
///
/// The leading edge is the first call of an interval, the trailing one its end. With the leading edge alone, which is
/// the default, calls within the interval are lost; with both, the last of them is acted on when the interval ends.
/// Only `flush()` makes two actions come closer, and `cancel()`, which forgets the past. Times are those of the calls:
/// an action that has to wait for its loop can come closer to the next.
///
/// `RateLimiter` has the calls, and says what goes for threads and for the end. lodash: `throttle` (whose default is
/// both edges). HWThrottle: `HWThrottle`.
public final class Throttle<Input: Sendable>: RateLimiter<Input>, @unchecked Sendable {
    /// Makes a throttle that acts on the last input.
    ///
    /// - Parameters:
    ///   - interval: The time in which at most one action happens. Negative counts as zero; what goes beyond the
    ///     clock's range never ends.
    ///   - edges: When to act. None: never.
    ///   - loop: Whose thread the action runs on.
    ///   - modes: In which of the loop's modes: while it runs in others the action waits. None: never on its own, and
    ///     only for calls made on the loop's thread while the loop does not run.
    ///   - whenReleased: What becomes of a pending call when the last reference to the limiter goes, or the loop ends.
    ///   - action: Called on the loop's thread, with no lock held. It may do anything, also call the limiter, or drop
    ///     it.
    public init(
        interval: Duration, edges: RateLimitEdges = .leading, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ input: Input) -> Void
    ) {
        let settings = LimiterSettings(.throttle, interval, edges, loop, modes, whenReleased)
        super.init(Limiter(settings, keepsAll: false) { action($0.last) })
    }

    /// Makes a throttle that combines the inputs of a burst, so that nothing is lost. They are kept until the action,
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
        action: @escaping @Sendable (_ input: Input) -> Void
    ) {
        let settings = LimiterSettings(.throttle, interval, edges, loop, modes, whenReleased)
        super.init(Limiter(settings, keepsAll: true) { action($0.merged(combine)) })
    }

    /// Makes a throttle whose action gets all inputs since the last action, in the order of the calls.
    ///
    /// - Parameters:
    ///   - edges: When to act. Both unless you say otherwise: with the leading one alone nothing would be collected.
    ///   - action: Called on the loop's thread, with no lock held. Never with an empty array.
    ///   - interval, loop, modes, whenReleased: As in `init(interval:edges:on:in:whenReleased:action:)`.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = [.leading, .trailing], on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ inputs: [Input]) -> Void
    ) -> Throttle {
        let settings = LimiterSettings(.throttle, interval, edges, loop, modes, whenReleased)
        return Throttle(Limiter(settings, keepsAll: true) { action($0.all) })
    }

    private override init(_ core: Limiter<Input>) { super.init(core) }
}
