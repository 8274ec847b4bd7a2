// The timerfd of the loop's own clock, made when a sleep first ends in time: many a worker never needs it.

extension Loop {
    /// Makes the timerfd of the loop's own clock. If the process has no descriptor left, sleeps end by the timeout of
    /// `epoll_wait`, which is less exact, until one is free.
    @inline(never)
    func openOwnTimer() {
        lock.assertHeld()
        guard !clock.isVirtual, isOfThisProcess else { return }
        timerFDs.suspending = try? makeTimer(.suspending, ReadyList.timers)
    }

    /// The timeout in milliseconds that ends a sleep at `deadline`, or a little later.
    func timeout(until deadline: Int64) -> Int32 {
        let left = max(0, deadline.subtractingSaturating(clock.nanoseconds))
        return Int32(clamping: left / 1_000_000 + (left % 1_000_000 > 0 ? 1 : 0))
    }
}
