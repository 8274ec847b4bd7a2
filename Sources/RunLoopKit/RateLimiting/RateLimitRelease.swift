/// What happens to a limiter's pending calls when the limiter is deallocated or its loop ends.
public enum RateLimitRelease: Hashable, Sendable {
    /// They are dropped, as by `cancel()`. A limiter that is deallocated with a pending call before it could act for
    /// the first time, or before it has a handler, is reported as ``Loop/Mistake/droppedLimiter(limiter:)``. lodash and
    /// HWThrottle do the same.
    case discard

    /// The limiter acts on them at that moment, as by `flush()`.
    ///
    /// - If the loop refuses the action, since its ``LoopThread`` is stopping, the limiter acts when the loop ends, on
    ///   its thread: no accepted call is lost.
    /// - A call that comes after that, for example in an end handler (``Loop/onEnd(_:)``), is refused, and reported as
    ///   ``Loop/Mistake/refusedCall(limiter:)``.
    /// - An action that captures the limiter's owner weakly finds nil if the owner's end releases the limiter. Call
    ///   `flush()` before you drop the owner, or let the action capture what it writes to.
    case flush
}
