// Timers on other clocks than the loop's own: the continuous clock, and the wall clock. A loop without such timers
// makes no timerfd for them, and its passes look at one word: `ModeTimers.others`. Precise timers share that word.

extension Loop {
    // All this is called with the lock held.

    /// Reads the clocks that the mode has timers on.
    @inline(never)
    func readOthers(into times: inout ClockTimes, for mode: ModeState) {
        lock.assertHeld()
        guard let others = mode.timers.others else { return }
        if !others.continuous.isEmpty { times.continuous = clock.nanoseconds(.continuous) }
        if !others.wallClock.isEmpty { times.wallClock = clock.nanoseconds(.wallClock) }
        if !others.precise.isEmpty { times.suspending = clock.nanoseconds }
    }

    /// Moves the repeating timers on the wall clock, in all modes, to the next instants of their grids.
    func wallClockWasSet() {
        lock.assertHeld()
        let now = clock.nanoseconds(.wallClock)
        for mode in modeStates {
            guard let timers = mode.timers.others?.wallClock.all, !timers.isEmpty else { continue }
            for timer in timers { timer.returnToGrid(in: self, at: now) }
        }
    }

    /// When a host must make a pass for the timers of a mode, on the loop's clock; `TimerHeap.never` if there are none.
    func earliestWakeUp(in mode: ModeState) -> Int64 {
        let first = nextSleep(in: mode).deadline
        guard mode.timers.others != nil else { return first }
        return min(
            first, onOwnClock(mode.timers.others!.continuous.wakeUpTime, from: .continuous),
            onOwnClock(mode.timers.others!.wallClock.wakeUpTime, from: .wallClock))
    }

    /// Converts a time on another clock, nil for never, to the loop's own. Assumes that the machine stays awake, and
    /// that its wall clock is not set.
    func onOwnClock(_ time: Int64?, from base: TimeBase) -> Int64 {
        guard let time, base != .suspending else { return time ?? TimerHeap.never }
        return time.subtractingSaturating(clock.lead(of: base))
    }
}
