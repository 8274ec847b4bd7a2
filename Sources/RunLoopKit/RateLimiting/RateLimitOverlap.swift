/// What an `AsyncLimiter` does when its action is due and the one before has not ended.
public enum RateLimitOverlap: Hashable, Sendable {
    /// The new action does not begin, and who waits for it is answered nil.
    case skipWhileRunning

    /// The new action begins when the running one has ended. Only one waits: it takes the place of another that did,
    /// whose callers are answered nil.
    case queueLatest

    /// The running action's task is cancelled, its callers are answered nil, and the new action begins at once. One
    /// that does not heed its cancellation runs on beside it.
    case cancelPrevious
}
