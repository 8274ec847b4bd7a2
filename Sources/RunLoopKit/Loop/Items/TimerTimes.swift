// When a timer fires: what it stores, and what the heaps of its modes see. All properties here are read with the item's
// lock held, except where stated.

extension Loop.Timer {
    /// What the timer knows of its fire time.
    enum FireTime {
        /// Not set yet: this long after the timer is added to a loop.
        case delay(Int64)
        /// Requested while the timer was in no loop. A past time counts as the time of the request.
        case asked(Int64)
        /// On the clock of the loop that it is, or was, in.
        case at(Int64)
    }

    /// Stored in `time`, without the case: a delay has turn 0, and a time that was asked for has a `requestTime`. Every
    /// change takes a new turn.
    var fireTime: FireTime {
        get {
            if turn == 0 { return .delay(time) }
            return rare?.requestTime == nil ? .at(time) : .asked(time)
        }
        set {
            if rare?.requestTime != nil { changeRare { $0.requestTime = nil } }
            switch newValue {
            case .delay(let delay): (time, turn) = (delay, 0)
            case .at(let instant): setTime(instant)
            case .asked(let instant):
                changeRare { $0.requestTime = LoopTime.monotonic.nanoseconds(timeBase) }
                (time, turn) = (instant, TurnCounter.nextOutside())
            }
        }
    }

    /// As `fireTime = .at(instant)`, for a timer without a request time. Takes a new turn.
    @inline(__always)
    private func setTime(_ instant: Int64) { (time, turn) = (instant, nextTurnWhileLocked()) }

    var toleranceNanoseconds: Int64 {
        get { rare?.tolerance ?? 0 }
        set { if newValue != toleranceNanoseconds { changeRare { $0.tolerance = newValue } } }
    }

    static func allowed(_ tolerance: Duration, period: Int64, repeats: Bool) -> Int64 {
        guard tolerance.attoseconds > 0 else { return 0 }
        return repeats ? min(tolerance.wholeNanoseconds, period / 2) : tolerance.wholeNanoseconds
    }

    /// Grid instants skipped since the last call.
    var missed: Int {
        get { rare?.missed ?? 0 }
        set {
            if let rare { rare.missed = newValue } else if newValue != 0 { changeRare { $0.missed = newValue } }
        }
    }

    /// How long after the timer is added, or restarted, it fires. Nil for a timer that was made for a time and fires
    /// once.
    var delay: Int64? { rare?.delay ?? (period < 0 ? nil : period) }

    /// With what guards `rareProperties` held.
    private func changeRare(_ body: (Rare) -> Void) {
        changeRareProperties { body(unsafeDowncast($0, to: Rare.self)) }
    }

    /// Fixes the time that a delay means.
    @inline(__always)
    func setDelay(_ delay: Int64, on clock: LoopTime) {
        let base = timeBase
        if base == .wallClock { noteDelayOnWallClock(delay) }
        fireTime = .at(min(clock.nanoseconds(base).addingSaturating(delay), TimerHeap.stopped))
    }

    /// Within an interval the time is one of the grid.
    @inline(never)
    private func noteDelayOnWallClock(_ delay: Int64) { hasFixedTime = repeats && delay > period }

    /// Fixes the time, now that the timer is added to a loop. Reads the clock here: no deadline counts from an older
    /// time.
    @inline(__always)
    func settleTime(on clock: LoopTime) {
        switch fireTime {
        case .delay(let delay): setDelay(delay, on: clock)
        case .asked(let time):
            // A time in the past keeps the turn of its request.
            let request = turn
            let now =
                timeBase == .wallClock
                ? clock.nanoseconds(timeBase) : clock.nanoseconds(settled: rare!.requestTime!, atTurn: request)
            fireTime = .at(requested(time, notBefore: now))
            if time <= now { turn = request }
        case .at:
            // Behind the timers of a mode that have the same time, unless it has a place among them in another mode.
            guard !isInHeap else { return }
            turn = nextTurnWhileLocked()
            if timeBase == .wallClock { returnToGrid(at: clock.nanoseconds(timeBase)) }
        }
    }

    /// The served instant while the handler runs, otherwise the next one. Of a timer that waits to be restarted, always
    /// the next one. Nil if there is none. The lock of the timer's loop is held.
    var servedOrNextTime: Int64? {
        itemLock.withLock { if case .at(let time) = fireTime, time < TimerHeap.stopped { time } else { nil } }
    }
}

