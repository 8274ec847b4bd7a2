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
/// **Threads.** Everything may be called from any thread. The action runs on its loop's thread: at once when the call
/// is made there, in one of the limiter's modes or while the loop does not run; otherwise it is handed over, in order.
///
/// **Lifetime.** The loop does not keep the limiter alive; keep a reference. `whenReleased` says what happens to a
/// pending call when it goes. The same happens when the loop ends: a `LoopThread` that is stopped runs what it has
/// accepted, and then discards or acts on what is pending.
///
/// lodash: `throttle` (whose default is both edges). HWThrottle: `HWThrottle`.
public final class Throttle<Input: Sendable>: Sendable {
    private let limiter: Limiter<Input>

    private init(_ limiter: Limiter<Input>) { self.limiter = limiter }

    deinit { limiter.release() }

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
    public convenience init(
        interval: Duration, edges: RateLimitEdges = .leading, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            interval: interval, edges: edges, loop: loop, modes: modes, whenReleased: whenReleased)
        self.init(Limiter(.throttle, settings, keepsAll: false) { action($0.last) })
    }

    /// Makes a throttle that combines the inputs of a burst, so that nothing is lost.
    ///
    /// The inputs are kept until the action, and combined right before it.
    ///
    /// - Parameters:
    ///   - interval: The time in which at most one action happens. Negative counts as zero; what goes beyond the
    ///     clock's range never ends.
    ///   - edges: When to act. None: never.
    ///   - loop: Whose thread the action runs on.
    ///   - modes: In which of the loop's modes: while it runs in others the action waits. None: never on its own, and
    ///     only for calls made on the loop's thread while the loop does not run.
    ///   - whenReleased: What becomes of a pending call when the last reference to the limiter goes, or the loop ends.
    ///   - combine: Combines what there is with the input of the next call. Called on the loop's thread, with no lock
    ///     held.
    ///   - action: Called on the loop's thread, with no lock held, with everything that was collected.
    public convenience init(
        interval: Duration, edges: RateLimitEdges = .leading, on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        merging combine: @escaping @Sendable (_ pending: Input, _ new: Input) -> Input,
        action: @escaping @Sendable (_ input: Input) -> Void
    ) {
        let settings = LimiterSettings(
            interval: interval, edges: edges, loop: loop, modes: modes, whenReleased: whenReleased)
        self.init(Limiter(.throttle, settings, keepsAll: true) { action($0.merged(combine)) })
    }

    /// Makes a throttle whose action gets all inputs since the last action, in the order of the calls.
    ///
    /// - Parameters:
    ///   - interval: The time in which at most one action happens. Negative counts as zero; what goes beyond the
    ///     clock's range never ends.
    ///   - edges: When to act. None: never.
    ///   - loop: Whose thread the action runs on.
    ///   - modes: In which of the loop's modes: while it runs in others the action waits. None: never on its own, and
    ///     only for calls made on the loop's thread while the loop does not run.
    ///   - whenReleased: What becomes of a pending call when the last reference to the limiter goes, or the loop ends.
    ///   - action: Called on the loop's thread, with no lock held. Never with an empty array.
    public static func collecting(
        interval: Duration, edges: RateLimitEdges = [.leading, .trailing], on loop: Loop = .current,
        in modes: Set<Loop.Mode> = [.common], whenReleased: RateLimitRelease = .discard,
        action: @escaping @Sendable (_ inputs: [Input]) -> Void
    ) -> Throttle {
        let settings = LimiterSettings(
            interval: interval, edges: edges, loop: loop, modes: modes, whenReleased: whenReleased)
        return Throttle(Limiter(.throttle, settings, keepsAll: true) { action($0.all) })
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

    /// Forgets what is pending, and the last action: the next call is a first call. From any thread. An action that is
    /// on its way to the loop's thread already still runs. lodash: `cancel`.
    public func cancel() { limiter.cancel() }

    /// Whether a call waits to be acted on. False once it was cancelled, flushed or acted on, and always without a
    /// trailing edge. From any thread. lodash: `pending`, which also counts a timer that will do nothing.
    public var isPending: Bool { limiter.isPending }

    /// The time in which at most one action happens. May be set from any thread, and counts from the next event on: a
    /// timer that runs already is not moved. Negative values become zero. lodash: `wait`.
    public var interval: Duration {
        get { limiter.interval }
        set { limiter.interval = newValue }
    }

    /// Ends the limiter for good: what is pending and what waits on the loop is dropped, and the action released with
    /// what it captured, so that an owner whose action captures it can go. Later calls do nothing. From any thread; an
    /// action that runs at this moment goes on. HWThrottle: `invalidate`.
    public func invalidate() { limiter.invalidate() }
}

extension Throttle where Input == Void {
    /// Calls a limiter that has no input.
    @discardableResult
    public func callAsFunction() -> Bool { self(()) }
}
