/// Limits how often something is done: the common base of ``Throttle`` and ``Debounce``.
///
/// Make one of these two; use this class where either will do. ``KeyedRateLimiter`` is the same for many keys.
///
/// ```swift
/// final class Field {
///     let onChange: RateLimiter<String>
///     init(onChange: RateLimiter<String>) { self.onChange = onChange }
///     func type(_ text: String) { onChange(text) }
/// }
/// let field = Field(onChange: Debounce(interval: .milliseconds(300)) { lookUp($0) })
/// ```
///
/// **Threads.** Everything may be called from any thread. The action runs on its loop's thread: at once if the call is
/// made there, while the loop runs in one of the limiter's modes or not at all; otherwise it is handed over, in order.
///
/// **Isolation.** The action runs on the loop's thread, whichever actor calls: it is `@Sendable`, and does not belong
/// to the caller's actor. One that belongs to the main actor goes to an initializer with `isolation: .shared`, whose
/// limiter is on ``Loop/main``. An actor whose executor is the limiter's loop is entered without `await`:
///
/// ```swift
/// actor Store {
///     private let thread: LoopThread
///     nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
///     private lazy var save = Debounce<String>(interval: .seconds(2), on: thread.loop) { [weak self] text in
///         self?.assumeIsolated { $0.write(text) }  // traps if the actor is on another loop
///     }
///
///     init() throws { thread = try LoopThread(name: "store") }
///     func edit(_ text: String) { save(text) }
///     private func write(_ text: String) { print("saves \(text)") }
/// }
/// ```
///
/// For an actor that is on no loop, take an ``AsyncLimiter``, whose action may `await` it.
///
/// **Lifetime.** The loop does not retain the limiter; keep a reference. `whenReleased` says what happens to a pending
/// call when the limiter is deallocated: by default it is dropped. The same happens when the loop ends: a
/// ``LoopThread`` that is stopped runs the blocks that it has accepted, and then discards or acts on pending calls. A
/// limiter that is deallocated, or whose ``LoopThread`` is, and so drops a call before it could act for the first time
/// is reported as ``Loop/Mistake/droppedLimiter(limiter:)``. The limiter retains its action: capture the limiter's
/// owner as `[weak self]`, or neither is ever deallocated.
public class RateLimiter<Input: Sendable>: CustomStringConvertible, @unchecked Sendable {
    // The loop may retain the core for longer than this object lives.
    @usableFromInline let core: SingleLimiter<Input>

    init(_ core: SingleLimiter<Input>) {
        self.core = core
        core.open()
    }

    deinit {
        core.reportIfDropped()
        core.release()
    }

    /// Calls the limiter. From any thread.
    ///
    /// Whether to act is decided now, also if the action is handed over to another thread. Inside a burst a call
    /// touches no timer, allocates nothing unless it has to keep all inputs, and makes no system call.
    ///
    /// - Returns: Whether the limiter accepted the call. False after ``invalidate()``, after the end of the loop, and
    ///   if a stopping loop refused this call's action and `whenReleased` is `discard`.
    @inlinable @discardableResult
    public final func callAsFunction(_ input: Input) -> Bool { core.call(input) || core.reportRefusal() }

    /// Acts now on the pending call, if there is one, and stops the timer. From any thread: the action runs where it
    /// always does. On the loop's thread all earlier calls have been acted on when this returns, also those whose
    /// actions other threads have handed over to it. The burst continues: its times stay. lodash: `flush`.
    ///
    /// - Returns: Whether a call was pending and the loop accepted the action.
    @discardableResult
    public final func flush() -> Bool { core.flush() }

    /// Drops the pending call and forgets the past: the next call is a first call. From any thread. An action that was
    /// handed over to the loop's thread already still runs. lodash: `cancel`.
    public final func cancel() { core.cancel() }

    /// Whether a call is pending. False after it was cancelled, flushed or acted on, also while its action is on its
    /// way to the loop's thread, and always without a trailing edge. From any thread. lodash: `pending`, which also
    /// counts a timer that does nothing.
    public final var isPending: Bool { core.isPending }

    /// Whether a call with such an input is pending. `isSuch` is called with the lock held.
    @inlinable
    final func isPending(where isSuch: (Input) -> Bool) -> Bool { core.isPending(where: isSuch) }

    /// The kind of limiter, its interval, and whether a call is pending, and if so why it does not act yet.
    public final var description: String { "\(type(of: self)): \(state)" }

    /// The interval, and whether a call is pending, and if so why it does not act yet.
    final var state: String {
        let pending = isPending ? "a call is pending. \(core.explanation)" : "no call is pending"
        return "interval \(interval), \(pending)"
    }

    /// The time in which a throttle acts at most once; the time without a call that ends a debounce's burst.
    ///
    /// May be set from any thread. A new value counts from the next call on, also inside a burst. Without another call,
    /// a pending one waits for the timer that runs already, and then for the rest of an interval that has become
    /// longer: to shorten that too, call ``RateLimiter/flush()``. Negative values become zero. lodash: `wait`.
    public final var interval: Duration {
        get { core.interval }
        set { core.interval = newValue }
    }

    /// Ends the limiter for good: drops the pending call and the actions that wait on the loop, and releases the action
    /// with its captures, so that an owner that it captures can be deallocated. Later calls do nothing. From any
    /// thread; an action that runs at this moment continues. HWThrottle: `invalidate`.
    public final func invalidate() { core.invalidate() }
}

extension RateLimiter where Input == Void {
    /// Calls a limiter that has no input.
    @inlinable @discardableResult
    public final func callAsFunction() -> Bool { self(()) }
}
