/// What a limiter's call has to do with its input, and whether the limiter's lock is then held.
@usableFromInline
package enum CallStep {
    /// Nothing: the limiter is invalid, or does not need the input. The lock is released.
    case refuse, ignore
    /// Keep it: it is the first one that is pending. The lock is held.
    case begin
    /// Replace the pending one with it. The lock is held.
    case replace
    /// Keep it, after the pending ones. The lock is held.
    case append
    /// Act on it, and on those that were pending if they are all kept. The lock is held.
    case act(wasPending: Bool)

    /// Keep it.
    ///
    /// - Parameters:
    ///   - wasPending: Whether an input was pending before the call.
    ///   - keepsAll: Whether the action gets all inputs of a burst.
    @inline(__always)
    static func keep(wasPending: Bool, keepsAll: Bool) -> CallStep {
        wasPending ? keepsAll ? .append : .replace : .begin
    }
}
