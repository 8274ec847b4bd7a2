import RunLoopKit

/// The events that a snapshot lacks.
struct LostEvents {
    let count: Int
    /// How many have happened.
    let total: Int
    /// How many the ring holds.
    let capacity: Int
    /// When the tracer was attached first.
    let since: Loop.Instant

    /// What filled the ring. Nil if the ring was never full: then only events that are being written are lost.
    ///
    /// - Parameters:
    ///   - events: Those that are left.
    ///   - loops: The names of the loops.
    func finding(
        in events: [LoopTrace.Event], of loops: [String], start: Loop.Instant, end: Loop.Instant
    ) -> LoopTrace.Finding? {
        guard count > 0, total > capacity, let busiest = Busiest(in: events) else { return nil }
        let since = min(since, start)
        let share = busiest.handler.map { ", \(busiest.handlerCount) of them calls of \($0) or sends to it" } ?? ""
        return LoopTrace.Finding(
            kind: .lostEvents, handler: busiest.handler ?? LoopTrace.Handler(.observer, "no handler"),
            cause: busiest.handler, loop: busiest.loop, count: count, start: since, end: start,
            text: """
                \(count) of \(total) events were lost, since the ring was too small: what happened before the last \
                \(start.duration(to: end).inWords) of \(since.duration(to: end).inWords) is unknown, and no finding. \
                The loop \(loops[busiest.loop].printable) made \(busiest.eventCount) of the \(events.count) events \
                that are left\(share). \(busiest.detector)\(remedy(loops.count))
                """)
    }

    private func remedy(_ loopCount: Int) -> String {
        var sufficient = capacity
        while sufficient < total { sufficient *= 2 }
        var ways = ["take the snapshot sooner"]
        if loopCount > 1 { ways.insert("trace each loop with a tracer of its own", at: 0) }
        if sufficient <= LoopTracer.maximumCapacity {
            ways.insert("make the tracer with capacity: \(sufficient)", at: 0)
        }
        return "To keep more, \(ways.joined(separator: ", or "))."
    }
}

/// The loop that made most of some events.
private struct Busiest {
    let loop: Int
    let eventCount: Int
    /// The handler with most calls and handovers of that loop, and how many these are.
    let handler: LoopTrace.Handler?
    let handlerCount: Int
    /// A sentence if more than half of the events are those of a ``FeedbackLoopDetector``; otherwise empty.
    let detector: String

    /// Nil if there are no events.
    init?(in events: [LoopTrace.Event]) {
        var counts: [Int: Int] = [:]
        for event in events {
            if let loop = event.loop { counts[loop, default: 0] += 1 }
        }
        guard let most = counts.max(by: { ($0.value, -$0.key) < ($1.value, -$1.key) }) else { return nil }
        (loop, eventCount) = most
        var uses: [LoopTrace.Handler: Int] = [:]
        for event in events where event.loop == most.key {
            switch event.kind {
            case .willCall(let handler, _, _), .handedOver(let handler, _): uses[handler, default: 0] += 1
            default: break
            }
        }
        let detectors = uses.filter { $0.key.isFeedbackLoopDetector }
        // A call returns.
        let ofDetectors = detectors.values.reduce(0, +) * 2
        detector =
            ofDetectors * 2 > eventCount
            ? "\(ofDetectors) of them are calls and returns of the observers of a FeedbackLoopDetector, which every "
                + "pass calls: detach it while you trace. "
            : ""
        let others = uses.filter { !$0.key.isFeedbackLoopDetector }
        let use = (others.isEmpty ? detectors : others).max { ($0.value, $0.key.name) < ($1.value, $1.key.name) }
        (handler, handlerCount) = (use?.key, use?.value ?? 0)
    }
}

extension LoopTrace.Handler {
    /// Whether it is an observer of a `FeedbackLoopDetector`, by the name that this gives it.
    fileprivate var isFeedbackLoopDetector: Bool {
        kind == .observer && name == "observer \"FeedbackLoopDetector\""
    }
}
