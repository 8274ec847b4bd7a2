/// The clock that a loop reads.
enum LoopTime: Sendable {
    case monotonic
    case virtual(VirtualClock)

    /// Now, in nanoseconds. Every call reads the clock: a deadline counted from a cached time would be too early.
    var nanoseconds: Int64 {
        switch self {
        case .monotonic: System.monotonicNanoseconds()
        case .virtual(let clock): clock.now.nanoseconds
        }
    }

    /// Now, on the clock of a time base.
    func nanoseconds(_ base: Loop.TimeBase) -> Int64 {
        if case .monotonic = self, base == .continuous { return System.bootTimeNanoseconds() }
        return nanoseconds
    }

    /// The time of an earlier moment, at which the machine's clock read `settled`.
    func nanoseconds(settled: Int64, atTurn turn: UInt64) -> Int64 {
        switch self {
        case .monotonic: settled
        case .virtual(let clock): clock.nanoseconds(atTurn: turn)
        }
    }

    var isVirtual: Bool { if case .virtual = self { true } else { false } }
}

/// One moment on both clocks of timers.
struct ClockTimes {
    let suspending: Int64
    let continuous: Int64
}
