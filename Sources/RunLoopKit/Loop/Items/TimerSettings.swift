extension Loop.Timer {
    /// When the timer fires next. Any thread may set it, any number of times, and it takes effect at once. Nil stops
    /// the timer until another time is set. CF: `CFRunLoopTimerSetNextFireDate`.
    ///
    /// It is nil if the timer is invalid, was stopped, waits to be restarted, or was made with a delay and not yet
    /// added to a loop. When it is set:
    ///
    /// - A time in the past counts as now, or on the wall clock as ``Loop/TimeBase/wallClock`` says.
    /// - The grid of a repeating timer moves with it.
    /// - Before the timer is added, a time replaces its delay, and nil lets a restartable timer wait for its first
    ///   restart.
    /// - Inside the timer's own handler only nil, and a time later than ``Loop/Timer/Firing/scheduledTime``, count. A
    ///   timer that fires once ends nevertheless. For a restartable timer every time counts.
    /// - An invalid timer ignores it.
    public var nextFireTime: Loop.Instant? {
        get {
            itemLock.withLock {
                guard isValid else { return nil }
                switch fireTime {
                case .delay: return nil
                case .asked(let time), .at(let time):
                    return time >= TimerHeap.stopped ? nil : Loop.Instant(nanoseconds: time)
                }
            }
        }
        set {
            let asked = newValue?.nanoseconds ?? TimerHeap.never
            change { clock in
                guard let clock else { return fireTime = .asked(asked) }
                // Stopped: it needs no place among others, and no read of the clock, which is half of the cost.
                if asked == TimerHeap.never { return time = asked }
                fireTime = .at(requested(asked, notBefore: clock.nanoseconds(timeBase)))
            }
            if newValue == nil, waitsAfterCall { wakeLoopIfEmpty() }
        }
    }

    /// How much later than due a call may come, so that one wake-up can serve several timers. Any thread may set it.
    ///
    /// The loop sleeps until the first timer that cannot wait longer, and then fires all that are due. The grid of a
    /// repeating timer does not move with the tolerance. Negative values count as zero; a repeating timer's tolerance
    /// is at most half its interval. CF: `CFRunLoopTimerSetTolerance`, which has no effect on Linux.
    public var tolerance: Duration {
        get { .nanoseconds(itemLock.withLock { toleranceNanoseconds }) }
        set {
            let allowed = Loop.Timer.allowed(newValue, period: period, repeats: repeats)
            change { _ in toleranceNanoseconds = allowed }
        }
    }

    /// Whether the timer is called within a microsecond of being due, and not only when the kernel has woken the thread
    /// (<doc:Timers#How-late-a-timer-is> has figures). False by default. Any thread may set it.
    ///
    /// The loop wakes up before a precise timer is due, and reads the clock until it is: it never fires early. Use it
    /// for a few timers that matter, such as those of audio or of a bus.
    ///
    /// - *Cost:* CPU time at each call, at most 200 µs. It depends on the lateness of this machine's wake-ups, which
    ///   the loop measures as it runs.
    /// - *Late calls:* when the kernel takes longer, or when the loop is busy. A real-time scheduling policy
    ///   (``LoopThread/Options``) makes the kernel faster.
    /// - *Meanwhile* the loop serves a post, a signal or a message, except in the last 10 µs. A descriptor or a port
    ///   waits for the timer's call, and so does an ordinary timer that is due then. So do other threads if there is
    ///   only one CPU for them.
    /// - *Tolerance* has no effect on a precise timer.
    /// - *No effect:* in a hosted loop, whose host sleeps; in virtual time, in which no call is late; and on another
    ///   clock than ``Loop/TimeBase/suspending``.
    ///
    /// CF: none.
    public var isPrecise: Bool {
        get { itemLock.withLock { isKeptPrecise } }
        set { setPrecise(newValue) }
    }

    /// Restarts the timer: it fires its delay from now and, if it repeats, then every interval. From any thread; it
    /// takes effect at once. It makes no system call, unless another thread's loop sleeps, and must now wake earlier.
    ///
    /// - *The delay* is that of the initializer, or the interval of a repeating timer that was made for a time.
    /// - *When:* a timer that fires once can be restarted until it fires. One made with
    ///   ``init(restartableAfter:tolerance:timeBase:label:file:line:handler:)`` can be restarted afterwards, and inside
    ///   its own handler.
    /// - *Modes:* the timer stays in its modes, with one fire time for all, and keeps its tolerance. In no loop, it
    ///   counts from when it is added to one.
    /// - *Wake-ups:* a loop that sleeps until an earlier time wakes once then, and sleeps on. (A hosted loop arms the
    ///   kernel's timer after each pass that has moved its first timer.)
    ///
    /// - Returns: Whether the timer was restarted. False if it is invalid, it fires once and its handler runs, or it
    ///   was made for a time and has no delay.
    @discardableResult
    public func restart() -> Bool { restart(after: itemLock.withLock { delay }) }

    /// Restarts the timer with another delay, which counts this time only. If it is zero or less, the timer is due at
    /// once.
    ///
    /// Inside the handler of a repeating timer the new time must be later than ``Loop/Timer/Firing/scheduledTime``, as
    /// it must for ``nextFireTime``. In real time every call is a little late, so a delay of zero counts there. In
    /// virtual time, where a call is on time, it has no effect.
    ///
    /// - Returns: Whether the timer was restarted. False if it is invalid, or fires once and its handler runs.
    @discardableResult
    public func restart(after delay: Duration) -> Bool { restart(after: max(0, delay.wholeNanoseconds)) }

    private func restart(after delay: Int64?) -> Bool {
        guard let delay else { return false }
        var isRestarted = false
        change { clock in
            if afterCall == .ends, isInHandler { return }
            isRestarted = true
            if let clock { setDelay(delay, on: clock) } else { fireTime = .delay(delay) }
        }
        return isRestarted
    }

    /// Makes the timer fire after a delay, unless it fires earlier anyway. Of several threads' delays the shortest
    /// counts.
    ///
    /// - Parameter changes: Whether that holds for a timer that has left its modes, too: it keeps its time there.
    func shorten(to delay: Int64, evenOutsideOfModes changes: Bool) {
        change { clock in
            if let clock {
                fireTime = .at(min(time, clock.nanoseconds(timeBase).addingSaturating(delay), TimerHeap.stopped))
            } else if case .delay(let current) = fireTime {
                fireTime = .delay(min(current, delay))
            } else if changes {
                fireTime = .delay(delay)
            }
        }
    }

    /// Sets the fire time of a limiter's timer, which is not in the past; nil for none.
    func set(to time: Int64?) {
        change { _ in
            // Stopped: it needs no place among others.
            guard let time else { return self.time = TimerHeap.never }
            fireTime = .at(min(time, TimerHeap.stopped))
        }
    }
}
