/// The clock that a loop reads.
@usableFromInline
package enum LoopTime: Sendable {
    case monotonic
    case virtual(VirtualClock)

    /// The deadline of what never comes.
    package static var never: Int64 { .max }

    /// Now, in nanoseconds. Every call reads the clock: a deadline counted from a cached time would be too early.
    package var nanoseconds: Int64 {
        @inlinable @inline(__always) get {
            switch self {
            case .monotonic: System.monotonicNanoseconds()
            case .virtual(let clock): clock.now.nanoseconds
            }
        }
    }

    /// Now, on the clock of a time base.
    @inline(__always)
    package func nanoseconds(_ base: Loop.TimeBase) -> Int64 {
        base == .suspending ? nanoseconds : nanosecondsSlowly(base)
    }

    @inline(never)
    private func nanosecondsSlowly(_ base: Loop.TimeBase) -> Int64 {
        switch base {
        case .suspending: nanoseconds
        case .continuous: isVirtual ? nanoseconds : System.bootTimeNanoseconds()
        case .wallClock: wallClockNanoseconds
        }
    }

    private var wallClockNanoseconds: Int64 {
        switch self {
        case .monotonic: System.wallClockNanoseconds()
        case .virtual(let clock): clock.now(.wallClock).nanoseconds
        }
    }

    /// How far the clock of a time base is ahead of this one.
    func lead(of base: Loop.TimeBase) -> Int64 {
        switch self {
        case .monotonic: nanoseconds(base).subtractingSaturating(nanoseconds)
        case .virtual(let clock): base == .wallClock ? clock.wallClockLead : 0
        }
    }

    /// The time of an earlier moment, at which the machine's clock read `settled`.
    func nanoseconds(settled: Int64, atTurn turn: UInt64) -> Int64 {
        switch self {
        case .monotonic: settled
        case .virtual(let clock): clock.nanoseconds(atTurn: turn)
        }
    }

    var isVirtual: Bool { if case .virtual = self { true } else { false } }

    func isSame(as other: LoopTime) -> Bool {
        switch (self, other) {
        case (.monotonic, .monotonic): true
        case (.virtual(let clock), .virtual(let other)): clock === other
        default: false
        }
    }
}

/// One moment on the clocks of timers. A clock that no timer counts on is not read.
struct ClockTimes {
    var suspending: Int64
    var continuous = Int64.min
    var wallClock = Int64.min
}
