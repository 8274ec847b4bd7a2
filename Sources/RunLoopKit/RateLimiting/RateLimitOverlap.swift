/// What an ``AsyncLimiter`` does if its action is due before the previous one has ended.
public enum RateLimitOverlap: Hashable, Sendable {
    /// The new action does not start; its callers are answered nil.
    case skipWhileRunning

    /// The default. The new action starts when the running one has ended. Only one waits: it replaces another that
    /// waits, whose callers are answered nil.
    case queueLatest

    /// The running action's callers are answered nil, its task is cancelled, and then the new action starts, without
    /// waiting for the old one's end. An action that ignores its cancellation runs on beside it.
    ///
    /// That happens when the new action is due, not when it is called for: during the pause of a debounce the previous
    /// action runs on, and may deliver an old result. An action that must not do so compares a number of the call, as
    /// in <doc:ThrottleOrDebounce#Asynchronous-actions>.
    case cancelPrevious
}
