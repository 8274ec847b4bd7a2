import RunLoopKit

extension LoopTrace {
    /// ``LoopTrace/text``.
    public var description: String { text }

    /// The trace as text: probable mistakes, the handlers, the longest stalls, how late timers were, and then every
    /// event, a line each. The thread is the subject of its line.
    public var text: String {
        let sections = [
            [heading], findingLines, handlerLines, stallLines, latenessLines, ["What happened:", ""] + eventLines,
        ]
        return sections.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }.joined(separator: "\n\n") + "\n"
    }

    private var heading: String {
        let lost = lostEventCount == 0 ? "" : ", \(lostEventCount) lost"
        return "\(counted(loops.count, "loop")), \(counted(threads.count, "thread")), "
            + "\(counted(events.count, "event"))\(lost), "
            + "\(start.duration(to: end).inWords)"
    }

    private var findingLines: [String] {
        findings.isEmpty
            ? [] : ["Probable mistakes:", ""] + findings.flatMap { ["  \(placeAndTime(of: $0)):", "    \($0.text)"] }
    }

    /// Where a finding was made, and when: `server, from 151.224 ms to 172.912 ms`.
    func placeAndTime(of finding: Finding) -> String {
        let (first, last) = (start.duration(to: finding.start), start.duration(to: finding.end))
        return "\(loops[finding.loop].printable), from \(first.inMilliseconds) ms to \(last.inMilliseconds) ms"
    }

    private var handlerLines: [String] {
        guard !handlers.isEmpty else { return [] }
        let head = "     calls       total         own       worst  handler"
        return ["Handlers, by total time (own: without the handlers, waits and runs inside a call):", "", head]
            + handlers.map { use in
                let times = [use.total, use.ownTime, use.worst].map { $0.inWords.rightAligned(to: 12) }.joined()
                return "\("\(use.count)".rightAligned(to: 10))\(times)  \(use.handler) of \(loops[use.loop].printable)"
            }
    }

    private var stallLines: [String] {
        let stalls = longestStalls
        guard !stalls.isEmpty else { return [] }
        return ["Longest stalls (calls by their own time):", ""]
            + stalls.map { span in
                let time = start.duration(to: span.start).inMilliseconds.rightAligned(to: 12)
                return "\(span.ownTime.inWords.rightAligned(to: 10))  at \(time) ms  "
                    + "\(span.handler!) of \(loops[span.loop].printable)"
            }
    }

    private var latenessLines: [String] {
        let rows = latenessHistogram
        guard let most = rows.map(\.count).max(), most > 0 else { return [] }
        var lines = ["How late timers fired:", ""]
        var before = Duration.zero
        for (limit, count) in rows {
            let label = limit.map { "< \($0.inWords)" } ?? ">= \(before.inWords)"
            let bar = String(repeating: "#", count: (count * 40 + most - 1) / most)
            lines.append("\(label.rightAligned(to: 12))  \("\(count)".rightAligned(to: 6))  \(bar)")
            before = limit ?? before
        }
        return lines
    }

    // MARK: Events

    private var eventLines: [String] {
        let width = threads.map(\.name.count).max() ?? 0
        // What ended the waits, and what the callouts were, is known of the spans, which have the events' order.
        var walk = EventWalk(trace: self)
        return ["          ms  \("thread".padded(to: width))  what"]
            + events.map { event in
                let time = start.duration(to: event.time).inMilliseconds.rightAligned(to: 12)
                let (depth, what) = walk.describe(event)
                let indentation = String(repeating: "| ", count: depth)
                return "\(time)  \(threads[event.thread].name.padded(to: width))  \(indentation)\(what)"
            }
    }

    /// The event without its surroundings.
    func describe(_ event: Event) -> String {
        // A thread and its loop usually have the same name.
        let name = event.loop.map { loops[$0].printable } ?? ""
        let loop = name.isEmpty || name == threads[event.thread].name ? "" : " of \(name)"
        return switch event.kind {
        case .reached(let activity, let mode): "\(activity) in \(mode)\(loop)"
        case .willCall(let handler, _, let lateness):
            "calls \(handler)\(loop)" + (lateness > .zero ? ", \(lateness.inWords) late" : "")
        case .didCall: "returns"
        case .willWait(let time, let mode):
            "sleeps in \(mode)\(loop)" + (time.map { " until \(start.duration(to: $0).inMilliseconds) ms" } ?? "")
        case .didWait: "slept"
        case .woke: "wakes \(name)"
        case .handedOver(let handler, let number): "\(handler.kind.handingOver) \(handler) #\(number)"
        case .queueLengths(let blocks, let jobs):
            "queues\(loop): \(counted(blocks, "block")), \(counted(jobs, "job"))"
        }
    }
}

