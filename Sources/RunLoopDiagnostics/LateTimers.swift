import RunLoopKit

extension FindingSearch {
    var lateTimers: [LoopTrace.Finding] {
        guard uses.contains(where: { $0.lateness.contains { $0 > LoopTrace.allowedLateness } }) else { return [] }
        let obstacles = ObstacleSearch(spans)
        return uses.compactMap { use in
            guard use.handler.kind == .timer else { return nil }
            return alwaysLate(use, obstacles) ?? oftenLate(use, obstacles)
        }
    }

    private func tolerance(_ use: LoopTrace.HandlerUse) -> Duration {
        .nanoseconds(names[use.handler.name]?.tolerance ?? 0)
    }

    private func alwaysLate(_ use: LoopTrace.HandlerUse, _ search: ObstacleSearch) -> LoopTrace.Finding? {
        guard use.count >= LoopTrace.lateCallLimit, let least = use.lateness.min(),
            least > tolerance(use) + LoopTrace.allowedLateness
        else {
            return nil
        }
        return finding(
            use, use.calls, search.obstacles(of: use.calls), search, "was late in each of its \(use.count) firings")
    }

    /// A timer that is late by more than its interval misses calls. A machine that is merely slow, or suspended, makes
    /// no finding: only firings count that something in the loop has delayed.
    private func oftenLate(_ use: LoopTrace.HandlerUse, _ search: ObstacleSearch) -> LoopTrace.Finding? {
        let interval = Duration.nanoseconds(names[use.handler.name]?.interval ?? 0)
        let limit = tolerance(use) + max(interval, LoopTrace.shortestMissedInterval)
        func isOften(_ count: Int) -> Bool { count >= LoopTrace.missedCallLimit && count * 10 >= use.count }
        guard interval > .zero, isOften(use.lateness.count { $0 > limit }) else { return nil }
        let late = zip(use.calls, search.obstacles(of: use.calls)).filter { spans[$0].lateness > limit && $1 != nil }
        guard isOften(late.count) else { return nil }
        return finding(
            use, late.map(\.0), late.map(\.1), search,
            "was late by more than its interval, \(interval.inWords), in \(late.count) of its \(use.count) firings")
    }

    /// - Parameters:
    ///   - late: The late firings; at least one.
    ///   - obstacles: What was in the way of each.
    private func finding(
        _ use: LoopTrace.HandlerUse, _ late: [Int], _ obstacles: [Obstacle?], _ search: ObstacleSearch,
        _ what: String
    ) -> LoopTrace.Finding {
        let lateness = late.map { spans[$0].lateness }
        let worst = obstacles[lateness.indices.max { lateness[$0] < lateness[$1] }!]
        var counts: [Obstacle: Int] = [:]
        for case let obstacle? in obstacles { counts[obstacle, default: 0] += 1 }
        let usual = counts.max { ($0.value, $0.key.order) < ($1.value, $1.key.order) }?.key
        var reasons = [
            usual.map { "Usually \($0.when) when the timer was due: \($0.remedy)." }
                ?? (search.wasOutsideRuns(late)
                    ? "Its loop was in no run when the timer was due: run it again sooner."
                    : "No handler of its loop was running when the timer was due.")
        ]
        if let worst, worst != usual {
            reasons.append("When the latest firing was due, \(worst.when): \(worst.remedy).")
        }
        return LoopTrace.Finding(
            kind: .lateTimer, handler: use.handler, cause: usual?.handler, loop: use.loop, count: late.count,
            start: spans[late[0]].start, end: spans[late.last!].end,
            text: """
                \(use.handler) \(what), by \(lateness.min()!.inWords) to \(lateness.max()!.inWords). \
                \(reasons.joined(separator: " "))
                """)
    }
}

/// What kept a loop from a timer that was due.
struct Obstacle: Hashable {
    /// The handler that was running, or that had begun the run; nil if no handler had begun it.
    let handler: LoopTrace.Handler?
    /// The mode of a run in which the timer does not fire; nil if a handler kept the loop.
    let mode: String?

    /// What was going on, as the beginning of a sentence that goes on.
    var when: String {
        guard let mode else { return "\(handler!) was running" }
        return "the loop was in a run in mode '\(mode)'" + (handler.map { " that \($0) had begun" } ?? "")
    }

    var remedy: String {
        mode == nil
            ? "split that work, or move it to another thread" : "add the timer to that mode, or leave the mode sooner"
    }

    /// Of two that were in the way equally often, the later one is named.
    var order: String { "\(handler?.name ?? "") \(mode ?? "")" }
}

/// Finds what kept a loop from calling a timer when it was due.
struct ObstacleSearch {
    private let spans: [LoopTrace.Span]
    /// The span around each span on its thread.
    private let outer: [Int?]
    /// The spans of each loop by the time of their beginning.
    private let spansOfLoops: [Int: [Int]]

    init(_ spans: [LoopTrace.Span]) {
        self.spans = spans
        outer = LoopTrace.Span.indicesAround(spans)
        spansOfLoops = Dictionary(grouping: spans.indices) { spans[$0].loop }
    }

    /// What was in the way of each firing of one timer, given as an index.
    func obstacles(of firings: [Int]) -> [Obstacle?] {
        // A run in one of these would have served the timer.
        let modes = Set(firings.compactMap { mode(around: $0) })
        return firings.map { obstacle(of: $0, firingIn: modes) }
    }

    /// Whether most of some firings were due between two runs of the loop, which do not belong to one host.
    func wasOutsideRuns(_ firings: [Int]) -> Bool {
        let outside = firings.count { firing in
            let due = spans[firing].start - spans[firing].lateness
            return mode(around: firing) != nil && path(at: due, in: spans[firing].loop).isEmpty
        }
        return outside * 2 > firings.count
    }

    private func obstacle(of firing: Int, firingIn modes: Set<String>) -> Obstacle? {
        let path = path(at: spans[firing].start - spans[firing].lateness, in: spans[firing].loop)
        var run: (index: Int, mode: String)?
        var inner: Int?
        for index in path {
            defer { inner = index }
            guard case .run(let mode) = spans[index].kind else { continue }
            // A run that goes on may call a handler, when the timer is due, that then fires the timer in a nested run.
            // Otherwise it would have fired the timer itself, in a mode that has it.
            let isOver = spans[index].end <= spans[firing].start
            guard !modes.contains(mode), isOver || inner.map({ spans[$0].end <= spans[firing].start }) ?? true else {
                break
            }
            run = (index, mode)
        }
        guard let run else {
            return path.lazy.compactMap { spans[$0].handler }.first.map { Obstacle(handler: $0, mode: nil) }
        }
        let around = path.drop { $0 != run.index }
        return Obstacle(handler: around.lazy.compactMap { spans[$0].handler }.first, mode: run.mode)
    }

    /// The mode of the run that called a handler; nil if its beginning is lost, and in a hosted pass.
    private func mode(around callout: Int) -> String? {
        var next = outer[callout]
        while let index = next {
            if spans[index].loop == spans[callout].loop, case .run(let mode) = spans[index].kind { return mode }
            next = outer[index]
        }
        return nil
    }

    /// The spans of a loop that lasted at a time, the innermost first.
    private func path(at time: Loop.Instant, in loop: Int) -> [Int] {
        let candidates = spansOfLoops[loop] ?? []
        let begun = candidates.count(until: time) { spans[$0].start }
        var path: [Int] = []
        var next = begun > 0 ? candidates[begun - 1] : nil
        while let index = next {
            if spans[index].loop == loop, time < spans[index].end { path.append(index) }
            next = outer[index]
        }
        return path
    }
}
