/// Whether a timerfd that is armed for an earlier time than a sleep's end stays so.
///
/// A timeout that every packet pushes out would cost a system call for each packet. If the timerfd stays as it is, it
/// ends one sleep too early instead. No handler sees that, but it costs more than a system call. So it pays if many
/// sleeps come before that one, and experience tells.
struct EarlyTimer {
    /// How many sleeps must profit from the timerfd before it ends one too early.
    static let enough = 16
    /// How many times the timerfd is armed exactly after leaving it has not paid.
    static let pause = 64

    private var sleeps = 0
    private var pauses = 0
    private var hasStayed = false

    /// Called before each sleep.
    ///
    /// - Parameter isEarly: Whether the timerfd is armed for an earlier time, and may stay so.
    mutating func stays(_ isEarly: Bool) -> Bool {
        hasStayed = isEarly && pauses == 0
        if hasStayed {
            sleeps += 1
        } else {
            sleeps = 0
            if isEarly { pauses -= 1 }
        }
        return hasStayed
    }

    /// Called when the timerfd has ended a sleep.
    mutating func didFire() {
        if hasStayed, sleeps < EarlyTimer.enough { pauses = EarlyTimer.pause }
        sleeps = 0
    }
}
