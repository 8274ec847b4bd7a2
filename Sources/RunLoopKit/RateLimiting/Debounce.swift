/// Acts once for a burst of calls: when no call has come for an interval, or on the first one. Any thread may call it;
/// the action runs on its loop's thread.
///
/// ```swift
/// let save = Debounce<String>(interval: .seconds(2), maxWait: .seconds(30), whenReleased: .flush) { write($0) }
/// textChanged = { save($0) }  // saves 2 s after the last change, and every 30 s if the changes never stop
/// ```
///
/// A burst is a run of calls, each less than the interval after the one before. The leading edge is its first call. The
/// trailing edge, the default, is one interval after its last call.
///
/// ``Limiter`` has the calls, and describes threads and lifetime. lodash: `debounce`. HWThrottle: `HWDebounce`.
public final class Debounce<Input: Sendable>: Limiter<Input>, @unchecked Sendable {
    /// Makes a debounce that acts on the last input, or on all inputs of a burst combined. On any thread.
    ///
    /// - Parameters:
    ///   - interval: The time without a call after which a burst is over. A negative value counts as zero; one beyond
    ///     the clock's range never ends.
    ///   - edges: When to act. Without any edge it never acts.
    ///   - maxWait: The longest time for which calls that keep coming can delay an action; nil for no limit. Less than
    ///     the interval counts as the interval.
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
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: @escaping @Sendable (_ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait?.wholeNanoseconds), interval, edges, loop, modes, whenReleased,
            Place(label, file, line))
        self.init(SingleLimiter(settings, keepsAll: combine != nil, .init(merging: combine, action)))
    }

    /// Makes a limiter without a handler, which ``Limiter/setHandler(_:)`` gives it later.
    ///
    /// ``Debounce/init(interval:edges:maxWait:on:in:whenReleased:merging:label:file:line:action:)``
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
        self.init(SingleLimiter(settings, keepsAll: combine != nil, .init(merging: combine, nil)))
    }

    /// The longest time for which calls that keep coming can delay an action; nil for no limit. Any thread may set it,
    /// at any time. lodash: `maxWait`.
    ///
    /// - It counts from the first call of a burst, or from the last action in it. Less than the interval counts as the
    ///   interval.
    /// - If it is shorter than two intervals, a later action in the burst may exceed it, by less than one:
    ///   <doc:ThrottleOrDebounce#Edges>.
    /// - A new value takes effect with the next call: a running timer is not moved.
    public final var maxWait: Duration? {
        get { core.maxWait }
        set { core.maxWait = newValue }
    }

    /// Makes a debounce whose action gets all inputs since the last action, in the order of the calls.
    /// ``Debounce/init(interval:edges:maxWait:on:in:whenReleased:merging:label:file:line:action:)`` has the details of
    /// each parameter.
    ///
    /// - Parameters:
    ///   - interval: The time without a call after which a burst is over.
    ///   - edges: When to act.
    ///   - maxWait: The longest time for which calls that keep coming can delay an action; nil for no limit.
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
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        action: (@Sendable (_ inputs: [Input]) -> Void)? = nil
    ) -> Debounce {
        let settings = LimiterSettings(
            .debounce(maxWait: maxWait?.wholeNanoseconds), interval, edges, loop, modes, whenReleased,
            Place(label, file, line))
        return Debounce(SingleLimiter(settings, keepsAll: true, .init(collecting: action)))
    }
}
