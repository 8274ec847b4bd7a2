extension Loop {
    /// A point in time on a loop's clock, in nanoseconds. Instants of different clocks cannot be compared.
    ///
    /// For ordinary loops the clock is CLOCK_MONOTONIC, as for CFRunLoop and Swift's `SuspendingClock`. It starts near
    /// the machine's boot, stops in suspend, and cannot be set. A loop made with a ``VirtualClock`` uses that clock
    /// instead.
    ///
    /// Arithmetic saturates: a result beyond the range is `distantPast` or `distantFuture`, never an overflow.
    public struct Instant: InstantProtocol, Hashable, Sendable, CustomStringConvertible {
        /// Nanoseconds since the clock's start.
        public let nanoseconds: Int64

        /// The instant `nanoseconds` after the clock's start.
        public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

        /// Now, on the clock of ordinary loops. For the time of one loop, which may be virtual, see ``Loop/now``.
        public static var now: Instant { Instant(nanoseconds: System.monotonicNanoseconds()) }

        /// Later than any time that any clock reaches, about 292 years after the clock's start.
        public static let distantFuture = Instant(nanoseconds: .max)

        /// Earlier than any time of any clock.
        public static let distantPast = Instant(nanoseconds: .min)

        /// This instant moved by `duration`, rounded up to a whole nanosecond, saturating.
        public func advanced(by duration: Duration) -> Instant {
            Instant(nanoseconds: Int64(clamping: Int128(nanoseconds) + duration.exactNanoseconds))
        }

        /// The duration from this instant to `other`; negative if `other` is earlier.
        public func duration(to other: Instant) -> Duration {
            .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
        }

        /// The same as ``Loop/Instant/advanced(by:)``.
        public static func + (instant: Instant, duration: Duration) -> Instant { instant.advanced(by: duration) }

        /// This instant moved back by `duration`, saturating.
        public static func - (instant: Instant, duration: Duration) -> Instant {
            // Rounded up as `advanced(by:)` does. Not by it: the smallest duration has no opposite.
            Instant(nanoseconds: Int64(clamping: Int128(instant.nanoseconds) - duration.exactNanosecondsRoundedDown))
        }

        /// The duration from the right instant to the left one; negative if the left one is earlier.
        public static func - (left: Instant, right: Instant) -> Duration { right.duration(to: left) }

        /// Whether `left` is earlier than `right`.
        public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

        /// The nanoseconds, with the unit.
        public var description: String { "\(nanoseconds) ns" }
    }
}

extension Duration {
    /// Nanoseconds, rounded up so that a wait is never too short.
    fileprivate var exactNanoseconds: Int128 {
        let (quotient, remainder) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return remainder > 0 ? quotient + 1 : quotient
    }

    fileprivate var exactNanosecondsRoundedDown: Int128 {
        let (quotient, remainder) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// The same, saturating.
    package var wholeNanoseconds: Int64 {
        // Up to 2.6 hours, without a division of 128 bits: 20 instructions of 67. A billion is 2^9 × 1,953,125.
        let rounded = attoseconds &+ 999_999_999
        if rounded >> 73 == 0 { return Int64(UInt64(truncatingIfNeeded: rounded >> 9) / 1_953_125) }
        return Int64(clamping: exactNanoseconds)
    }
}

// What times are computed with: a sum or a difference beyond the range is the end of the range.
extension Int64 {
    @inlinable
    package func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        if overflow { return other < 0 ? .min : .max }
        return sum
    }

    /// Not `addingSaturating(-other)`: the smallest number has no opposite.
    @inlinable
    package func subtractingSaturating(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        if overflow { return other < 0 ? .max : .min }
        return difference
    }
}
