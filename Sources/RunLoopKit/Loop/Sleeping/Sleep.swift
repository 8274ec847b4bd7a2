extension Loop {
    /// What the loop, or its host, is about to sleep on or sleeps on, and until when.
    struct Sleep {
        /// The mode whose epoll set the thread or the host waits on. Not a reference, which would be retained at each
        /// sleep: a mode lives as long as its loop.
        let mode: ObjectIdentifier
        /// On the loop's own clock. Timerfds on other clocks may end the sleep earlier.
        var deadline: Int64
        /// Whether the timeout of `epoll_wait` ends the sleep: the process had no descriptor left for a timerfd. For
        /// the thread that sleeps; not known to `lastSleep`.
        var endsByTimeout = false
    }
}

extension Loop {
    // The caller holds the lock, except in `sleep(_:in:)` and `timeout(until:)`.

    /// What the loop, or its host, sleeps on; nil while it is awake. The wake word decides. So a loop that wakes need
    /// not take the lock; one that goes to sleep changes the word with the lock held.
    var sleep: Sleep? {
        lock.assertHeld()
        return waker.mayBeAsleep ? lastSleep : nil
    }

    /// Whether a timer must fire now.
    func isTimerDue(in mode: ModeState) -> Bool { isTimerDue(in: mode, at: times(for: mode)) }

    /// Whether a timer must fire at these times.
    func isTimerDue(in mode: ModeState, at times: ClockTimes) -> Bool {
        lock.assertHeld()
        return mode.timers.suspending.isDue(at: times.suspending)
            || mode.timers.others?.isDue(at: times) ?? false
    }

    /// Now, on the clocks that the mode has timers on.
    @inline(__always)
    func times(for mode: ModeState) -> ClockTimes {
        var times = ClockTimes(suspending: mode.timers.suspending.isEmpty ? .min : clock.nanoseconds)
        if mode.timers.others != nil { readOthers(into: &times, for: mode) }
        return times
    }

    /// Lists the timers as ready if one must fire now. Returns whether it did.
    @discardableResult
    @inline(__always)
    func listDueTimers(in mode: ModeState) -> Bool {
        !mode.timers.isEmpty && listDueTimersSlowly(in: mode)
    }

    @inline(never)
    private func listDueTimersSlowly(in mode: ModeState) -> Bool {
        let times = times(for: mode)
        guard isTimerDue(in: mode, at: times) else { return false }
        mode.ready.appendTimers(dueAt: times)
        return true
    }

    /// The sleep until the run's end, or the mode's first timer.
    func nextSleep(in run: Run) -> Sleep {
        var sleep = nextSleep(in: run.mode)
        if case .until(let end) = run.limit { sleep.deadline = min(sleep.deadline, end) }
        return sleep
    }

    /// The sleep until the mode's first timer.
    func nextSleep(in mode: ModeState) -> Sleep {
        lock.assertHeld()
        var sleep = Sleep(
            mode: ObjectIdentifier(mode), deadline: mode.timers.suspending.wakeUpTime ?? TimerHeap.never)
        guard mode.timers.others != nil else { return sleep }
        sleep.deadline = min(sleep.deadline, mode.timers.others!.precise.earliestDeadline ?? TimerHeap.never)
        // No timerfd ends a sleep in virtual time.
        if clock.isVirtual, let wakeUp = mode.timers.others!.wallClock.wakeUpTime {
            sleep.deadline = min(sleep.deadline, onOwnClock(wakeUp, from: .wallClock))
        }
        return sleep
    }

    /// Called when a mode's timers have changed: a loop that sleeps in this mode must wake for an earlier deadline.
    func timersChanged(in mode: ModeState) {
        lock.assertHeld()
        if lastSleep != nil { timersChangedSlowly(in: mode) }
    }

