import RunLoopKit

/// What the watcher knows of one loop. Accessed by the watcher's thread only, except the constants, and what is named.
final class WatchedLoop: @unchecked Sendable {
    let name: String
    let recorder: LoopRecorder
    @LightWeak private(set) var loop: Loop?

    /// The handler that was running when the watcher last looked.
    private var suspect: Suspect?

    /// The last stall that is not reported at all.
    var lostStall: Int?

    /// The last backtrace that got names, with its stall: that of the end is the same. Accessed where the handler is
    /// called.
    private var named: (stall: Int, backtrace: Backtrace)?

    struct Suspect {
        let mark: UInt64
        let since: Int64
        /// Time that does not count: neither the watcher nor, presumably, the handler could run.
        var discount: Int64 = 0
        /// The number of thresholds that have been exceeded and reported.
        var exceeded = 0
        /// The last report; nil before the first.
        var report: StallReport?
    }

    init(_ loop: Loop, name: String, recorder: LoopRecorder) {
        (self.loop, self.name, self.recorder) = (loop, name, recorder)
    }

    /// Whether this is the caller's loop.
    func isOf(_ loop: Loop) -> Bool { _loop.refers(to: loop) }

    /// Whether the loop can stall no more.
    var isOver: Bool { loop?.hasEnded ?? true }

    /// Whether the loop is over, and need not be watched any longer.
    var isGone: Bool { loop?.isOver ?? true }

    /// Looks at the loop.
    ///
    /// - Parameters:
    ///   - blind: The time since the watcher should have looked, before it did.
    ///   - rules: What is reported, and how.
    /// - Returns: What to report, after ``finished(_:lostStalls:_:)``, and when to look again, at the latest.
    func look(at now: Int64, blind: Range<Int64>, _ rules: StallRules) -> (reports: [StallReport], next: Int64) {
        var handler = recorder.runningHandler
        var reports: [StallReport] = []
        // First what has ended, since it may be the suspect, which is none then, or the handler that seemed to run.
        let ended = recorder.takeEnded()
        for stall in ended.stalls {
            report(stall, blind, rules).map { reports.append($0) }
            if suspect?.mark == stall.mark { suspect = nil }
        }
        if let mark = handler?.mark, mark <= ended.last { handler = nil }
        guard let handler, !isOver else {
            if isOver, let suspect, let last = suspect.report {
                reports.append(last.over(at: now, after: now.subtractingSaturating(suspect.since)))
            }
            suspect = nil
            return (reports, now.addingSaturating(rules.thresholds[0]))
        }
        var suspect = suspect?.mark == handler.mark ? suspect! : Suspect(mark: handler.mark, since: handler.since)
        suspect.discount = suspect.discount.addingSaturating(
            blind.overlap(with: handler.since..<max(handler.since, now)))
        let counted = now.subtractingSaturating(handler.since).subtractingSaturating(suspect.discount)
        if let exceeded = rules.thresholds.lastIndex(where: { $0 <= counted }), exceeded >= suspect.exceeded {
            if rules.isTraced() {
                suspect.discount = suspect.discount.addingSaturating(counted)
            } else if let made = makeReport(of: suspect, rules.thresholds[exceeded], counted, rules) {
                suspect.report = made
                suspect.exceeded = exceeded + 1
                reports.append(made)
            }
        }
        self.suspect = suspect
        let isLast = suspect.exceeded == rules.thresholds.count
        // To notice the end, or the threshold that comes next.
        let counts = suspect.since.addingSaturating(suspect.discount)
        let next = isLast ? now : counts.addingSaturating(rules.thresholds[suspect.exceeded])
        return (reports, next > now ? next : now.addingSaturating(rules.thresholds[0]))
    }

