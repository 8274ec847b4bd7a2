extension Loop.Timer {
    /// When the timer fires next; nil if it is invalid, or was made with a delay and not yet added to a loop.
    ///
    /// Any thread may set it, any number of times, and it takes effect at once. A time in the past counts as now, or on
    /// the wall clock as ``Loop/TimeBase/wallClock`` says; nil stops the timer until another time is set. The grid of a
    /// repeating timer moves with it. Inside the timer's own handler only a time later than
    /// ``Loop/Timer/Firing/scheduledTime`` counts, and a timer that fires once ends nevertheless; for a restartable
    /// timer every time counts. Has no effect on an invalid timer. A time that is later than the present one costs a
    /// compare. CF: `CFRunLoopTimerSetNextFireDate`.
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
                fireTime =
                    if let clock {
                        .at(requested(asked, notBefore: clock.nanoseconds(timeBase)))
                    } else {
                        .asked(asked)
                    }
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
        set { changeRarely { toleranceNanoseconds = allowed(newValue) } }
    }

    /// Makes the timer begin anew: it fires its delay from now, and if it repeats, then every interval.
    ///
    /// The delay is that of the initializer, or the interval of a repeating timer that was made for a time. A timer
    /// that has not fired yet is pushed out by this. A timer that fires once can be restarted until it fires; one that
    /// was made with ``init(restartableAfter:tolerance:timeBase:label:file:line:handler:)`` also afterwards, and inside
    /// its own handler. The timer stays in its modes, with one fire time for all, and keeps its tolerance. If it is in
    /// no loop, it counts from when it is added to one.
    ///
    /// From any thread; it takes effect at once. To push a timer out costs a compare: the loop moves the timer in its
    /// order, and arms the kernel's timer, only when the earlier time comes.
    ///
    /// - Returns: Whether the timer was restarted. False if it is invalid, it fires once and its handler runs, or it
    ///   was made for a time and has no delay.
    @discardableResult
    public func restart() -> Bool { restart(after: itemLock.withLock { delay }) }

    /// The same with another delay, which counts this time only. If it is zero or less, the timer fires in the next
    /// pass: inside the handler of a repeating timer it has no effect then.
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
        change { _ in fireTime = .at(time.map { min($0, TimerHeap.stopped) } ?? TimerHeap.never) }
    }
}
