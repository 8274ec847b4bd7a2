// Timers on other clocks than the loop's own: the continuous clock, and the wall clock. A loop without such timers
// makes no timerfd for them, and its passes look at one word: `ModeTimers.others`. Precise timers share that word.

extension Loop {
    // All this is called with the lock held.

    /// Makes the timerfd for another clock than the loop's own, if it is missing, for all modes that have run.
    func openTimer(on base: TimeBase) {
        lock.assertHeld()
        guard !clock.isVirtual else { return }
        do {
            switch base {
            case .suspending: break
            case .continuous:
                if timerFDs.continuous == nil {
                    timerFDs.continuous = try makeTimer(.continuous, ReadyList.continuousTimers)
                }
            case .wallClock:
                if timerFDs.wallClock == nil {
                    timerFDs.wallClock = try makeTimer(.wallClock, ReadyList.wallClockTimers)
                }
            }
        } catch {
            fatalError("RunLoopKit: adding a timer on the \(base) clock: \(error)")
        }
    }

    func makeTimer(_ clock: TimerFD.Clock, _ token: UInt64) throws(LoopError) -> TimerFD {
        let timerFD = try TimerFD(clock)
        for mode in modeStates { try mode.watch(timer: timerFD.descriptor, token: token) }
        return timerFD
    }

    /// The timerfds that exist, with their tokens in an epoll set.
    var watchedTimers: [(descriptor: Descriptor, token: UInt64)] {
        var all: [(Descriptor, UInt64)] = []
        if let descriptor = timerFDs.suspending?.descriptor { all.append((descriptor, ReadyList.timers)) }
        if let descriptor = timerFDs.continuous?.descriptor { all.append((descriptor, ReadyList.continuousTimers)) }
        if let descriptor = timerFDs.wallClock?.descriptor { all.append((descriptor, ReadyList.wallClockTimers)) }
        return all
    }

    /// Reads the clocks that the mode has timers on.
    @inline(never)
    func readOthers(into times: inout ClockTimes, for mode: ModeState) {
        lock.assertHeld()
        guard let others = mode.timers.others else { return }
        if !others.continuous.isEmpty { times.continuous = clock.nanoseconds(.continuous) }
        if !others.wallClock.isEmpty { times.wallClock = clock.nanoseconds(.wallClock) }
        if !others.precise.isEmpty { times.suspending = clock.nanoseconds }
    }

    /// Arms the timerfds for the first timers of the mode on these clocks.
    @inline(never)
    func armOthers(in mode: ModeState) {
        lock.assertHeld()
        if let wakeUp = mode.timers.others?.continuous.wakeUpTime,
            timerFDs.continuous?.arm(at: wakeUp) ?? false
        {
            Tally.count(tally.timerArms)
        }
        while let wakeUp = mode.timers.others?.wallClock.wakeUpTime,
            timerFDs.wallClock?.arm(at: wakeUp) ?? false
        {
            Tally.count(tally.timerArms)
            // Another timer may be the first after this.
            if timerFDs.wallClock?.wasClockSet ?? false { wallClockWasSet() }
        }
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