    /// A report for the handler, with the names of its backtrace. Reports come here in their order.
    func finished(_ report: StallReport, lostStalls: Int, _ rules: StallRules) -> StallReport {
        guard report.stage != .ended else {
            defer { named = nil }
            let backtrace = named.flatMap { $0.stall == report.number ? $0.backtrace : nil }
            return report.finished(backtrace ?? report.backtrace, lostStalls: lostStalls)
        }
        let backtrace = rules.findNames(report.backtrace)
        named = (report.number, backtrace)
        return report.finished(backtrace, lostStalls: lostStalls)
    }

    /// A report of a stall that lasts; nil if it has just ended.
    private func makeReport(
        of suspect: Suspect, _ threshold: Int64, _ counted: Int64, _ rules: StallRules
    ) -> StallReport? {
        guard let loop else { return nil }
        let found = recorder.whileInHandler(suspect.mark) { handler, thread in
            (handler, thread, loop.waitingWork())
        }
        guard let (handler, thread, waiting) = found else { return nil }
        // The signal may have ended the handler, as it ends a sleep; or have found a later one.
        let sample = rules.takeBacktrace(thread).flatMap { recorder.wasInHandler(suspect.mark, at: $0.time) ? $0 : nil }
        return StallReport(
            number: suspect.report?.number ?? rules.nextNumber(countedFor: recorder),
            stage: .exceeded(.nanoseconds(threshold)), isFirst: suspect.report == nil, loop: name, handler,
            start: suspect.since, end: nil,
            duration: counted, waiting: waiting, backtrace: Backtrace(unnamed: sample?.addresses ?? []))
    }

    /// A report of a stall that has ended; nil if not all of its time counts, and the rest is no stall.
    private func report(_ ended: LoopRecorder.Ended, _ blind: Range<Int64>, _ rules: StallRules) -> StallReport? {
        let known = suspect?.mark == ended.mark ? suspect : nil
        let discount = blind.overlap(with: ended.start..<ended.end).addingSaturating(known?.discount ?? 0)
        let counted = ended.end.subtractingSaturating(ended.start).subtractingSaturating(discount)
        if let last = known?.report { return last.over(at: ended.end, after: counted) }
        guard counted >= rules.thresholds[0], !rules.isTraced() else { return nil }
        return StallReport(
            number: rules.nextNumber(countedFor: recorder), stage: .ended, isFirst: true, loop: name, ended.handler,
            start: ended.start, end: ended.end, duration: counted, waiting: WaitingWork(), backtrace: Backtrace([]))
    }
}

extension StallReport {
    fileprivate init(
        number: Int, stage: Stage, isFirst: Bool, loop: String, _ handler: LoopRecorder.Handler, start: Int64,
        end: Int64?, duration: Int64, waiting: WaitingWork, backtrace: Backtrace
    ) {
        self.init(
            number: number, stage: stage, isFirst: isFirst, loop: loop, kind: handler.callout.kind,
            label: handler.callout.name, activity: handler.callout.activity, mode: handler.mode,
            nesting: handler.nesting,
            start: Loop.Instant(nanoseconds: start), end: end.map { Loop.Instant(nanoseconds: $0) },
            duration: .nanoseconds(duration), waiting: waiting, backtrace: backtrace, lostStalls: 0)
    }

    /// The same stall, when it has ended. It may have ended while the watcher made the last report.
    fileprivate func over(at end: Int64, after duration: Int64) -> StallReport {
        StallReport(
            number: number, stage: .ended, isFirst: false, loop: loop, kind: kind, label: label, activity: activity,
            mode: mode, nesting: nesting, start: start, end: Loop.Instant(nanoseconds: end),
            duration: max(self.duration, .nanoseconds(duration)),
            waiting: waiting, backtrace: backtrace, lostStalls: 0)
    }
}

extension Range<Int64> {
    fileprivate func overlap(with other: Range<Int64>) -> Int64 {
        let (start, end) = (Swift.max(lowerBound, other.lowerBound), Swift.min(upperBound, other.upperBound))
        return Swift.max(0, end.subtractingSaturating(start))
    }
}
