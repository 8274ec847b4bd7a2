/// The ends of a burst of calls on which a limiter acts. With none it never acts.
///
/// - *Leading:* it acts at once, on the first call.
/// - *Trailing:* it acts when the time is up, on the last call's input, if a call came after the one that it acted on
///   last.
/// - *Both:* it acts on each. A single call makes one action, not two.
///
/// lodash: the options `leading` and `trailing`. HWThrottle: the modes of the same names, of which it allows one.
public struct RateLimitEdges: OptionSet, Hashable, Sendable {
    /// The edges as bits: leading 1, trailing 2.
    public let rawValue: UInt8

    /// The edges with these bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Act at the start, at once.
    public static let leading = RateLimitEdges(rawValue: 1)

    /// Act at the end, with the last input.
    public static let trailing = RateLimitEdges(rawValue: 2)

    /// The edges of a throttle that is made without any. One that merges must lose nothing, so it needs both.
    static func ofThrottle(merges: Bool) -> RateLimitEdges { merges ? [.leading, .trailing] : .leading }
}
