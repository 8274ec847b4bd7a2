internal import CLinux

extension System {
    /// CLOCK_MONOTONIC in nanoseconds: it stops in suspend and is never set.
    @usableFromInline
    package static func monotonicNanoseconds() -> Int64 { nanoseconds(CLOCK_MONOTONIC) }

    /// CLOCK_BOOTTIME in nanoseconds: the same, including the time in suspend.
    static func bootTimeNanoseconds() -> Int64 { nanoseconds(CLOCK_BOOTTIME) }

    /// CLOCK_REALTIME in nanoseconds since 1970: it can be set.
    static func wallClockNanoseconds() -> Int64 { nanoseconds(CLOCK_REALTIME) }

    /// Sleeps until a time on the monotonic clock. May return earlier.
    static func sleep(until time: Int64) {
        var deadline = timespec()
        (deadline.tv_sec, deadline.tv_nsec) = parts(of: time)
        clock_nanosleep(CLOCK_MONOTONIC, Int32(TIMER_ABSTIME), &deadline, nil)
    }

    /// A time, which is not negative, as seconds and nanoseconds in the types of a C library. Where seconds have 32
    /// bits they end after 68 years. A later time becomes the last one before that: a wait until then may return
    /// earlier.
    static func parts<Seconds: FixedWidthInteger, Nanoseconds: FixedWidthInteger>(
        of time: Int64
    ) -> (Seconds, Nanoseconds) {
        let (seconds, rest) = time.quotientAndRemainder(dividingBy: 1_000_000_000)
        guard let fitting = Seconds(exactly: seconds) else { return (.max, 999_999_999) }
        return (fitting, Nanoseconds(rest))
    }

    @inline(__always)
    private static func nanoseconds(_ clock: clockid_t) -> Int64 { clinux_nanoseconds(clock) }
}
