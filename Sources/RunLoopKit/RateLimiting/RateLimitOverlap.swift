/// What an ``AsyncLimiter`` does if its action is due before the previous one has ended.
public enum RateLimitOverlap: Hashable, Sendable {
    /// The new action does not start; its callers are answered nil.
    case skipWhileRunning

    /// The new action starts when the running one has ended. Only one waits: it replaces another that waits, whose
    /// callers are answered nil.
    case queueLatest

    /// The running action's task is cancelled, its callers are answered nil, and the new action starts at once. An
    /// action that ignores its cancellation runs on beside it.
    case cancelPrevious
}
