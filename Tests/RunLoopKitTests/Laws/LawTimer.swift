import LoopTestSupport

@testable import RunLoopKit

/// The times of a timer, and the laws of them.
extension LawItem {
    var delay: Duration { plan.times?.delay ?? (plan.isDue ? .zero : farAway) }
    var interval: Duration { plan.times?.interval ?? farAway }
    private var isOnGrid: Bool { kind.isTimer && repeats && !isRestartable }

    /// At most half the interval.
    func allowed(_ tolerance: Duration) -> Duration {
        let tolerance = max(.zero, tolerance)
        return isOnGrid ? min(tolerance, interval / 2) : tolerance
    }

    func setTolerance(to wanted: Duration) {
        guard let timer = item as? Loop.Timer else { return }
        isTouched()
        if isValid { tolerance = allowed(wanted) }
        timer.tolerance = wanted
    }

    func checkTolerance() {
        guard let timer = item as? Loop.Timer, isValid else { return }
        player.expect(timer.tolerance == tolerance, "\(self): its tolerance is \(timer.tolerance), not \(tolerance)")
    }

    /// From here on it is called as soon as it is due, or never if it is due again and again.
    func beTimely() {
        guard let timer = item as? Loop.Timer else { return }
        setTolerance(to: .zero)
        if plan.times != nil { timer.nextFireTime = nil }
    }

    // MARK: When it is due

    /// It joins a mode of the loop. A delay counts from the first time. On the wall clock, which may be set, only one
    /// that is longer than the interval gives a time.
    func becomeDue(in loop: LawLoop) {
        guard let timer = item as? Loop.Timer, timer.nextFireTime == nil, touches == 0, !loop.isReal else { return }
        if kind != .wallClockTimer || isOnGrid && delay > interval { due = loop.loop!.now(timer.timeBase) + delay }
    }

    func checkTheTime(of firing: Loop.Timer.Firing) {
        let scheduled = firing.scheduledTime
        player.expect(due == nil || due == scheduled, "\(self): is called for \(scheduled), and was due at \(due!)")
        let sleep = player.innermost?.state.sleep
        sleep?.checkCall(of: self, player)
    }

    /// Its call ends.
    func becomeDue(after firing: Loop.Timer.Firing) {
        guard let last = due, isOnGrid, kind != .wallClockTimer, let loop = player.innermost, !loop.isReal else {
            return due = nil
        }
        let (late, period) = (last.duration(to: loop.loop!.now).wholeNanoseconds, interval.wholeNanoseconds)
        due = last + interval * Int(late / period + 1)
    }

    /// When a run in the mode may call the timer, and when it must, in the time of its loop. Nil if it does not.
    func times(in place: LawProgram.Place, wallClockLead: Duration) -> (due: Loop.Instant, latest: Loop.Instant)? {
        guard let timer = item as? Loop.Timer, isValid, hasHandler, callsInProgress == 0, places.contains(place),
            let time = timer.nextFireTime
        else { return nil }
        let due = kind == .wallClockTimer ? time - wallClockLead : time
        return (due, due + tolerance)
    }
}

/// A sleep of a run in virtual time, and the laws of the timers in its mode.
///
/// The run sleeps until the first timer that cannot wait longer, and not past it. Then it calls all that are due. It
/// calls none while all can wait: so those that can share a wake-up do.
struct LawSleep {
    private let start: Loop.Instant
    /// No step is played meanwhile, or the laws say nothing.
    private let stepsLeft: Int
    private let times: [(item: LawItem, due: Loop.Instant, latest: Loop.Instant)]
    private let latest: Loop.Instant?

    private var callsTimers: Bool?
    private var calls: [(item: LawItem, calls: Int, touches: Int)] = []

    init(of loop: LawLoop, in mode: Loop.Mode, _ player: LawPlayer) {
        let (actual, place) = (loop.loop!, loop.place(mode.name))
        start = actual.now
        stepsLeft = player.stepsLeft
        let lead = start.duration(to: player.clock.now(.wallClock))
        times = player.items.compactMap { item in
            item.times(in: place, wallClockLead: lead).map { (item, $0.due, $0.latest) }
        }
        // Those of limiters and delayed blocks have no tolerance.
        let others = actual.lock.withLock { () -> [Int64] in
            let timers = actual.existingState(for: mode)?.timers.all ?? []
            let others = timers.filter { timer in !player.items.contains { $0.item === timer } }
            return others.map(\.heapTimes.deadline).filter { $0 < TimerHeap.stopped }
        }
        latest = (times.map(\.latest) + others.map { Loop.Instant(nanoseconds: $0) }).min()
    }

    mutating func end(at now: Loop.Instant, _ player: LawPlayer) {
        guard stepsLeft == player.stepsLeft else { return }
        let latest = latest ?? .distantFuture
        player.expect(now <= max(start, latest), "a run sleeps until \(now), and a timer can wait until \(latest) only")
        callsTimers = latest <= now
        // If no time has passed, something else may be ready.
        guard start < now, latest <= now else { return }
        calls = times.filter { $0.due <= now }.map { ($0.item, $0.item.calls, $0.item.touches) }
    }

    /// A timer is called.
    func checkCall(of item: LawItem, _ player: LawPlayer) {
        guard callsTimers == false, stepsLeft == player.stepsLeft else { return }
        player.expect(false, "\(item): is called although each timer can wait")
    }

    /// After the pass.
    func checkThatAllWereCalled(_ player: LawPlayer) {
        for (item, calls, touches) in calls where item.touches == touches {
            player.expect(item.calls > calls, "\(item): is due and not called when its loop has woken up")
        }
    }
}
