/// What becomes of a call that a limiter still holds back when the last reference to the limiter goes, or when its loop
/// ends.
public enum RateLimitRelease: Hashable, Sendable {
    /// It is forgotten, as by `cancel()`. What lodash and HWThrottle do.
    case discard

    /// The limiter acts on it at that moment, as by `flush()`: what was to be saved is saved. What a loop refuses since
    /// its `LoopThread` is being stopped it acts on as the loop ends, on its thread: nothing is lost on the way.
    case flush
}
