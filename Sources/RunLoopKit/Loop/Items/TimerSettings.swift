extension Loop.Timer {
    /// When the timer fires next; nil if it is invalid, was stopped, waits to be restarted, or was made with a delay
    /// and not yet added to a loop. A time that is set before the timer is added takes the place of its delay. A
    /// restartable timer that is set to nil before it is added waits for its first restart.
    ///
    /// Any thread may set it, any number of times, and it takes effect at once. A time in the past counts as now, or on
    /// the wall clock as ``Loop/TimeBase/wallClock`` says; nil stops the timer until another time is set. The grid of a
    /// repeating timer moves with it. Inside the timer's own handler only nil, and a time later than
    /// ``Loop/Timer/Firing/scheduledTime``, count, and a timer that fires once ends nevertheless; for a restartable
    /// timer every time counts. Has no effect on an invalid timer. CF: `CFRunLoopTimerSetNextFireDate`.
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
        }
    }

    /// How much later than due a call may come, so that one wake-up can serve several timers. The loop sleeps until the
    /// first timer that cannot wait longer, and then fires all that are due. The grid of a repeating timer does not
    /// move with it.
    ///
    /// Negative values count as zero; a repeating timer's tolerance is at most half its interval. Any thread may set
    /// it. CF: `CFRunLoopTimerSetTolerance`, which has no effect on Linux.
    public var tolerance: Duration {
        get { .nanoseconds(itemLock.withLock { toleranceNanoseconds }) }
        set {
            let allowed = Loop.Timer.allowed(newValue, period: period, repeats: repeats)
            change { _ in toleranceNanoseconds = allowed }
        }
    }

    /// Whether the timer is called as soon as it is due, to a microsecond, where others are late by the time that the
    /// kernel needs to wake a thread: some 30 µs or more. False by default.
    ///
    /// The loop wakes up before a precise timer is due, and reads the clock until it is: it never fires early. This
    /// costs CPU time at each call, never more than 200 µs: as much as this machine's wake-ups are late, nearly always,
    /// as the loop learns while it runs. A call is still late when the kernel takes longer, or when the loop is busy.
    /// For a few timers that matter, such as those of audio or of a bus; a thread with a real-time scheduling policy
    /// (``LoopThread/Options``) makes the kernel faster, too.
    ///
    /// Meanwhile a post, a signal or a message is served, except in the last 10 µs; a descriptor or a port waits until
    /// the timer has been called. So do other threads, if there is only one CPU for them.
    ///
    /// The timer's tolerance has no effect. In a hosted loop the host sleeps, and is late as it is for other timers.
    /// The property has no effect in virtual time, in which no call is late, and for a timer on another clock than
    /// ``Loop/TimeBase/suspending``. Any thread may set it. CF: none.
    public var isPrecise: Bool {
        get { itemLock.withLock { isKeptPrecise } }
        set { setPrecise(newValue) }
    }

    /// Makes the timer begin anew: it fires its delay from now, and if it repeats, then every interval.
    ///
    /// The delay is that of the initializer, or the interval of a repeating timer that was made for a time. A timer
    /// that has not fired yet is pushed out by this. A timer that fires once can be restarted until it fires; one that
    /// was made with ``init(restartableAfter:tolerance:timeBase:label:file:line:handler:)`` also afterwards, and inside
    /// its own handler. The timer stays in its modes, with one fire time for all, and keeps its tolerance. If it is in
    /// no loop, it counts from when it is added to one.
    ///
    /// From any thread; it takes effect at once, without a system call: if the loop sleeps until an earlier time, it
    /// wakes once then, and sleeps on. (A hosted loop arms the kernel's timer after each pass that has moved its first
    /// timer.)
    ///
    /// - Returns: Whether the timer was restarted. False if it is invalid, it fires once and its handler runs, or it
    ///   was made for a time and has no delay.
    @discardableResult
    public func restart() -> Bool { restart(after: itemLock.withLock { delay }) }

    /// The same with another delay, which counts this time only. If it is zero or less, the timer is due at
    /// once. Inside the handler of a repeating timer the new time must be later than
    /// ``Loop/Timer/Firing/scheduledTime``, as it must for ``nextFireTime``: in real time every call is a little late,
    /// so a delay of zero counts there; in virtual time, where a call is on time, it has no effect.
    ///
    /// - Returns: Whether the timer was restarted. False if it is invalid, or fires once and its handler runs.
    @discardableResult
    public func restart(after delay: Duration) -> Bool { restart(after: max(0, delay.wholeNanoseconds)) }

    private func restart(after delay: Int64?) -> Bool {
        guard let delay else { return false }
        var isRestarted = false
        change { clock in
            if afterCall == .ends, firing.load(ordering: .relaxed) { return }
            isRestarted = true
            fireTime =
                if let clock {
                    .at(min(clock.nanoseconds(timeBase).addingSaturating(delay), TimerHeap.stopped))
                } else {
                    .delay(delay)
                }
        }
        return isRestarted
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
