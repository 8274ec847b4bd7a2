extension Quota {
    /// What a quota answers: whether the caller may go on, what is left, and when to ask again. As Bucket4j's
    /// `ConsumptionProbe`, and the header fields of HTTP that tell a client the same.
    ///
    /// The durations are whole nanoseconds, rounded up: tokens that an answer has promised are there after that time,
    /// unless another call takes them first. They count on the quota's clock.
    public struct Answer: Hashable, Sendable, CustomStringConvertible {
        /// Whether the tokens were there. ``Quota/take(_:)`` has taken them then, and nothing otherwise.
        public let isAllowed: Bool

        /// The whole tokens that are left after the call. HTTP: `X-RateLimit-Remaining`.
        public let remaining: Int

        /// How long until the same call would be allowed: zero if it is, nil if it never will be, since it costs more
        /// than the quota holds, or no tokens come. HTTP: `Retry-After`.
        public let retryAfter: Duration?

        /// How long until the quota is full again if no other call comes; nil if it never is. HTTP:
        /// `X-RateLimit-Reset`.
        public let fullAfter: Duration?

        init(_ isAllowed: Bool, _ remaining: Int, wait: Int64?, timeToFill: Int64?) {
            (self.isAllowed, self.remaining) = (isAllowed, remaining)
            retryAfter = wait.map { .nanoseconds($0) }
            fullAfter = timeToFill.map { .nanoseconds($0) }
        }

        /// The answer in words.
        public var description: String {
            if isAllowed { return "allowed, \(remaining) left" }
            return retryAfter.map { "refused, retry after \($0)" } ?? "refused for good"
        }
    }
}
