import Synchronization

extension Loop {
    /// For how long the loop looks for work before its thread goes to sleep, each time; zero by default. From any
    /// thread; the next sleep obeys it. CF: none.
    ///
    /// A thread that sleeps takes tens of microseconds to wake up on another CPU. A loop that spins finds a post, a
    /// signal, a message or a job within a microsecond, and the sender makes no system call. In return its thread uses
    /// a whole CPU for this long before each sleep. Some 50 µs are enough for threads that answer each other.
    ///
    /// - *Only while it pays:* after a few spins that found nothing, the loop spins before one of 32 sleeps, later of
    ///   up to 1,024, until a spin finds something again.
    /// - *Never* if the program's threads have only one CPU, in virtual time, or while it is hosted, since the host
    ///   sleeps.
    /// - *Descriptors and timers:* a descriptor that becomes ready ends a spin within a few microseconds. A timer that
    ///   another thread adds during a spin may fire late by the rest of it.
    /// - *Limits:* negative durations count as zero, those of more than a second as one second.
    /// - *To observers,* ``isWaiting`` and the run's limits, a spin is part of the sleep.
    public var spinDuration: Duration {
        get { .nanoseconds(spinNanoseconds.load(ordering: .relaxed)) }
        set {
            let nanoseconds = min(max(newValue, .zero), .seconds(1)).wholeNanoseconds
            // Relaxed: it publishes nothing.
            spinNanoseconds.store(nanoseconds, ordering: .relaxed)
        }
    }

    /// Looks for work until there is some, or the time to spin, or to sleep, is over. The loop counts as awake, so
    /// senders only leave their notes. It goes to sleep afterwards only if there is none.
    @inline(never)
    func spin(in run: Run) {
        assertOnOwnThread()
        guard !clock.isVirtual, own.spinHistory.shouldSpin() else { return }
        Tally.count(tally.spins)
        let spinEnd = clock.nanoseconds.addingSaturating(spinNanoseconds.load(ordering: .relaxed))
        let end = min(spinEnd, lock.withLock { endOfSleep(in: run) })
        repeat {
            for _ in 0..<32 {
                if waker.hasNote { return own.spinHistory.spinPaid() }
                System.relax()
            }
            if System.isReadable(run.mode.pollDescriptor) { return own.spinHistory.spinPaid() }
        } while clock.nanoseconds < end
        // A spin that a timer has cut short says nothing about senders.
        if end == spinEnd { own.spinHistory.spinFailed() }
    }

    /// When a sleep would end by itself, on the loop's own clock: early enough for a precise timer.
    func endOfSleep(in run: Run) -> Int64 {
        lock.assertHeld()
        let end = min(nextSleep(in: run).deadline, earliestWakeUp(in: run.mode))
        guard let precise = run.mode.timers.others?.precise.earliestDeadline else { return end }
        return min(end, precise - HeadStart.ofPass)
    }
}

/// Whether the last spins of a loop found work, and so whether another one is worth its time.
struct SpinHistory {
    /// Rises with each spin that found work, and sinks with each that did not. Without credit the loop spins rarely.
    private var credit = SpinHistory.mostCredit
    /// Sleeps without a spin since the last spin.
    private var skipped = 0
    /// A loop without credit spins before one of this many sleeps.
    private var rareInterval = SpinHistory.leastRareInterval
    /// Spins until the loop looks again at how many CPUs there are, which takes two system calls.
    private var spinsUntilCheck = 0

    private static let mostCredit = 8
    private static let priceOfFailure = 4
    private static let leastRareInterval = 32
    private static let mostRareInterval = 1024
    private static let checkInterval = 1000

    /// Called before each sleep: whether to spin.
    ///
    /// - Parameter hasSeveralCPUs: On one CPU no other thread can leave a note during a spin.
    mutating func shouldSpin(_ hasSeveralCPUs: @autoclosure () -> Bool = System.hasSeveralCPUs) -> Bool {
        if credit == 0 {
            skipped += 1
            guard skipped >= rareInterval else { return false }
            skipped = 0
            spinsUntilCheck = 0
        }
        if spinsUntilCheck == 0 {
            guard hasSeveralCPUs() else {
                credit = 0
                return false
            }
            spinsUntilCheck = SpinHistory.checkInterval
        }
        spinsUntilCheck -= 1
        return true
    }

    mutating func spinPaid() {
        credit = min(credit + 1, SpinHistory.mostCredit)
        rareInterval = SpinHistory.leastRareInterval
    }

    mutating func spinFailed() {
        if credit == 0 { rareInterval = min(rareInterval * 2, SpinHistory.mostRareInterval) }
        credit = max(credit - SpinHistory.priceOfFailure, 0)
    }
}
