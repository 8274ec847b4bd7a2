// The names that these types had. They last for one version.

/// The name that ``Limiter`` had.
@available(*, deprecated, renamed: "Limiter")
public typealias RateLimiter<Input: Sendable> = Limiter<Input>

/// The name that ``KeyedLimiter`` had.
@available(*, deprecated, renamed: "KeyedLimiter")
public typealias KeyedRateLimiter<Key: Hashable & Sendable, Input: Sendable> = KeyedLimiter<Key, Input>