// MARK: The wall clock

extension Loop.Timer {
    /// The time that a request means: now for one in the past, or the next instant of a grid on the wall clock.
    func requested(_ time: Int64, notBefore now: Int64) -> Int64 {
        guard timeBase == .wallClock, repeats else { return max(time, now) }
        hasFixedTime = time >= now
        return hasFixedTime ? time : firstOnGrid(through: time, notBefore: now)
    }

    /// The first instant of a grid that is not before `now`.
    private func firstOnGrid(through time: Int64, notBefore now: Int64) -> Int64 {
        let (steps, rest) = (Int128(now) - Int128(time)).quotientAndRemainder(dividingBy: Int128(period))
        // The quotient is rounded towards zero.
        return Int64(clamping: Int128(time) + (steps + (rest > 0 ? 1 : 0)) * Int128(period))
    }

    /// Moves the fire time to the first instant of the grid that is later than `now`, which is before the served one if
    /// the clock was set back meanwhile. The item's lock is held.
    @inline(never)
    func advanceOnWallClock(from scheduled: Int64, now: Int64) {
        hasFixedTime = false
        let next = firstOnGrid(through: scheduled, notBefore: now.addingSaturating(1))
        missed = max(1, Int(clamping: (Int128(next) - Int128(scheduled)) / Int128(period))) - 1
        fireTime = .at(next)
    }

    /// Moves a repeating timer back along its grid if the clock was set back. If the clock was set forward, the timer
    /// may be due, and stays. The lock of the loop is held.
    func returnToGrid(in loop: Loop, at now: Int64) {
        // This also ends a sleep in virtual time that would now end too late.
        _ = changeInHeaps(of: Owner(loop.defaultState)) { _ in returnToGrid(at: now) }
    }

    /// The item's lock is held.
    private func returnToGrid(at now: Int64) {
        // While its handler runs, the timer has no next instant yet: `advanceOnWallClock` finds it.
        guard repeats, !hasFixedTime, !isInHandler, time < TimerHeap.stopped else { return }
        let first = firstOnGrid(through: time, notBefore: now)
        if first < time { fireTime = .at(first) }
    }
}

// MARK: The heaps

extension Loop.Timer: HeapMember {
    @inline(__always)
    var heapTimes: HeapTimes {
        let deadline = deadline
        let latest = deadline >= TimerHeap.stopped ? deadline : deadline.addingSaturating(toleranceNanoseconds)
        return HeapTimes(deadline: deadline, latest: latest, turn: turn)
    }

    private var deadline: Int64 {
        let isFiring = firing.load(ordering: .relaxed)
        if isFiring, !isOfLimiter { return deadlineWhileNotCalled }
        if time == TimerHeap.never, !isFiring, waitsAfterCall { return TimerHeap.idle }
        return min(time, TimerHeap.stopped)
    }

    /// While the handler runs, or there is none.
    private var deadlineWhileNotCalled: Int64 {
        time == TimerHeap.never && waitsAfterCall && !hasHandler ? TimerHeap.idle : TimerHeap.stopped
    }

    var hasOtherSlots: Bool {
        guard let rare else { return false }
        return !rare.otherSlots.isEmpty
    }

    /// The slots in the heaps of further modes. Guarded by the loop's lock; `insert(into:of:)` makes room for them.
    var otherSlots: [ObjectIdentifier: UInt32] {
        get { rare?.otherSlots ?? [:] }
        _modify { yield &rare!.otherSlots }
    }

    /// The heap that contains the timer in a mode that it is in. The lock of the mode's loop is held.
    @inline(__always)
    func heap(in mode: ModeState) -> ModeTimers.Heap {
        switch timeBase {
        case .suspending: isKeptPrecise && !mode.isVirtual ? .precise : .suspending
        case .continuous: mode.isVirtual ? .suspending : .continuous
        case .wallClock: .wallClock
        }
    }
}

// MARK: Changing