    @inline(never)
    private func timersChangedSlowly(in mode: ModeState) {
        guard let sleep, sleep.mode == ObjectIdentifier(mode) else { return }
        // A virtual clock must not jump to a deadline that no longer exists either, so the loop looks again.
        guard !clock.isVirtual else { return waker.nudge() }
        if let wakeUp = mode.timers.suspending.wakeUpTime, wakeUp < sleep.deadline { shortenSleep(to: wakeUp) }
        defer {
            assert(
                lastSleep!.deadline <= nextSleep(in: mode).deadline, "RunLoopKit: a loop oversleeps its first timer.")
        }
        guard mode.timers.others != nil else { return }
        if let deadline = mode.timers.others!.precise.earliestDeadline {
            // The loop wakes up early enough to prepare for it.
            let wakeUp = deadline.addingSaturating(-HeadStart.most)
            if wakeUp < lastSleep!.deadline { shortenSleep(to: wakeUp) }
        }
        armOthers(in: mode)
    }

    /// Ends the sleep earlier. Arming the timerfd on this thread saves waking the loop's thread to do it.
    private func shortenSleep(to deadline: Int64) {
        lastSleep!.deadline = deadline
        arm(at: deadline)
        if timerFDs.suspending == nil { waker.nudge() }
    }

    /// When the first timer of a mode fires, on the loop's clock; `TimerHeap.never` if none does.
    func earliestDeadline(in mode: ModeState) -> Int64 {
        lock.assertHeld()
        let first = mode.timers.suspending.earliestDeadline ?? TimerHeap.never
        guard mode.timers.others != nil else { return first }
        return min(
            first, mode.timers.others!.precise.earliestDeadline ?? TimerHeap.never,
            onOwnClock(mode.timers.others!.continuous.earliestDeadline, from: .continuous),
            onOwnClock(mode.timers.others!.wallClock.earliestDeadline, from: .wallClock))
    }

    /// Marks the loop asleep, and returns the sleep; its deadline is `TimerHeap.never` for forever. Nil if the loop may
    /// not sleep: a message or a wake-up has arrived. If the deadline has passed, the kernel ends the sleep at once.
    /// Reading the clock here would slow down every pass for the sake of few.
    ///
    /// The timerfds are armed only here, except when a thread adds an earlier timer while the loop sleeps, or a host
    /// does the sleeping.
    func beginSleep(in run: Run) -> Sleep? {
        lock.assertHeld()
        guard !run.mode.hasMessages, waker.beginWait() else { return nil }
        var sleep = nextSleep(in: run)
        if run.mode.timers.others != nil { wakeUpEarly(from: &sleep, in: run.mode) }
        arm(for: sleep, in: run.mode)
        sleep.endsByTimeout = timerFDs.suspending == nil && sleep.deadline != TimerHeap.never
        return sleep
    }

    func sleep(_ sleep: Sleep, in mode: ModeState) -> Int {
        guard case .virtual(let clock) = clock else {
            Tally.count(tally.waits)
            let count = mode.wait(milliseconds: sleep.endsByTimeout ? timeout(until: sleep.deadline) : -1)
            if own.preciseSleep != nil { spinUntilDue(after: count, in: mode) }
            return count
        }
        if clock.sleep(self, until: sleep.deadline, on: mode.pollDescriptor) {
            Tally.count(tally.waits)
            // What ended the wait stays in the epoll set until `awake(_:)`: else the loop would look idle for a moment.
            System.waitUntilReadable(mode.pollDescriptor)
        }
        clock.awake(self)
        // A host must be told of the timers that are due: no timerfd does.
        lock.withLock { lastSleep = nil }
        return mode.wait(milliseconds: 0)
    }

    /// The timeout in milliseconds that ends a sleep at `deadline`, or a little later.
    func timeout(until deadline: Int64) -> Int32 {
        let left = max(0, deadline.subtractingSaturating(clock.nanoseconds))
        return Int32(clamping: left / 1_000_000 + (left % 1_000_000 > 0 ? 1 : 0))
    }
}