/// Follows the events of a trace with its spans, as `SpanBuilder` does.
private struct EventWalk {
    let trace: LoopTrace
    /// The spans that are open on each thread, innermost last.
    private var open: [[Int]]
    private var next = 0

    init(trace: LoopTrace) {
        self.trace = trace
        open = Array(repeating: [], count: trace.threads.count)
    }

    /// How deep an event is in spans, and what it was.
    mutating func describe(_ event: LoopTrace.Event) -> (depth: Int, what: String) {
        let text = trace.describe(event)
        removeDetached(on: event.thread, before: event.time)
        switch event.kind {
        case .reached(.entry, _), .willCall, .willWait:
            open[event.thread].append(next)
            next += 1
            return (trace.spans[next - 1].depth, cause(of: next - 1).map { "\(text), caused by \($0)" } ?? text)
        case .reached(.exit, _), .didCall, .didWait:
            guard let span = removeSpan(endedBy: event) else { return (depth(on: event.thread), text) }
            return (span.depth, "\(text)\(end(of: span))")
        default:
            return (depth(on: event.thread), text)
        }
    }

    /// That of what is in the innermost span.
    private func depth(on thread: Int) -> Int { open[thread].last.map { trace.spans[$0].depth + 1 } ?? 0 }

    /// Removes the spans that a detach has ended, which is no event.
    private mutating func removeDetached(on thread: Int, before time: Loop.Instant) {
        open[thread].removeAll { trace.spans[$0].isOpen && trace.spans[$0].end < time }
    }

    /// Removes the span that an event ends, and those inside it. Nil if its beginning is lost.
    private mutating func removeSpan(endedBy event: LoopTrace.Event) -> LoopTrace.Span? {
        let place = open[event.thread].lastIndex {
            trace.spans[$0].loop == event.loop && trace.spans[$0].isEnded(by: event)
        }
        guard let place else { return nil }
        defer { open[event.thread].removeSubrange(place...) }
        return trace.spans[open[event.thread][place]]
    }

    private func cause(of span: Int) -> String? {
        guard trace.spans[span].cause != 0 else { return nil }
        return "#\(trace.spans[span].cause)"
    }

    private func end(of span: LoopTrace.Span) -> String {
        if case .wait(_, let reason) = span.kind { return " \(span.duration.inWords); ended by \(reason)" }
        let waste =
            switch span.wastedCallsInARow {
            case 0: ""
            case 1: "; left its descriptor ready"
            case let count: "; left its descriptor ready, \(count) calls in a row"
            }
        return " after \(span.duration.inWords)\(waste)"
    }
}

extension LoopTrace.Span {
    /// Whether an event of its loop is the end of such a span.
    fileprivate func isEnded(by event: LoopTrace.Event) -> Bool {
        switch (kind, event.kind) {
        case (.run, .reached(.exit, _)), (.callout, .didCall), (.wait, .didWait): true
        default: false
        }
    }
}

extension Loop.HandlerKind {
    /// What a sender does, as the verb of a sentence whose object is the handler.
    var handingOver: String {
        switch self {
        case .block: "posts"
        case .source0: "signals"
        case .job: "enqueues"
        default: "sends to"
        }
    }
}
