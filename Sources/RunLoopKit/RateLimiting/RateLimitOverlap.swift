/// What an ``AsyncLimiter`` does if its action is due before the previous one has ended.
public enum RateLimitOverlap: Hashable, Sendable {
    /// The new action does not start; its callers are answered nil.
    case skipWhileRunning

    /// The default. The new action starts when the running one has ended. Only one waits: it replaces another that
    /// waits, whose callers are answered nil.
    case queueLatest

    /// The new action starts without waiting for the old one's end. First the old one's callers are answered nil, and
    /// its task is cancelled. An action that ignores its cancellation runs on beside the new one.
    ///
    /// That happens when the new action is due, not when it is called for: during the pause of a debounce the previous
    /// action runs on, and may deliver an old result, unless ``AsyncLimiter/cancelRunning()`` is called before each
    /// call. See <doc:ThrottleOrDebounce#Asynchronous-actions>.
    ///
    /// While calls keep coming, an action that takes longer than the time between two actions, such as the `maxWait` of
    /// a debounce, never ends: the next one cancels it.
    case cancelPrevious
}
