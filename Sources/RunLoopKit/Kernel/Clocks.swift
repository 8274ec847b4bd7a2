internal import CLinux

extension System {
    /// CLOCK_MONOTONIC in nanoseconds: it stops in suspend and is never set.
    static func monotonicNanoseconds() -> Int64 { nanoseconds(CLOCK_MONOTONIC) }

    /// CLOCK_BOOTTIME in nanoseconds: the same, including the time in suspend.
    static func bootTimeNanoseconds() -> Int64 { nanoseconds(CLOCK_BOOTTIME) }

    /// CLOCK_REALTIME in nanoseconds since 1970: it can be set.
    static func wallClockNanoseconds() -> Int64 { nanoseconds(CLOCK_REALTIME) }

    /// Sleeps until a time on the monotonic clock. May return earlier.
    static func sleep(until time: Int64) {
        var time = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
        clock_nanosleep(CLOCK_MONOTONIC, Int32(TIMER_ABSTIME), &time, nil)
    }

    @inline(__always)
    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
