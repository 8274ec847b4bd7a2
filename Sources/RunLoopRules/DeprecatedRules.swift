// The names that these types had. They last for one version.

/// The name that ``AnyMethodRule`` had.
@available(*, deprecated, renamed: "AnyMethodRule")
public typealias ThrottleRule = AnyMethodRule

/// The name that ``MethodRuleError`` had.
@available(*, deprecated, renamed: "MethodRuleError")
public typealias ThrottleRuleError = MethodRuleError

/// The name that ``RuleEngine`` had.
@available(*, deprecated, renamed: "RuleEngine")
public typealias ThrottleEngine = RuleEngine

/// The name that ``LimitedMethod`` had.
@available(*, deprecated, renamed: "LimitedMethod")
public typealias ThrottledMethod<Target: Sendable, Input: Sendable> = LimitedMethod<Target, Input>
