extension Loop {
    /// What the loop, or its host, is about to sleep on or sleeps on, and until when.
    struct Sleep {
        /// The mode whose epoll set the thread or the host waits on. Not a reference, which would be retained at each
        /// sleep: a mode lives as long as its loop.
        let mode: ObjectIdentifier
        /// On the loop's own clock.
        var deadline: Int64
        /// On the continuous clock.
        var continuousDeadline: Int64

        /// Until the run's end, or the mode's first timer.
        init(in run: Run) {
            self.init(in: run.mode)
            if case .until(let end) = run.limit { deadline = min(deadline, end) }
        }

        /// Until the mode's first timer.
        init(in mode: ModeState) {
            mode.assertLocked()
            self.mode = ObjectIdentifier(mode)
            deadline = mode.timers.suspending.wakeUpTime ?? TimerHeap.never
            continuousDeadline = mode.timers.continuous.wakeUpTime ?? TimerHeap.never
        }
    }
}

extension Loop {
    /// The timerfds that wake the loop for its timers.
    struct TimerFDs: ~Copyable {
        /// Made when the loop first runs; never in virtual time.
        var suspending: TimerFD?
        /// Made when the loop first gets a timer on that clock.
        var continuous: TimerFD?
    }

    // The rest is called with the lock held.

    /// Whether a timer must fire now.
    func isTimerDue(in mode: ModeState) -> Bool { isTimerDue(in: mode, at: times(for: mode)) }

    /// Whether a timer must fire at these times.
    func isTimerDue(in mode: ModeState, at times: ClockTimes) -> Bool {
        lock.assertHeld()
        return mode.timers.suspending.wakeUpTime.map { $0 <= times.suspending } ?? false
            || mode.timers.continuous.wakeUpTime.map { $0 <= times.continuous } ?? false
    }

    /// Now, on the clocks that the mode has timers on.
    func times(for mode: ModeState) -> ClockTimes {
        ClockTimes(
            suspending: mode.timers.suspending.isEmpty ? .min : clock.nanoseconds(.suspending),
            continuous: mode.timers.continuous.isEmpty ? .min : clock.nanoseconds(.continuous))
    }

    /// Lists the timers as ready if one must fire now. Returns whether it did.
    @discardableResult
    func listDueTimers(in mode: ModeState) -> Bool {
        let times = times(for: mode)
        guard isTimerDue(in: mode, at: times) else { return false }
        mode.ready.appendTimers(dueAt: times)
        return true
    }

    /// Arms the timerfds that end a sleep.
    func arm(for sleep: Sleep) {
        lock.assertHeld()
        self.sleep = sleep
        if sleep.deadline != TimerHeap.never { arm(at: sleep.deadline) }
        if sleep.continuousDeadline != TimerHeap.never { armContinuous(at: sleep.continuousDeadline) }
    }

    /// Makes the kernel wake the loop at `deadline`.
    private func arm(at deadline: Int64) {
        if timerFDs.suspending?.arm(at: deadline) ?? false { Tally.count(tally.timerArms) }
    }

    private func armContinuous(at deadline: Int64) {
        if timerFDs.continuous?.arm(at: deadline) ?? false { Tally.count(tally.timerArms) }
    }

    /// Called when a mode's timers have changed: a loop that sleeps in this mode must wake for an earlier deadline.
    func timersChanged(in mode: ModeState) {
        lock.assertHeld()
        if sleep != nil { timersChangedDuringSleep(in: mode) }
    }

    @inline(never)
    private func timersChangedDuringSleep(in mode: ModeState) {
        guard let sleep, sleep.mode == ObjectIdentifier(mode) else { return }
        // A virtual clock must not jump to a deadline that no longer exists either, so the loop looks again.
        guard !clock.isVirtual else { return waker.nudge() }
        // Arming the timerfd on this thread saves waking the loop's thread to do it.
        if let wakeUp = mode.timers.suspending.wakeUpTime, wakeUp < sleep.deadline {
            self.sleep!.deadline = wakeUp
            arm(at: wakeUp)
        }
        if let wakeUp = mode.timers.continuous.wakeUpTime, wakeUp < sleep.continuousDeadline {
            self.sleep!.continuousDeadline = wakeUp
            armContinuous(at: wakeUp)
        }
    }

    /// Makes the timerfd for the continuous clock, if it is missing, for all modes that have run.
    func openContinuousTimer() {
        lock.assertHeld()
        guard timerFDs.continuous == nil, !clock.isVirtual else { return }
        do {
            let timerFD = try TimerFD(.continuous)
            for mode in modeStates { try mode.watch(continuousTimer: timerFD.descriptor) }
            timerFDs.continuous = .some(consume timerFD)
        } catch {
            fatalError("RunLoopKit: adding a timer on the continuous clock: \(error)")
        }
    }

    /// When the first timer of a mode fires, on the loop's clock; `TimerHeap.never` if none does.
    func earliestDeadline(in mode: ModeState) -> Int64 {
        lock.assertHeld()
        let suspending = mode.timers.suspending.earliestDeadline ?? TimerHeap.never
        guard let continuous = mode.timers.continuous.earliestDeadline else { return suspending }
        return min(suspending, onOwnClock(continuous))
    }

    /// Converts a time on the continuous clock to the loop's own, assuming that the machine stays awake.
    func onOwnClock(_ time: Int64) -> Int64 {
        time.addingSaturating(clock.nanoseconds - clock.nanoseconds(.continuous))
    }
}
