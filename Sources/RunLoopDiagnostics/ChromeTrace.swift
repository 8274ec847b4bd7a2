import RunLoopKit

extension LoopTrace {
    /// The trace as JSON that ui.perfetto.dev and chrome://tracing open.
    ///
    /// A track for each thread: what its loops call, their waits and their runs, and what the thread hands to others.
    /// An arrow from each post, signal, send or enqueued job to the handler that it caused, except from a message that
    /// was sent to a port in which others waited. Counters for the numbers of posted blocks and of jobs that wait as a
    /// pass begins, in a trace in which there were any, and for the lateness of timers; not for the messages in a port:
    /// see `Loop.MessagePort.waitingCount`.
    ///
    /// The process has its number and the name of its program, so that traces of several can be put together. Names of
    /// more than 500 characters are cut, since each event has one.
    public var chromeTrace: String { ChromeTraceWriter(trace: self).text }
}

/// Writes the Trace Event Format: one JSON object for each event, on a line of its own.
struct ChromeTraceWriter {
    let trace: LoopTrace

    private let process = System.processNumber

    var text: String {
        let events = metadata + spans + sends + arrows + instants + counters
        return """
            {"displayTimeUnit":"ms","otherData":{"lost events":"\(trace.lostEventCount)"},"traceEvents":[
            \(events.joined(separator: ",\n"))
            ]}

            """
    }

    // MARK: Tracks

    private var metadata: [String] {
        [object("M", "process_name", nil, [("args", "{\"name\":\(quoted(System.programName))}")])]
            + trace.trackNames.enumerated().flatMap { index, name in
                [
                    object("M", "thread_name", index, [("args", "{\"name\":\(quoted(name))}")]),
                    object("M", "thread_sort_index", index, [("args", "{\"sort_index\":\(index)}")]),
                ]
            }
    }

    // MARK: Slices

    private var spans: [String] {
        zip(trace.spans, sliceEnds).map { span, end in
            var members = [
                ("cat", span.category.quotedForJSON), ("ts", time(span.start)),
                ("dur", span.start.duration(to: end).inMicroseconds),
            ]
            var arguments = [("loop", quoted(trace.loops[span.loop]))]
            if case .wait(_, let reason) = span.kind { arguments.append(("ended by", quoted(reason))) }
            if span.lateness != .zero { arguments.append(("late", span.lateness.inWords.quotedForJSON)) }
            if span.isOpen { arguments.append(("note", "has not ended".quotedForJSON)) }
            members.append(("args", joined(arguments)))
            return object("X", span.title, span.thread, members)
        }
    }

    /// When each span's slice ends: before one that begins inside the span and outlives it, since the span's loop was
    /// detached. Slices of a track must not overlap.
    private var sliceEnds: [Loop.Instant] {
        var ends = trace.spans.map(\.end)
        let outer = LoopTrace.Span.indicesAround(trace.spans)
        for (index, span) in trace.spans.enumerated() {
            var around = outer[index]
            while let next = around, trace.spans[next].end < span.end {
                ends[next] = min(ends[next], span.start)
                around = outer[next]
            }
        }
        return ends
    }

    /// What a thread hands over while none of its loops calls a handler: an arrow needs a slice to begin in.
    private var sends: [String] {
        trace.arrows.filter { $0.sender == nil }.map { arrow in
            let handler = trace.spans[arrow.callout].handler!
            return object(
                "X", "\(handler.kind.handingOver) \(handler)", arrow.thread,
                [("cat", "\"send\""), ("ts", time(arrow.time)), ("dur", room(after: arrow).inMicroseconds)])
        }
    }

    /// A microsecond, or the time to the next event of the thread: slices of a track must not overlap.
    private func room(after arrow: LoopTrace.Arrow) -> Duration {
        let earlier = trace.events.count(until: arrow.time, \.time)
        let limit = arrow.time + .microseconds(1)
        let next = trace.events[earlier...].prefix { $0.time < limit }.first { $0.thread == arrow.thread }
        return arrow.time.duration(to: next?.time ?? limit)
    }

    // MARK: Arrows

