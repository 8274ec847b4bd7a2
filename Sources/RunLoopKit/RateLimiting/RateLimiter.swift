/// Limits how often something is done: what `Throttle` and `Debounce` have in common.
///
/// Make one of these two; use this class where either will do. `KeyedRateLimiter` is the same for many keys.
///
/// ```swift
/// final class Field {
///     let onChange: RateLimiter<String>
///     init(onChange: RateLimiter<String>) { self.onChange = onChange }
///     func type(_ text: String) { onChange(text) }
/// }
/// let field = Field(onChange: Debounce(interval: .milliseconds(300)) { search($0) })
/// ```
///
/// **Threads.** Everything may be called from any thread. The action runs on its loop's thread: at once when the call
/// is made there, in one of the limiter's modes or while the loop does not run; otherwise it is handed over, in order.
/// The action is `@Sendable`: if its loop is `Loop.main`, it may touch the main actor's state inside
/// `MainActor.assumeIsolated { … }`.
///
/// **Lifetime.** The loop does not keep the limiter alive; keep a reference. `whenReleased` says what happens to a
/// pending call when it goes. The same happens when the loop ends: a `LoopThread` that is stopped runs what it has
/// accepted, and then discards or acts on what is pending.
public class RateLimiter<Input: Sendable>: @unchecked Sendable {
    // It holds the core only, which the loop may keep alive for longer.
    private let core: SingleLimiter<Input>

    init(_ core: SingleLimiter<Input>) {
        self.core = core
        core.open()
    }

    deinit { core.release() }

    /// Calls the limiter. From any thread.
    ///
    /// What the call leads to is decided now, also when the action itself has to be handed over to another thread.
    /// Inside a burst a call touches no timer, allocates nothing unless it has to keep all inputs, and makes no system
    /// call.
    ///
    /// - Returns: Whether the call was taken. False after `invalidate()`, when the loop has ended, and when this call
    ///   was to make an action that a stopping loop refused (and `whenReleased` is `discard`).
    @discardableResult
    public final func callAsFunction(_ input: Input) -> Bool { core.call(input) }

    /// Acts now on what is pending, if anything is; the timer stops. From any thread: the action runs where and as it
    /// always does.
    ///
    /// - Returns: Whether there was something pending, and the loop took it. lodash: `flush`.
    @discardableResult
    public final func flush() -> Bool { core.flush() }

    /// Forgets what is pending, and the past: the next call is a first call. From any thread. An action that is on its
    /// way to the loop's thread already still runs. lodash: `cancel`.
    public final func cancel() { core.cancel() }

    /// Whether a call waits to be acted on. False once it was cancelled, flushed or acted on, and always without a
    /// trailing edge. From any thread. lodash: `pending`, which also counts a timer that will do nothing.
    public final var isPending: Bool { core.isPending }

    /// Whether a call waits with such an input. Asked with the lock held.
    final func isPending(where isSuch: (Input) -> Bool) -> Bool { core.isPending(where: isSuch) }

    /// The time in which a throttle acts at most once; how long there must be no call for a debounce's burst to be
    /// over. May be set from any thread, and counts from the next event on: a timer that runs already is not moved.
    /// Negative values become zero. lodash: `wait`.
    public final var interval: Duration {
        get { core.interval }
        set { core.interval = newValue }
    }

    /// Ends the limiter for good: what is pending and what waits on the loop is dropped, and the action released with
    /// what it captured, so that an owner whose action captures it can go. Later calls do nothing. From any thread; an
    /// action that runs at this moment goes on. HWThrottle: `invalidate`.
    public final func invalidate() { core.invalidate() }
}

extension RateLimiter where Input == Void {
    /// Calls a limiter that has no input.
    @discardableResult
    public final func callAsFunction() -> Bool { self(()) }
}
