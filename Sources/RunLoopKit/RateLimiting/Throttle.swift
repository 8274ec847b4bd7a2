/// Limits how often something is done: at most once in any interval, however often it is called. Any thread may call
/// it; the action runs on its loop's thread.
///
/// ```swift
/// let report = Throttle<Int>(interval: .seconds(1), edges: [.leading, .trailing]) { print("\($0) bytes so far") }
/// for size in 1...1_000_000 { report(size) }  // prints the first, then at most one a second, and finally the last
/// ```
///
/// The leading edge is the first call of an interval, the trailing edge its end.
///
/// - *The leading edge alone* is the default unless inputs are merged. Calls within the interval are lost, and so is
///   the last value of a burst.
/// - *With both,* the throttle acts on the last call within the interval when that ends. Usually the next interval
///   begins with the next call. If that call comes an interval or more after the previous call, the interval began with
///   the trailing action instead. With an interval of 100 ms, calls at 0 and 90 act at 0 and 100. A third call at 150
///   acts at 250, one at 195 at 200, and one from 200 on at once.
/// - *Two actions come closer* only after `flush()`, after `cancel()`, which forgets the past, or if the interval is
///   made shorter. The calls' times count: an action that waits for its loop can run closer to the next one.
/// - *On a busy loop* the next call may come before the timer, and acts in its place.
///
/// ``Limiter`` has the calls, and describes threads and lifetime. lodash: `throttle`, whose default is both edges.
/// HWThrottle: `HWThrottle`.
public final class Throttle<Input: Sendable>: Limiter<Input>, @unchecked Sendable {
    /// Makes a throttle that acts on the first input of an interval. With the trailing edge it acts on the last one,
    /// too, or on all inputs combined. On any thread.
    ///
    /// - Parameters:
    ///   - interval: The time in which at most one action happens. A negative value counts as zero; one beyond the
    ///     clock's range never ends.
    ///   - edges: When to act. Without any edge it never acts. Nil, the default: the leading edge; with `merging` both,
    ///     since calls are dropped without the trailing one.
    ///   - loop: The loop on whose thread the action runs.
    ///   - modes: The modes of the loop in which it acts. While the loop runs in others, the action waits. With none it
    ///     acts only on calls made on the loop's thread while the loop does not run.
    ///   - whenReleased: What happens to a pending call when the limiter is deallocated or the loop ends.
    ///   - combine: Combines the inputs so far with that of the next call, so that none is lost; nil to keep the last
    ///     one. The limiter keeps the inputs of a burst, and combines them on the loop's thread right before the
    ///     action, with no lock held. With `edges: .leading` it combines nothing: each action gets the input of its own
    ///     call, and the inputs between are lost.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the loop's thread, with no lock held. It may do anything, including calling the limiter or
    ///     dropping it.
    public convenience init(
        interval: Duration, edges: RateLimitEdges? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @Sendable (_ input: Input) -> Void
    ) {
        let edges = edges ?? .ofThrottle(merges: combine != nil)
        let settings = LimiterSettings(.throttle, interval, edges, loop, modes, whenReleased, Place(label, file, line))
        self.init(SingleLimiter(settings, keepsAll: combine != nil, .init(merging: combine, action)))
    }

    /// Makes a limiter without a handler, which ``Limiter/setHandler(_:)`` gives it later.
    ///
    /// ``Throttle/init(interval:edges:on:in:whenReleased:merging:label:file:line:action:)``
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
        self.init(SingleLimiter(settings, keepsAll: combine != nil, .init(merging: combine, nil)))
    }

    /// Makes a throttle whose action gets all inputs since the last action, in the order of the calls.
    /// ``Throttle/init(interval:edges:on:in:whenReleased:merging:label:file:line:action:)`` has the details of each
    /// parameter.
    ///
    /// - Parameters:
    ///   - interval: The time in which at most one action happens.
    ///   - edges: When to act. Both by default: with the leading edge alone nothing would be collected.
    ///   - loop: The loop on whose thread the action runs.
    ///   - modes: The modes of the loop in which it acts.
    ///   - whenReleased: What happens to a pending call when the limiter is deallocated or the loop ends.
    ///   - label: What diagnostics call the limiter's timer and blocks; nil to call them by the place where it was
    ///     made.
    ///   - file: The source file that makes the limiter, for diagnostics.
    ///   - line: The line in that file.
    ///   - action: Called on the loop's thread, with no lock held. Never with an empty array. Nil to set it later:
    ///     ``Limiter/setHandler(collecting:)``, of an actor by `setHandler(isolation:collecting:)`.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = [.leading, .trailing], on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: (@Sendable (_ inputs: [Input]) -> Void)? = nil
    ) -> Throttle {
        let settings = LimiterSettings(.throttle, interval, edges, loop, modes, whenReleased, Place(label, file, line))
        return Throttle(SingleLimiter(settings, keepsAll: true, .init(collecting: action)))
    }
}
