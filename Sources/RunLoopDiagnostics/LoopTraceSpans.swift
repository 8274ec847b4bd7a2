import RunLoopKit

extension LoopTrace {
    /// A stretch of time on a loop's thread. It does not change: a trace is a snapshot. Times are instants on the
    /// tracer's clock, CLOCK_MONOTONIC unless the tracer was made with a `VirtualClock`.
    public struct Span: Sendable, CustomStringConvertible {
        /// What took the time.
        public enum Kind: Sendable {
            /// The loop called a handler.
            case callout(Handler)
            /// The loop slept. The text says what ended the sleep.
            case wait(mode: String, endedBy: String)
            /// The loop ran in a mode.
            case run(mode: String)
        }

        /// What took the time.
        public internal(set) var kind: Kind
        /// The loop, as an index into ``LoopTrace/loops``.
        public let loop: Int
        /// The thread, as an index into ``LoopTrace/threads``.
        public let thread: Int
        /// When it began.
        public let start: Loop.Instant
        /// When it ended; or when its loop was detached, or the trace ended, if that came first.
        public internal(set) var end: Loop.Instant
        /// The number of spans of its thread around it when it began; 0 for an outermost run.
        public let depth: Int
        /// Whether it had not ended at ``end``. Its times are those until then.
        public internal(set) var isOpen = true
        /// The time in it that was not in a span inside it, nor in a rest of a hosted loop: a handler may run the host,
        /// which works or sleeps. The rest ends with the handler, at the latest. All of it for a wait.
        public internal(set) var ownTime: Duration = .zero
        /// How much later than scheduled a timer fired, on the timer's clock; zero for everything else.
        public let lateness: Duration
        /// The number of the handover to ``loop`` that caused a callout; 0 if there is none, or it is not known.
        public let cause: UInt64
        /// In how many calls in a row, this one included, a descriptor's handler has taken nothing; 0 for a call that
        /// has, and for everything else.
        public internal(set) var wastedCallsInARow = 0

        /// How long it took: from ``start`` to ``end``.
        public var duration: Duration { start.duration(to: end) }

        /// The handler, if it is a callout.
        public var handler: Handler? {
            if case .callout(let handler) = kind { handler } else { nil }
        }

        /// What took the time, and how long: `block "load" for 3.0 ms`, with the text's units. If the handler's own
        /// time was shorter, that too.
        public var description: String {
            let what =
                switch kind {
                case .callout(let handler): "\(handler)"
                case .wait(let mode, _): "wait in mode '\(mode)'"
                case .run(let mode): "run in mode '\(mode)'"
                }
            let own = handler != nil && ownTime != duration ? ", \(ownTime.inWords) of it its own" : ""
            return "\(what) for \(duration.inWords)\(isOpen ? " so far" : "")\(own)"
        }

        /// Whether the loop slept.
        public var isWait: Bool {
            if case .wait = kind { true } else { false }
        }

        /// For each span the index of the one around it on its thread; nil for an outermost one.
        static func indicesAround(_ spans: [Span]) -> [Int?] {
            var open: [Int: [Int]] = [:]
            func push(_ index: Int, on stack: inout [Int]) -> Int? {
                stack.removeLast(max(0, stack.count - spans[index].depth))
                defer { stack.append(index) }
                return stack.last
            }
            return spans.indices.map { push($0, on: &open[spans[$0].thread, default: []]) }
        }
    }

    /// What caused a callout: a thread posted a block, signalled a source, sent to a port or enqueued a job.
    public struct Arrow: Sendable {
        /// When.
        public let time: Loop.Instant
        /// The sending thread, as an index into ``LoopTrace/threads``.
        public let thread: Int
        /// The innermost span of the sending thread then, as an index into ``LoopTrace/spans``; nil without one.
        public let sender: Int?
        /// The callout, as an index into ``LoopTrace/spans``.
        public let callout: Int
    }

    /// The time from beforeWaiting to afterWaiting without a wait in it: a host's, if it is long.
    struct HostRest {
        let loop: Int
        let start: Loop.Instant
        let duration: Duration
        /// The number of spans that had begun before its end.
        let end: Int
    }

    /// The callouts that kept their loops busy longest, by their ``Span/ownTime``, the longest first; at most ten.
    ///
    /// There is no threshold: where each call is short, the longest are, too, and no mistake. A ``StallMonitor`` has
    /// one.
    public var longestStalls: [Span] { Array(stallIndices.map { spans[$0] }) }

    /// As indices into `spans`.
    var stallIndices: [Int] {
        let callouts = spans.indices.filter { spans[$0].handler != nil }
        return Array(callouts.sorted { spans[$0].ownTime > spans[$1].ownTime }.prefix(10))
    }
}