extension Loop.Timer {
    /// Changes the timer's times, and its places in the heaps. Does nothing if the timer is invalid. Called without
    /// locks of loops and items.
    ///
    /// - Parameter body: Called with the item's lock held, and that of the loop that the timer is in; with the clock of
    ///   that loop, nil for none.
    @inline(__always)
    func change(_ body: (LoopTime?) -> Void) {
        itemLock.lock()
        guard isValid, isInModeWhileLocked else {
            if isValid { body(nil) }
            return itemLock.unlock()
        }
        // The loop's lock comes first in the lock order, unless it is free, as it nearly always is. In virtual time the
        // loop itself is needed, which must outlive its lock.
        let (isDone, mayBeAsleep) = withFirstModeWhileLocked { mode in
            guard !mode.isVirtual, mode.waker.lock.lockIfFree() else { return (false, false) }
            defer { mode.waker.lock.unlock() }
            body(.monotonic)
            moveInHeaps()
            return (true, mode.waker.mayBeAsleep)
        }
        itemLock.unlock()
        if !isDone {
            changeInHeaps(inNone: { if isValid { body(nil) } }, inThoseOf: { changeInHeaps(of: $0, body) })
        } else if mayBeAsleep {
            changeInHeaps(inNone: {}, inThoseOf: { changeInHeaps(of: $0) { _ in } })
        }
    }

    /// Moves the timer to its places in the heaps. The lock of the loop is held, and perhaps that of the item.
    @inline(__always)
    func moveInHeaps() {
        let times = heapTimes
        // Apart from the usual case: inlined, the loop takes 80 instructions.
        guard isInOneModeWhileLocked else { return moveInHeapsSlowly(times) }
        withFirstModeWhileLocked { $0.timers.update(self, times, in: heap(in: $0)) }
    }

    @inline(never)
    private func moveInHeapsSlowly(_ times: HeapTimes) {
        forEachModeWhileLocked { $0.timers.update(self, times, in: heap(in: $0)) }
    }

    /// Notifies the loop that the timer has moved, in case it sleeps. Its lock is held, and the item's is not.
    private func notify(_ loop: Loop?) { for mode in modesWhileLocked { loop?.timersChanged(in: mode) } }

    /// Makes a change with the locks that guard the heaps the timer is in.
    ///
    /// - Parameters:
    ///   - inNone: Called with the item's lock held, if the timer is in no loop.
    ///   - inThoseOf: Called with the lock of the loop held that the timer was in a moment before; with the mode that
    ///     the timer was in. Returns false if the timer has left that loop.
    @inline(never)
    private func changeInHeaps(inNone: () -> Void, inThoseOf: (Owner) -> Bool) {
        while true {
            let mode = itemLock.withLock { () -> ModeState? in
                if firstModeWhileLocked == nil { inNone() }
                return firstModeWhileLocked
            }
            guard let mode else { return }
            let owner = Owner(mode)
            // The loop outlives the lock: its deinit takes it.
            let isDone = withExtendedLifetime(owner) { owner.waker.lock.withLock { inThoseOf(owner) } }
            if isDone { return }
        }
    }

    /// A loop and its waker. Nil means a loop that is being deallocated and has not emptied its heaps yet.
    fileprivate struct Owner {
        let waker: Waker
        let loop: Loop?
        let clock: LoopTime?

        init(_ mode: ModeState) {
            (waker, loop) = (mode.waker, mode.loop)
            clock = mode.isVirtual ? loop?.clock : .monotonic
        }
    }

    /// Returns false, and does nothing, if the timer is not in that loop. The lock of the loop is held.
    fileprivate func changeInHeaps(of owner: Owner, _ body: (LoopTime?) -> Void) -> Bool {
        itemLock.lock()
        guard firstModeWhileLocked?.waker === owner.waker else {
            itemLock.unlock()
            return false
        }
        if isValid { body(owner.clock) }
        moveInHeaps()
        itemLock.unlock()
        notify(owner.loop)
        return true
    }

    /// Moves the timer between the heaps of ordinary and of precise timers.
    func setPrecise(_ isPrecise: Bool) {
        changeInHeaps(inNone: { isKeptPrecise = isPrecise }, inThoseOf: { setPrecise(isPrecise, of: $0) })
    }

    /// Returns false, and does nothing, if the timer is not in that loop. The lock of the loop is held, so that the
    /// timer stays in its modes.
    private func setPrecise(_ isPrecise: Bool, of owner: Owner) -> Bool {
        guard itemLock.withLock({ firstModeWhileLocked?.waker === owner.waker }) else { return false }
        // A loop that ends has emptied its heaps before its items leave it.
        let modes = modesWhileLocked.filter { $0.timers.remove(self, from: heap(in: $0)) }
        itemLock.withLock { isKeptPrecise = isPrecise }
        for mode in modes { mode.timers.insert(self, heapTimes, in: heap(in: mode)) }
        notify(owner.loop)
        return true
    }
}
