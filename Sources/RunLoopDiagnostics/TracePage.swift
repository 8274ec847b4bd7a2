import RunLoopKit

extension LoopTrace {
    /// The trace as a page for a browser, in one file that needs nothing else: a timeline to zoom and pan, probable
    /// mistakes, the handlers by total and worst time, the longest stalls, and how late timers were.
    ///
    /// The fragment of its address may choose the order of the handlers: `#sort=calls`, `total`, `own`, `worst` or
    /// `handler`. `#show=TEXT` selects the first bar whose title begins with the text.
    public var html: String {
        // From the last mark to the first: a name in the data may be a mark.
        TracePage.document
            .replacingFirst("/*SCRIPT*/", with: TracePage.tables + TracePage.timeline)
            .replacingFirst("/*DATA*/", with: TracePageData(trace: self).json)
            .replacingFirst("/*STYLE*/", with: TracePage.style)
    }
}

/// The parts of the page: see TracePageDocument.swift and its neighbours.
enum TracePage {}

/// What the page's script reads: the trace as JSON, with numbers for names. Times are nanoseconds since the start.
struct TracePageData {
    private let trace: LoopTrace
    /// The titles of spans and handlers, each once.
    private var titles: [String] = []
    private var numbers: [String: Int] = [:]

    init(trace: LoopTrace) { self.trace = trace }

    var json: String {
        var copy = self
        return copy.made()
    }

    private mutating func made() -> String {
        let spans = list(trace.spans.map { self.span($0) })
        let handlers = list(trace.handlers.map { self.handler($0) })
        let threads = list(trace.trackNames.map(\.quotedForJSON))
        let members = [
            ("duration", "\(trace.start.duration(to: trace.end).wholeNanoseconds)"),
            ("events", "\(trace.events.count)"), ("lost", "\(trace.lostEventCount)"),
            ("loops", list(trace.loops.map(\.quotedForJSON))), ("threads", threads), ("spans", spans),
            ("handlers", handlers), ("arrows", list(trace.arrows.map(arrow))),
            ("stalls", list(trace.stallIndices.map { "\($0)" })), ("lateness", lateness),
            ("findings", list(trace.findings.map(finding))), ("titles", list(titles.map(\.quotedForJSON))),
        ]
        return "{\(members.map { "\"\($0)\":\($1)" }.joined(separator: ",\n"))}"
    }

    private func list(_ elements: [String]) -> String { "[\(elements.joined(separator: ","))]" }

    private func time(_ instant: Loop.Instant) -> String { "\(trace.start.duration(to: instant).wholeNanoseconds)" }

    private mutating func number(of title: String) -> Int {
        if let known = numbers[title] { return known }
        titles.append(title)
        numbers[title] = titles.count - 1
        return titles.count - 1
    }

    private mutating func span(_ span: LoopTrace.Span) -> String {
        var reason = ""
        if case .wait(_, let known) = span.kind { reason = known }
        return list([
            span.category.quotedForJSON, "\(number(of: span.title))", "\(span.thread)", "\(span.loop)",
            time(span.start), time(span.end), "\(span.depth)", "\(span.ownTime.wholeNanoseconds)",
            "\(span.lateness.wholeNanoseconds)", span.isOpen ? "1" : "0", "\(number(of: reason))",
        ])
    }

    private mutating func handler(_ use: LoopTrace.HandlerUse) -> String {
        list([
            "\(use.handler.kind)".quotedForJSON, "\(number(of: use.handler.description))", "\(use.loop)",
            "\(use.count)", "\(use.total.wholeNanoseconds)", "\(use.ownTime.wholeNanoseconds)",
            "\(use.worst.wholeNanoseconds)", "\(use.worstCall)",
        ])
    }

    private func arrow(_ arrow: LoopTrace.Arrow) -> String {
        list([time(arrow.time), "\(arrow.thread)", "\(arrow.sender ?? -1)", "\(arrow.callout)"])
    }

    private var lateness: String {
        var before = Duration.zero
        let rows = trace.latenessHistogram.map { limit, count in
            defer { before = limit ?? before }
            let label = limit.map { "< \($0.inWords)" } ?? "≥ \(before.inWords)"
            return list([label.quotedForJSON, "\(count)"])
        }
        return list(rows)
    }

    private func finding(_ finding: LoopTrace.Finding) -> String {
        let use = trace.handlers.firstIndex { $0.handler == finding.handler && $0.loop == finding.loop }
        let span = use.map { trace.handlers[$0].worstCall } ?? -1
        return list([
            finding.kind.rawValue.quotedForJSON, trace.placeAndTime(of: finding).quotedForJSON,
            finding.text.quotedForJSON, "\(span)",
        ])
    }
}

extension String {
    /// Without Foundation. Returns the string itself if it does not contain `mark`.
    fileprivate func replacingFirst(_ mark: String, with text: String) -> String {
        var index = startIndex
        while index < endIndex {
            if self[index...].hasPrefix(mark) {
                return self[..<index] + text + self[self.index(index, offsetBy: mark.count)...]
            }
            index = self.index(after: index)
        }
        return self
    }
}