/// Finds the spans and the arrows of a trace, in one walk over its events.
struct SpanBuilder {
    private let events: [LoopTrace.Event]
    private let threads: [LoopTrace.Thread]
    private let end: Loop.Instant
    private(set) var spans: [LoopTrace.Span] = []
    private(set) var arrows: [LoopTrace.Arrow] = []
    /// The rests of hosted loops, which have no spans.
    private(set) var hostRests: [LoopTrace.HostRest] = []

    /// The open spans of each thread, innermost last.
    private var open: [[Int]]
    /// The thread that woke each loop last.
    private var wakers: [Int?]
    /// Until when each loop sleeps at the latest.
    private var deadlines: [Loop.Instant?]
    /// The rests of hosted loops, by the span of the handler that runs the host.
    private var rests: [Int: Rest] = [:]
    /// When each loop came to rest, until it waits, or the rest is over.
    private var restStarts: [Loop.Instant?]
    /// The last wait of each loop, until it is known what ended it.
    private var unexplained: [Int?]
    /// The loops that were detached and may have open spans, the first to be detached last.
    private var detached: [(loop: Int, time: Loop.Instant)]

    /// Between two passes of a hosted loop, the host works or sleeps. A handler may run the host of several loops.
    private struct Rest {
        let start: Loop.Instant
        /// That of the span at the start. Observers of the rest have spans of their own in it.
        let ownTime: Duration
        var loops: Set<Int> = []
    }

    init(
        _ events: [LoopTrace.Event], _ threads: [LoopTrace.Thread], _ detachments: [Loop.Instant?], end: Loop.Instant
    ) {
        let loopCount = detachments.count
        self.events = events
        self.threads = threads
        self.end = end
        open = Array(repeating: [], count: threads.count)
        wakers = Array(repeating: nil, count: loopCount)
        deadlines = Array(repeating: nil, count: loopCount)
        unexplained = Array(repeating: nil, count: loopCount)
        restStarts = Array(repeating: nil, count: loopCount)
        detached = detachments.enumerated().compactMap { loop, time in time.map { (loop, $0) } }
            .sorted { $0.time > $1.time }
    }

    mutating func build() {
        var handovers: [LoopTrace.HandoverID: LoopTrace.Arrow] = [:]
        for event in events {
            endDetached(before: event.time)
            guard case .handedOver(_, let number) = event.kind else {
                if let loop = event.loop { take(event, of: loop) }
                continue
            }
            handovers[LoopTrace.HandoverID(loop: event.loop, number: number)] = LoopTrace.Arrow(
                time: event.time, thread: event.thread, sender: open[event.thread].last, callout: 0)
        }
        endDetached(before: nil)
        for thread in open.indices {
            while !open[thread].isEmpty { close(open[thread].count - 1, on: thread, at: end, isOpen: true) }
        }
        for (index, span) in spans.enumerated() where span.cause != 0 {
            let id = LoopTrace.HandoverID(loop: span.loop, number: span.cause)
            guard let found = handovers[id] else { continue }
            arrows.append(
                LoopTrace.Arrow(time: found.time, thread: found.thread, sender: found.sender, callout: index))
        }
    }

    private mutating func take(_ event: LoopTrace.Event, of loop: Int) {
        switch event.kind {
        case .reached(.entry, let mode):
            begin(.run(mode: mode), event, loop)
        case .reached(.exit, _):
            finish(event, loop) { if case .run = $0 { true } else { false } }
        case .reached(let activity, _):
            // No handler has explained the last wait.
            if activity == .beforeTimers { unexplained[loop] = nil }
            if activity == .beforeWaiting {
                restStarts[loop] = event.time
                beginRest(of: loop, event)
            }
            if activity == .afterWaiting {
                if let start = restStarts[loop].take() {
                    let duration = start.duration(to: event.time)
                    hostRests.append(
                        LoopTrace.HostRest(loop: loop, start: start, duration: duration, end: spans.count))
                }
                endRest(of: loop, at: event.time)
            }
        case .willCall(let handler, let cause, let lateness):
            // Observers are called after every wait, whatever ended it.
            if handler.kind != .observer { explain(loop, handler.description) }
            begin(.callout(handler), event, loop, cause, lateness)
        case .didCall(let wasted):
            let index = finish(event, loop) { if case .callout = $0 { true } else { false } }
            if let index { spans[index].wastedCallsInARow = wasted }
        case .willWait(let deadline, let mode):
            (wakers[loop], deadlines[loop], restStarts[loop]) = (nil, deadline, nil)
            begin(.wait(mode: mode, endedBy: ""), event, loop)
        case .didWait(_, let wasWoken):
            unexplained[loop] = finish(event, loop) { if case .wait = $0 { true } else { false } }
            if wasWoken {
                explain(loop, "a wake-up" + (wakers[loop].map { " by \(threads[$0].name)" } ?? ""))
            } else if let index = unexplained[loop] {
                // The next callout tells more.
                let isOver = deadlines[loop].map { $0 <= event.time } ?? false
                spans[index].kind = .wait(mode: mode(of: index), endedBy: isOver ? "its limit" : "readiness")
            }
        case .woke:
            wakers[loop] = event.thread
        case .handedOver, .queueLengths: break
        }
    }

