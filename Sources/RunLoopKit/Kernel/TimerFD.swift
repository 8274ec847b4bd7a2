internal import CLinux

/// A timerfd, and what it is armed for.
///
/// It is edge-triggered and never read: arming it again clears its readiness.
struct TimerFD: ~Copyable {
    let descriptor: Descriptor
    private let process = ProcessMark.current

    /// The time that the kernel holds *now*; nil if disarmed or fired.
    private(set) var armedTime: Int64?

    /// Whether the wall clock was set between the last two calls that armed the timerfd. Only of one on that clock.
    private(set) var wasClockSet = false

    private let flags: Int32

    /// The clocks of timerfds: CLOCK_MONOTONIC, CLOCK_BOOTTIME and CLOCK_REALTIME.
    enum Clock { case suspending, continuous, wallClock }

    /// Makes a timerfd. On the wall clock it is armed for a far future, so that it notices from now on when the clock
    /// is set; on the others it is disarmed.
    init(_ clock: Clock) throws(LoopError) {
        let number: Int32
        (number, flags) =
            switch clock {
            case .suspending: (CLOCK_MONOTONIC, Int32(TFD_TIMER_ABSTIME))
            case .continuous: (CLOCK_BOOTTIME, Int32(TFD_TIMER_ABSTIME))
            case .wallClock: (CLOCK_REALTIME, Int32(TFD_TIMER_ABSTIME) | Int32(TFD_TIMER_CANCEL_ON_SET))
            }
        descriptor = try System.aboveStreams(
            System.check("timerfd_create", timerfd_create(number, Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK))))
        if clock == .wallClock { _ = arm(at: .max) }
    }

    deinit { System.close(descriptor) }

    /// Makes the descriptor readable at `nanoseconds` of its clock. Returns whether that made a system call: it makes
    /// none if the timerfd is armed for that time already, and none in a forked child.
    ///
    /// A timerfd on the wall clock becomes readable also when that clock is set. It is never read, so the next call of
    /// this method finds out: the kernel then arms it, and fails with ECANCELED.
    mutating func arm(at nanoseconds: Int64) -> Bool {
        guard armedTime != nanoseconds, process.isCurrent else { return false }
        let time = max(nanoseconds, 1)  // Zero would disarm it.
        var setting = itimerspec()
        (setting.it_value.tv_sec, setting.it_value.tv_nsec) = System.parts(of: time)
        wasClockSet = timerfd_settime(descriptor, flags, &setting, nil) != 0
        guard !wasClockSet || clinux_errno() == ECANCELED else {
            System.descriptorFailed("timerfd_settime(\(descriptor))")
        }
        armedTime = nanoseconds
        return true
    }

    /// Called when the descriptor has become readable: the kernel no longer holds a time.
    mutating func didFire() { armedTime = nil }
}
