/// A timerfd, and what it is armed for.
///
/// Edge-triggered and never read: arming it again clears what has fired.
final class TimerFD {
    let descriptor: Descriptor
    private let process = ProcessMark.current

    /// What the kernel holds *now*: nil when disarmed, or when it has fired.
    private(set) var armedTime: Int64?

    init(_ clock: System.TimerClock) throws(LoopError) { descriptor = try System.makeTimerFD(clock) }

    deinit { System.close(descriptor) }

    /// Makes the descriptor readable at `nanoseconds` of its clock. Says whether that took a system call:
    /// none is made when it is armed for that time already, and none in a forked child.
    func arm(at nanoseconds: Int64) -> Bool {
        guard armedTime != nanoseconds, process.isCurrent else { return false }
        System.arm(timerFD: descriptor, at: nanoseconds)
        armedTime = nanoseconds
        return true
    }

    /// To be called when the descriptor became readable: the kernel holds nothing any more.
    func didFire() { armedTime = nil }
}
