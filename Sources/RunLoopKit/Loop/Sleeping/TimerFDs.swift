extension Loop {
    /// The timerfds that wake the loop for its timers. None in virtual time.
    struct TimerFDs: ~Copyable {
        /// Made when the loop first runs; that of a `LoopThread`, when it first sleeps until a time.
        var suspending: TimerFD?
        var early = EarlyTimer()
        // Made when the loop first gets a timer on that clock.
        var continuous: TimerFD?
        var wallClock: TimerFD?
    }
}

extension Loop {
    // All this is called with the lock held.

    // MARK: Making them

    /// Makes the timerfd of the loop's own clock. If the process has no descriptor left, sleeps end by the timeout of
    /// `epoll_wait`, which is less exact, until one is free.
    @inline(never)
    func openOwnTimer() {
        lock.assertHeld()
        guard !clock.isVirtual, isOfThisProcess else { return }
        timerFDs.suspending = try? makeTimer(.suspending, ReadyList.timers)
    }

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

    // MARK: Arming them

    /// Arms the timerfds that end a sleep.
    func arm(for sleep: Sleep, in mode: ModeState) {
        lock.assertHeld()
        lastSleep = sleep
        // A host would see a sleep that ends too early.
        let isArmedEarly = timerFDs.suspending?.armedTime.map { $0 < sleep.deadline } ?? false
        let stays = timerFDs.early.stays(isArmedEarly && own.host == nil)
        if sleep.deadline != TimerHeap.never, !stays { arm(at: sleep.deadline) }
        if mode.timers.others != nil { armOthers(in: mode) }
    }

    /// Makes the kernel wake the loop at `deadline`, if there is a timerfd or one can be made.
    func arm(at deadline: Int64) {
        if timerFDs.suspending == nil { openOwnTimer() }
        if timerFDs.suspending?.arm(at: deadline) ?? false { Tally.count(tally.timerArms) }
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
}
