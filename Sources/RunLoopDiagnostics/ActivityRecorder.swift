import RunLoopKit
import Synchronization

/// Where a loop's time went. The loop's thread writes; any thread takes snapshots.
final class ActivityRecorder: Sendable {
    typealias Phase = LoopRecorder.Phase

    private static let lastWatch = Atomic<UInt64>(0)

    /// The number of the watch that began with this recorder. Relaxed: it only has to be different from all others.
    private let watch: UInt64

    let passes = HistogramRecorder()
    let lateness = HistogramRecorder()

    /// What the loop does since `accountedUntil`. Stored after `account(until:)`.
    let phase = Atomic<Phase>(.idle)

    private let callouts = Atomic<Int>(0)
    private let stalls = Atomic<Int>(0)
    private let inHandlers = Atomic<Int64>(0)
    private let running = Atomic<Int64>(0)
    private let asleep = Atomic<Int64>(0)
    /// `busy` while the loop's thread changes the times.
    private let accountedUntil: Atomic<Int64>
    private static let busy = Int64.min

    /// The largest sums that a snapshot has shown. The loop's thread may look at the clock, and account for its time
    /// later: a snapshot in between shows more. Relaxed: an atomic's own changes have one order.
    private let shownInHandlers = Atomic<Int64>(0)
    private let shownAwake = Atomic<Int64>(0)

    init(at time: Int64) {
        watch = ActivityRecorder.lastWatch.add(1, ordering: .relaxed).newValue
        accountedUntil = Atomic(time)
    }

    // MARK: On the loop's thread

    var timeAsleep: Int64 { asleep.load(ordering: .relaxed) }

    /// The time of the last event.
    var lastEvent: Int64 { accountedUntil.load(ordering: .relaxed) }

    /// - Parameter asleepBefore: How long the loop had slept until the pass began.
    func countPass(from start: Int64, asleep asleepBefore: Int64, until end: Int64) {
        let asleep = timeAsleep.subtractingSaturating(asleepBefore)
        passes.record(end.subtractingSaturating(start).subtractingSaturating(asleep))
    }

    func countCallout() { Loop.Tally.count(callouts) }

    /// Adds the time since the last event to that of the present phase.
    func account(until time: Int64) {
        let elapsed = time.subtractingSaturating(accountedUntil.load(ordering: .relaxed))
        // Acquire and release keep the changes of the times between the two stores: a thread that reads a changed time
        // (acquire) reads `busy` or a later value afterwards.
        accountedUntil.store(ActivityRecorder.busy, ordering: .relaxed)
        switch phase.load(ordering: .relaxed) {
        case .idle: break
        case .running: ActivityRecorder.add(elapsed, to: running)
        case .asleep: ActivityRecorder.add(elapsed, to: asleep)
        case .handler: ActivityRecorder.add(elapsed, to: inHandlers)
        }
        accountedUntil.store(time, ordering: .releasing)
    }

    private static func add(_ time: Int64, to total: borrowing Atomic<Int64>) {
        total.store(total.load(ordering: .relaxed).addingSaturating(time), ordering: .releasing)
    }

    // MARK: On any thread

    func countStall() { stalls.add(1, ordering: .relaxed) }

    /// - Parameter tries: How often to look for times that belong together.
    func metrics(at time: Int64, _ waiting: WaitingWork, tries: Int = 1000) -> LoopMetrics {
        var times: (inHandlers: Int64, awake: Int64)?
        // The loop's thread is in the few instructions of a change.
        for _ in 0..<tries where times == nil { times = self.times(at: time) }
        let (inHandlers, awake) = show(times ?? accountedTimes)
        return LoopMetrics(
            watch: watch, timeInCallouts: .nanoseconds(inHandlers), timeAwake: .nanoseconds(awake),
            callouts: callouts.load(ordering: .relaxed), stalls: stalls.load(ordering: .relaxed),
            passes: passes.snapshot, timerLateness: lateness.snapshot, waiting: waiting)
    }

    /// The times, but not less than any snapshot has shown.
    private func show(_ times: (inHandlers: Int64, awake: Int64)) -> (inHandlers: Int64, awake: Int64) {
        let inHandlers = shownInHandlers.max(times.inHandlers, ordering: .relaxed).newValue
        // Another thread may have shown its time in handlers, and not yet its time awake.
        return (inHandlers, shownAwake.max(max(times.awake, inHandlers), ordering: .relaxed).newValue)
    }

    /// The times without the present period. They may not belong together.
    private var accountedTimes: (inHandlers: Int64, awake: Int64) {
        let inHandlers = inHandlers.load(ordering: .relaxed)
        return (inHandlers, running.load(ordering: .relaxed).addingSaturating(inHandlers))
    }

    /// Nil if the loop's thread has changed the times meanwhile.
    private func times(at now: Int64) -> (inHandlers: Int64, awake: Int64)? {
        let start = accountedUntil.load(ordering: .acquiring)
        var inHandlers = inHandlers.load(ordering: .acquiring)
        var awake = running.load(ordering: .acquiring).addingSaturating(inHandlers)
        let phase = phase.load(ordering: .acquiring)
        guard start != ActivityRecorder.busy, accountedUntil.load(ordering: .relaxed) == start else { return nil }
        let elapsed = max(0, now.subtractingSaturating(start))
        if phase == .handler { inHandlers = inHandlers.addingSaturating(elapsed) }
        if phase == .handler || phase == .running { awake = awake.addingSaturating(elapsed) }
        return (inHandlers, awake)
    }
}
