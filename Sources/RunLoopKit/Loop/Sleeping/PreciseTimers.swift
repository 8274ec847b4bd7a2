// Precise timers (see `Timer.isPrecise`): the kernel's timer ends the sleep early, and the loop spins twice until the
// precise timer is due. The first spin ends at a wake-up. The second is short, and comes right before the handler is
// called: a CPU that has slept has forgotten the code, so getting there takes some microseconds.

/// How long before a precise timer is due the loop wakes up for it.
///
/// It follows the time that the kernel takes to wake the thread, so that nearly all calls are in time. A wake-up that
/// came too late lengthens it by a quarter; every other one shortens it by a 128th. The two balance where one in thirty
/// is too late.
struct HeadStart {
    /// More than most machines ever need, and still little to spend on a call.
    static let most: Int64 = 200_000
    static let least: Int64 = 2 * ofPass

    /// The part of it for the way from the first spin to the handler.
    static let ofPass: Int64 = 10_000

    var nanoseconds: Int64 = 50_000

    /// - Parameter lateness: How much later than the kernel's timer was due the thread ran.
    mutating func learn(lateness: Int64) {
        // Another thread had the CPU. No head start helps against that.
        guard lateness <= HeadStart.most else { return }
        let change = lateness > nanoseconds ? nanoseconds / 4 : -nanoseconds / 128
        nanoseconds = min(max(nanoseconds + change, HeadStart.least), HeadStart.most)
    }
}

/// A sleep that ends before a timer is due.
struct PreciseSleep {
    /// When the kernel ends it.
    let wakeUpTime: Int64
    /// When the first spin ends.
    let end: Int64
    /// Whether the thread really sleeps until `wakeUpTime`.
    let isInTime: Bool
}

extension Loop {
    /// Ends a sleep early if the next timer is precise. If it is due within the head start, the kernel ends the sleep
    /// at once.
    @inline(never)
    func wakeUpEarly(from sleep: inout Sleep, in mode: ModeState) {
        lock.assertHeld()
        guard !clock.isVirtual, let due = mode.timers.others?.precise.earliestDeadline else { return }
        let wakeUpTime = due - own.headStart.nanoseconds
        guard wakeUpTime < sleep.deadline else { return }
        own.preciseSleep = PreciseSleep(
            wakeUpTime: wakeUpTime, end: min(sleep.deadline, due - HeadStart.ofPass),
            isInTime: clock.nanoseconds < wakeUpTime)
        sleep.deadline = wakeUpTime
    }

    /// Spins after a sleep that was to end early, if nothing else has ended it. A wake-up ends the spin. A descriptor
    /// that becomes ready does not: it waits for the rest of the head start.
    @inline(never)
    func spinUntilDue(after count: Int, in mode: ModeState) {
        assertOnOwnThread()
        guard let sleep = own.preciseSleep else { return }
        own.preciseSleep = nil
        guard count == 1, mode.report(at: 0).token == ReadyList.timers else { return }
        var now = clock.nanoseconds
        // Another thread has added an earlier timer, if the sleep has ended before that.
        guard now >= sleep.wakeUpTime else { return }
        if sleep.isInTime { own.headStart.learn(lateness: now - sleep.wakeUpTime) }
        while now < sleep.end, !waker.hasNote { now = clock.nanoseconds }
    }

    /// The second spin: until a call is due. Returns the time.
    @inline(never)
    func spinUntilDue(_ firing: Timer.Firing) -> Int64 {
        var now = clock.nanoseconds
        while now < firing.scheduledTime.nanoseconds { now = clock.nanoseconds }
        return now
    }
}
