import RunLoopKit

/// Looks at loops, and reports their stalls. `StallMonitor` has a thread that calls `check(at:)`.
final class StallWatcher: @unchecked Sendable {
    private let now: @Sendable () -> Int64
    private let rules: StallRules
    private let handler: @Sendable (StallReport) -> Void

    private let lock = Lock(.leaf)
    /// Guarded by `lock`.
    private var watched: [WatchedLoop] = []

    /// When the next look is due; nil before the first. Accessed by the watcher's thread only.
    private var due: Int64?

    init(
        _ rules: StallRules, now: @escaping @Sendable () -> Int64, handler: @escaping @Sendable (StallReport) -> Void
    ) {
        (self.rules, self.now, self.handler) = (rules, now, handler)
    }

    // MARK: From any thread

    /// Returns false if the loop is watched already.
    func watch(_ loop: Loop, name: String) -> Bool {
        let recorder = LoopRecorder(threshold: rules.thresholds[0], now: now, prepareThread: rules.prepareThread)
        let made = WatchedLoop(loop, name: name, recorder: recorder)
        let isNew = lock.withLock {
            guard !watched.contains(where: { $0.loop === loop }) else { return false }
            watched.append(made)
            return true
        }
        if isNew { loop.attach(made.recorder) }
        return isNew
    }

    func unwatch(_ loop: Loop) {
        let removed = lock.withLock { () -> WatchedLoop? in
            guard let index = watched.firstIndex(where: { $0.loop === loop }) else { return nil }
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
        let found = lock.withLock { watched.first { $0.loop === loop && !$0.isGone } }
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
        for (watched, report) in reports { handler(watched.finished(report)) }
        guard !all.isEmpty else {
            due = nil
            return nil
        }
        // Time that the reports took is no lateness.
        due = max(next, self.now())
        return due
    }

    private func remove(_ over: WatchedLoop) {
        lock.withLock { watched.removeAll { $0 === over } }
        over.loop?.detach(over.recorder)
    }
}
