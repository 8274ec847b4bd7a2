internal import CLinux

/// A timerfd, and what it is armed for.
///
/// It is edge-triggered and never read: arming it again clears its readiness.
struct TimerFD: ~Copyable {
    let descriptor: Descriptor
    private let process = ProcessMark.current

    /// The time that the kernel holds *now*; nil if disarmed or fired.
    private(set) var armedTime: Int64?

    /// The clocks of timerfds: CLOCK_MONOTONIC and CLOCK_BOOTTIME.
    enum Clock { case suspending, continuous }

    /// Makes a disarmed timerfd.
    init(_ clock: Clock) throws(LoopError) {
        let number = clock == .suspending ? CLOCK_MONOTONIC : CLOCK_BOOTTIME
        descriptor = try System.check(
            "timerfd_create", timerfd_create(number, Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK)))
    }

    deinit { System.close(descriptor) }

    /// Makes the descriptor readable at `nanoseconds` of its clock. Returns whether that made a system call: it makes
    /// none if the timerfd is armed for that time already, and none in a forked child.
    mutating func arm(at nanoseconds: Int64) -> Bool {
        guard armedTime != nanoseconds, process.isCurrent else { return false }
        let time = max(nanoseconds, 1)  // Zero would disarm it.
        var setting = itimerspec()
        setting.it_value.tv_sec = Int(time / 1_000_000_000)
        setting.it_value.tv_nsec = Int(time % 1_000_000_000)
        guard timerfd_settime(descriptor, Int32(TFD_TIMER_ABSTIME), &setting, nil) == 0 else {
            fatalError("RunLoopKit: \(LoopError(call: "timerfd_settime"))")
        }
        armedTime = nanoseconds
        return true
    }

    /// Called when the descriptor has become readable: the kernel no longer holds a time.
    mutating func didFire() { armedTime = nil }
}