    /// The loop comes to rest. In a run it waits, in a span of its own.
    private mutating func beginRest(of loop: Int, _ event: LoopTrace.Event) {
        // The end of the one before may be lost.
        endRest(of: loop, at: event.time)
        guard let index = open[event.thread].last, spans[index].handler != nil else { return }
        rests[index, default: Rest(start: event.time, ownTime: spans[index].ownTime)].loops.insert(loop)
    }

    private mutating func endRest(of loop: Int, at time: Loop.Instant) {
        guard let index = rests.first(where: { $0.value.loops.contains(loop) })?.key else { return }
        rests[index]!.loops.remove(loop)
        if rests[index]!.loops.isEmpty { endRest(in: index, at: time) }
    }

    /// The rest of all loops that a handler serves.
    private mutating func endRest(in index: Int, at time: Loop.Instant) {
        guard let rest = rests.removeValue(forKey: index) else { return }
        // A span that goes on inside takes its whole time.
        let inner = open[spans[index].thread].drop { $0 != index }.dropFirst().first
        spans[index].ownTime = rest.ownTime - rest.start.duration(to: inner.map { spans[$0].start } ?? time)
    }

    private mutating func explain(_ loop: Int, _ reason: String) {
        guard let index = unexplained[loop] else { return }
        unexplained[loop] = nil
        spans[index].kind = .wait(mode: mode(of: index), endedBy: reason)
    }

    private func mode(of index: Int) -> String {
        switch spans[index].kind {
        case .wait(let mode, _), .run(let mode): mode
        case .callout: ""
        }
    }

    private mutating func begin(
        _ kind: LoopTrace.Span.Kind, _ event: LoopTrace.Event, _ loop: Int, _ cause: UInt64 = 0,
        _ lateness: Duration = .zero
    ) {
        spans.append(
            LoopTrace.Span(
                kind: kind, loop: loop, thread: event.thread, start: event.time, end: end,
                depth: open[event.thread].last.map { spans[$0].depth + 1 } ?? 0, lateness: lateness, cause: cause))
        open[event.thread].append(spans.count - 1)
    }

    /// Ends the innermost span of a kind, and what is open inside it: its end is lost, or its thread exited there.
    @discardableResult
    private mutating func finish(
        _ event: LoopTrace.Event, _ loop: Int, _ isMeant: (LoopTrace.Span.Kind) -> Bool
    ) -> Int? {
        let thread = event.thread
        guard let index = open[thread].last(where: { spans[$0].loop == loop && isMeant(spans[$0].kind) }) else {
            return nil  // Its beginning is lost.
        }
        while let innermost = open[thread].last {
            close(open[thread].count - 1, on: thread, at: event.time, isOpen: false)
            if innermost == index { break }
        }
        return index
    }

    /// Closes what was open in loops that were detached before that time, or at any. What is open inside it, of other
    /// loops, goes on: the run of a guest lies around what its host does.
    private mutating func endDetached(before time: Loop.Instant?) {
        while let last = detached.last, time.map({ last.time < $0 }) ?? true {
            detached.removeLast()
            endRest(of: last.loop, at: last.time)
            for thread in open.indices {
                for place in open[thread].indices.reversed() where spans[open[thread][place]].loop == last.loop {
                    close(place, on: thread, at: last.time, isOpen: true)
                }
            }
        }
    }

    private mutating func close(_ place: Int, on thread: Int, at time: Loop.Instant, isOpen: Bool) {
        let index = open[thread][place]
        // A handler may return before the next pass of its host ends the rest.
        endRest(in: index, at: time)
        open[thread].remove(at: place)
        spans[index].end = time
        spans[index].isOpen = isOpen
        // The time of a span that goes on inside is still to be taken from the one that is around it then.
        let inner = open[thread].dropFirst(place).first
        let counted = spans[index].start.duration(to: inner.map { spans[$0].start } ?? time)
        spans[index].ownTime += counted
        if place > 0 { spans[open[thread][place - 1]].ownTime -= counted }
    }
}
