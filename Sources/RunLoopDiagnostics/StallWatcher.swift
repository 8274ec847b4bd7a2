import RunLoopKit

/// Looks at loops, and reports their stalls. `StallMonitor` has a thread that calls `check(at:)`, and another one that
/// calls the handler: to name a backtrace takes longer than many a stall.
final class StallWatcher: @unchecked Sendable {
    /// The number of reports that may wait for the handler before stalls are lost. A stall has all of its reports or
    /// none, so those of the stalls that are known by then may wait besides.
    static let capacity = 256

    private let now: @Sendable () -> Int64
    private let rules: StallRules
    private let later: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let handler: @Sendable (StallReport) -> Void

    private let lock = Lock(.leaf)
    // Guarded by `lock`: the loops, the number of reports that wait for the handler, and that of the stalls without
    // reports that the handler has not learned of.
    private var watched: [WatchedLoop] = []
    private var waiting = 0
    private var lostStalls = 0

    /// When the next look is due; nil before the first. Accessed by the watcher's thread only.
    private var due: Int64?

    /// - Parameter later: Calls its blocks one after the other, in their order.
    init(
        _ rules: StallRules, now: @escaping @Sendable () -> Int64,
        later: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { $0() },
        handler: @escaping @Sendable (StallReport) -> Void
    ) {
        (self.rules, self.now, self.later, self.handler) = (rules, now, later, handler)
    }

    // MARK: From any thread

    /// Returns false if the loop is watched already.
    func watch(_ loop: Loop, name: String) -> Bool {
        if lock.withLock({ isWatched(loop) }) { return false }
        let recorder = LoopRecorder(threshold: rules.thresholds[0], now: now, prepareThread: rules.prepareThread)
        let made = WatchedLoop(loop, name: name, recorder: recorder)
        // Before it is listed: a thread that takes it from the list detaches it.
        loop.attach(recorder)
        let isNew = lock.withLock {
            guard !isWatched(loop) else { return false }
            watched.append(made)
            return true
        }
        if !isNew { loop.detach(recorder) }
        return isNew
    }

    /// The lock is held.
    private func isWatched(_ loop: Loop) -> Bool { watched.contains { $0.isOf(loop) } }

    func unwatch(_ loop: Loop) {
        let removed = lock.withLock { () -> WatchedLoop? in
            guard let index = watched.firstIndex(where: { $0.isOf(loop) }) else { return nil }
            return watched.remove(at: index)
        }
        if let removed { loop.detach(removed.recorder) }
    }

    func unwatchAll() {
        let removed = lock.withLock { () -> [WatchedLoop] in
            defer { watched = [] }
            return watched
        }
        for watched in removed { watched.loop?.detach(watched.recorder) }
    }

    func metrics(of loop: Loop) -> LoopMetrics? {
        let found = lock.withLock { watched.first { $0.isOf(loop) && !$0.isGone } }
        return found?.recorder.activity.metrics(at: now(), loop.waitingWork())
    }

    // MARK: On the watcher's thread

    /// Looks at all loops, and reports. Returns when to look again; nil if no loop is watched.
    ///
    /// Looks at the very moment at which a handler would exceed the next threshold and, since handlers may be called
    /// after this look, once in the time of the first threshold.
    func check(at now: Int64) -> Int64? {
        let all = lock.withLock { watched }
        // Time in which the watcher should have looked and did not run: perhaps the process was stopped.
        let blind = min(due ?? now, now)..<now
        var next = now.addingSaturating(rules.thresholds[0])
        var reports: [(WatchedLoop, StallReport)] = []
        for watched in all {
            let found = watched.look(at: now, blind: blind, rules)
            reports += found.reports.map { (watched, $0) }
            next = min(next, found.next)
        }
        for over in all where over.isGone { remove(over) }
        for (watched, report) in reports { handOver(report, of: watched) }
        guard !all.isEmpty else {
            due = nil
            return nil
        }
        // Time that this look took is no lateness.
        due = max(next, self.now())
        return due
    }

    private func handOver(_ report: StallReport, of watched: WatchedLoop) {
        let isKept = lock.withLock {
            if report.isFirst, waiting >= StallWatcher.capacity {
                watched.lostStall = report.number
                lostStalls += 1
            }
            guard watched.lostStall != report.number else { return false }
            waiting += 1
            return true
        }
        guard isKept else { return }
        later { [self] in
            let lost = lock.withLock {
                waiting -= 1
                defer { lostStalls = 0 }
                return lostStalls
            }
            handler(watched.finished(report, lostStalls: lost, rules))
        }
    }

    private func remove(_ over: WatchedLoop) {
        lock.withLock { watched.removeAll { $0 === over } }
        over.loop?.detach(over.recorder)
    }
}
