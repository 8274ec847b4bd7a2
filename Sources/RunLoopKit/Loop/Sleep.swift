extension Loop {
    /// What the loop, or its host, is about to sleep on or sleeps on, and until when.
    struct Sleep {
        /// Whose poller.
        let mode: ModeState
        /// On the loop's own clock.
        var deadline: Int64
        /// On the continuous clock.
        var continuousDeadline: Int64

        /// Until the mode's first timer.
        init(in mode: ModeState) {
            mode.assertLocked()
            self.mode = mode
            deadline = mode.timers.suspending.wakeUpTime() ?? TimerHeap.never
            continuousDeadline = mode.timers.continuous.wakeUpTime() ?? TimerHeap.never
        }

        var hasTimers: Bool { min(deadline, continuousDeadline) != TimerHeap.never }
    }
}

extension Loop {
    /// What wakes the loop for its timers.
    struct TimerFDs {
        /// Made when the loop first runs; never in virtual time.
        var suspending: TimerFD?
        /// Made when the loop first gets a timer on that clock.
        var continuous: TimerFD?
    }

    // The rest is called with the lock held.

    /// Whether a timer has to fire now.
    func isTimerDue(in mode: ModeState) -> Bool { isTimerDue(in: mode, at: times(for: mode)) }

    /// Whether a timer had to fire at these times.
    func isTimerDue(in mode: ModeState, at times: ClockTimes) -> Bool {
        lock.assertHeld()
        return mode.timers.suspending.wakeUpTime().map { $0 <= times.suspending } ?? false
            || mode.timers.continuous.wakeUpTime().map { $0 <= times.continuous } ?? false
    }

    /// Now, on the clocks that the mode has timers on.
    private func times(for mode: ModeState) -> ClockTimes {
        ClockTimes(
            suspending: mode.timers.suspending.isEmpty ? .min : clock.nanoseconds(.suspending),
            continuous: mode.timers.continuous.isEmpty ? .min : clock.nanoseconds(.continuous))
    }

    /// Lists the timers if one has to fire now, and says whether.
    @discardableResult
    func listDueTimers(in mode: ModeState) -> Bool {
        let times = times(for: mode)
        guard isTimerDue(in: mode, at: times) else { return false }
        mode.ready.appendTimers(dueAt: times)
        return true
    }

    /// Arms what is to end a sleep.
    func arm(for sleep: Sleep) {
        lock.assertHeld()
        self.sleep = sleep
        if sleep.deadline != TimerHeap.never { arm(timerFDs.suspending, at: sleep.deadline) }
        if sleep.continuousDeadline != TimerHeap.never { arm(timerFDs.continuous, at: sleep.continuousDeadline) }
    }

    /// Makes the kernel wake the loop at `deadline`.
    private func arm(_ timerFD: TimerFD?, at deadline: Int64) {
        if let timerFD, timerFD.arm(at: deadline) { Tally.count(tally.timerArms) }
    }

    /// To be called when a mode's timers changed: a loop that sleeps in this mode must not sleep too long.
    func timersChanged(in mode: ModeState) {
        lock.assertHeld()
        guard let sleep, sleep.mode === mode else { return }
        // A virtual clock must not jump to a deadline that has gone either: the loop looks once more.
        guard !clock.isVirtual else { return waker.nudge() }
        // Arming a timerfd from here spares waking the loop's thread only to make it do that.
        if let wakeUp = mode.timers.suspending.wakeUpTime(), wakeUp < sleep.deadline {
            self.sleep!.deadline = wakeUp
            arm(timerFDs.suspending, at: wakeUp)
        }
        if let wakeUp = mode.timers.continuous.wakeUpTime(), wakeUp < sleep.continuousDeadline {
            self.sleep!.continuousDeadline = wakeUp
            arm(timerFDs.continuous, at: wakeUp)
        }
    }

    /// Makes the timerfd for the continuous clock, if it is missing, for all modes that have run.
    func openContinuousTimer() {
        lock.assertHeld()
        guard timerFDs.continuous == nil, !clock.isVirtual else { return }
        do {
            let timerFD = try TimerFD(.continuous)
            for mode in modeStates { try mode.watch(continuousTimer: timerFD.descriptor) }
            timerFDs.continuous = timerFD
        } catch {
            fatalError("RunLoopKit: adding a timer on the continuous clock: \(error)")
        }
    }

    /// When the first timer of a mode is to fire, on the loop's clock; `TimerHeap.never` when none is.
    func earliestDeadline(in mode: ModeState) -> Int64 {
        lock.assertHeld()
        let suspending = mode.timers.suspending.earliestDeadline ?? TimerHeap.never
        guard let continuous = mode.timers.continuous.earliestDeadline else { return suspending }
        return min(suspending, onOwnClock(continuous))
    }

    /// A time on the continuous clock as it looks on the loop's own, if the machine stays awake.
    func onOwnClock(_ time: Int64) -> Int64 {
        time.addingSaturating(clock.nanoseconds - clock.nanoseconds(.continuous))
    }
}
