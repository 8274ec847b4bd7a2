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
/// **Threads.** Everything may be called from any thread. The action runs on its loop's thread: at once when the call
/// is made there, in one of the limiter's modes or while the loop does not run; otherwise it is handed over, in order.
///
/// **Lifetime.** The loop does not keep the limiter alive; keep a reference. `whenReleased` says what happens to a
/// pending call when it goes. The same happens when the loop ends: a `LoopThread` that is stopped runs what it has
/// accepted, and then discards or acts on what is pending.
///
/// lodash: `debounce`. HWThrottle: `HWDebounce`.
public final class Debounce<Input: Sendable>: Sendable {
    private let limiter: Limiter<Input>

    private init(_ limiter: Limiter<Input>) { self.limiter = limiter }

    deinit { limiter.release() }

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
    public convenience init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            interval: interval, edges: edges, loop: loop, modes: modes, whenReleased: whenReleased)
        self.init(Limiter(.debounce(maxWait: maxWait.asMaxWait), settings, keepsAll: false) { action($0.last) })
    }

    /// Makes a debounce that combines the inputs of a burst, so that nothing is lost.
    ///
    /// The inputs are kept until the action, and combined right before it.
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
    ///   - combine: Combines what there is with the input of the next call. Called on the loop's thread, with no lock
    ///     held.
    ///   - action: Called on the loop's thread, with no lock held, with everything that was collected.
    public convenience init(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: @escaping @Sendable (_ pending: Input, _ new: Input) -> Input,
        action: @escaping @Sendable (_ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            interval: interval, edges: edges, loop: loop, modes: modes, whenReleased: whenReleased)
        self.init(
            Limiter(.debounce(maxWait: maxWait.asMaxWait), settings, keepsAll: true) { action($0.merged(combine)) })
    }

    /// Makes a debounce whose action gets all inputs since the last action, in the order of the calls.
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
    ///   - action: Called on the loop's thread, with no lock held. Never with an empty array.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = .trailing, maxWait: Duration? = nil, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ inputs: [Input]) -> Void
    ) -> Debounce {
        let settings = LimiterSettings(
            interval: interval, edges: edges, loop: loop, modes: modes, whenReleased: whenReleased)
        return Debounce(Limiter(.debounce(maxWait: maxWait.asMaxWait), settings, keepsAll: true) { action($0.all) })
    }

    /// Calls the limiter. From any thread.
    ///
    /// What the call leads to is decided now, also when the action itself has to be handed over to another thread.
    /// Inside a burst a call touches no timer and makes no system call.
    ///
    /// - Returns: Whether the call was taken. False after `invalidate()`, when the loop has ended, and when this call
    ///   was to make an action that a stopping loop refused.
    @discardableResult
    public func callAsFunction(_ input: Input) -> Bool { limiter.call(input) }

    /// Acts now on what is pending, if anything is; the timer stops. From any thread: the action runs where and as it
    /// always does.
    ///
    /// - Returns: Whether there was something pending, and the loop took it. lodash: `flush`.
    @discardableResult
    public func flush() -> Bool { limiter.flush() }

    /// Forgets what is pending, and the burst: the next call is a first call. From any thread. An action that is
    /// on its way to the loop's thread already still runs. lodash: `cancel`.
    public func cancel() { limiter.cancel() }

    /// Whether a call waits to be acted on. False once it was cancelled, flushed or acted on, and always without a
    /// trailing edge. From any thread. lodash: `pending`, which also counts a timer that will do nothing.
    public var isPending: Bool { limiter.isPending }

    /// How long there must be no call for a burst to be over. May be set from any thread, and counts from the next
    /// event on: a timer that runs already is not moved. Negative values become zero. lodash: `wait`.
    public var interval: Duration {
        get { limiter.interval }
        set { limiter.interval = newValue }
    }

    /// Ends the limiter for good: what is pending and what waits on the loop is dropped, and the action released with
    /// what it captured, so that an owner whose action captures it can go. Later calls do nothing. From any thread; an
    /// action that runs at this moment goes on. HWThrottle: `invalidate`.
    public func invalidate() { limiter.invalidate() }
}

extension Debounce where Input == Void {
    /// Calls a limiter that has no input.
    @discardableResult
    public func callAsFunction() -> Bool { self(()) }
}