    private var arrows: [String] {
        trace.arrows.enumerated().flatMap { index, arrow in
            let callout = trace.spans[arrow.callout]
            // An arrow does not lead back in time: two threads may have read the clock in another order.
            let begin = min(arrow.time, callout.start)
            let common = [("cat", "\"handover\""), ("id", "\(index + 1)")]
            return [
                object("s", "handover", arrow.thread, common + [("ts", time(begin)), ("bp", "\"e\"")]),
                object("f", "handover", callout.thread, common + [("ts", time(callout.start)), ("bp", "\"e\"")]),
            ]
        }
    }

    // MARK: Moments

    private var instants: [String] {
        trace.events.compactMap { event in
            var (name, arguments) = (trace.describe(event), "{}")
            let category: String
            switch event.kind {
            case .reached(.entry, _), .reached(.exit, _): return nil
            case .reached: category = "activity"
            case .woke: category = "wake-up"
            case .handedOver(let handler, let number):
                category = "handover"
                // A viewer counts events by their names.
                (name, arguments) = ("\(handler.kind.handingOver) \(handler)", "{\"number\":\(number)}")
            default: return nil
            }
            return object(
                "i", name, event.thread,
                [("cat", category.quotedForJSON), ("ts", time(event.time)), ("s", "\"t\""), ("args", arguments)])
        }
    }

    private var counters: [String] {
        let queues = trace.events.compactMap { event -> String? in
            guard case .queueLengths(let blocks, let jobs) = event.kind, let loop = event.loop else { return nil }
            return object(
                "C", "queues of \(trace.loops[loop])", nil,
                [("ts", time(event.time)), ("args", "{\"blocks\":\(blocks),\"jobs\":\(jobs)}")])
        }
        let lateness = trace.spans.compactMap { span -> String? in
            guard span.handler?.kind == .timer else { return nil }
            return object(
                "C", "timer lateness of \(trace.loops[span.loop])", nil,
                [("ts", time(span.start)), ("args", "{\"ms\":\(span.lateness.inMilliseconds)}")])
        }
        return queues + lateness
    }

    // MARK: Writing

    private func time(_ instant: Loop.Instant) -> String { trace.start.duration(to: instant).inMicroseconds }

    private func object(_ phase: String, _ name: String, _ thread: Int?, _ members: [(String, String)]) -> String {
        var all = [
            ("ph", "\"\(phase)\""), ("name", quoted(name)), ("pid", "\(process)"),
        ]
        // Thread 0 is the process's own: counters and its name.
        all.append(("tid", "\(thread.map { $0 + 1 } ?? 0)"))
        return joined(all + members)
    }

    /// A name, which an application may have made as long as a document.
    private func quoted(_ name: String) -> String {
        if name.utf8.count <= 500 { return name.quotedForJSON }
        let start = name.unicodeScalars.prefix(500)
        return (start.endIndex < name.endIndex ? "\(String(start))…" : name).quotedForJSON
    }

    private func joined(_ members: [(String, String)]) -> String {
        "{\(members.map { "\($0.quotedForJSON):\($1)" }.joined(separator: ","))}"
    }
}

extension LoopTrace {
    /// The names of the threads, each with those of the loops that it ran.
    var trackNames: [String] {
        var loopsRun = Array(repeating: Set<Int>(), count: threads.count)
        for span in spans { loopsRun[span.thread].insert(span.loop) }
        return zip(threads, loopsRun).map { thread, run in
            let others = run.sorted().map { loops[$0] }.filter { $0 != thread.name }
            return others.isEmpty ? thread.name : "\(thread.name): \(others.joined(separator: ", "))"
        }
    }
}

extension LoopTrace.Span {
    /// For a bar of a timeline.
    var title: String {
        switch kind {
        case .callout(let handler): handler.description
        case .wait(let mode, _): "wait in \(mode)"
        case .run(let mode): "run in \(mode)"
        }
    }

    var category: String {
        switch kind {
        case .callout(let handler): "\(handler.kind)"
        case .wait: "wait"
        case .run: "run"
        }
    }
}
