import RunLoopKit

extension LoopTrace {
    /// A probable mistake in the program that a trace shows.
    public struct Finding: Sendable {
        /// What is wrong.
        public enum Kind: String, Sendable {
            /// A descriptor is ready pass after pass, and its handler leaves it ready: the loop never sleeps. Found
            /// after 66 such calls, except for datagrams and a pipe that a writer may keep full.
            case spin
            /// A timer has fired late each time, by more than 2 ms beyond its tolerance, and at least 5 times.
            case lateTimer
            /// A handler causes its own next call, again and again: the loop never sleeps. Found after 50 such calls.
            case endless
        }

        /// What is wrong.
        public let kind: Kind
        /// The handler that is late, or keeps the loop from sleeping.
        public let handler: Handler
        /// The handler to change: ``handler``, or, of a timer that is late, what was usually running when it was due.
        /// Nil if nothing was.
        public let cause: Handler?
        /// The loop, as an index into ``LoopTrace/loops``.
        public let loop: Int
        /// How often, in a row.
        public let count: Int
        /// When the first of these calls began.
        public let start: Loop.Instant
        /// When the last of these calls ended.
        public let end: Loop.Instant
        /// What happened, and what would help.
        public let text: String
    }

    /// A descriptor's handler that left it ready so many times in a row is a finding.
    static let wastedCallLimit = 50
    /// A handler that caused its own next call so many times in a row is a finding.
    static let chainLimit = 50
    /// A timer that was late in every one of so many calls is a finding.
    static let lateCallLimit = 5
    /// A timer that fires within this time after its tolerance is not late.
    static let allowedLateness = Duration.milliseconds(2)
}

/// Searches a trace for mistakes.
struct FindingSearch {
    private let spans: [LoopTrace.Span]
    private let arrows: [LoopTrace.Arrow]
    private let uses: [LoopTrace.HandlerUse]
    private let tolerances: [String: Int64]

    init(
        _ events: [LoopTrace.Event], _ spans: [LoopTrace.Span], _ arrows: [LoopTrace.Arrow],
        _ uses: [LoopTrace.HandlerUse], _ tolerances: [String: Int64]
    ) {
        self.spans = spans
        self.arrows = arrows
        self.uses = uses
        self.tolerances = tolerances
    }

    var all: [LoopTrace.Finding] { spins + endless + lateTimers }

    /// Calls of one handler in a row.
    private struct Row {
        let handler: LoopTrace.Handler
        let loop: Int
        let count: Int
        let start: Loop.Instant
        let end: Loop.Instant
    }

    /// The longest row of each handler that has one of at least so many calls.
    ///
    /// - Parameters:
    ///   - numbers: The number of each span in its row. Counted from `first`.
    private func rows(_ numbers: [Int], from first: Int, atLeast limit: Int) -> [Row] {
        uses.compactMap { use in
            let calls = spans.indices.filter { spans[$0].loop == use.loop && spans[$0].handler == use.handler }
            guard let last = calls.max(by: { numbers[$0] < numbers[$1] }), numbers[last] >= limit else { return nil }
            // The row's first call may be lost.
            let start = calls.last { $0 <= last && numbers[$0] == first } ?? calls[0]
            return Row(
                handler: use.handler, loop: use.loop, count: numbers[last], start: spans[start].start,
                end: spans[last].end)
        }
    }

    private func finding(
        _ kind: LoopTrace.Finding.Kind, _ row: Row, cause: LoopTrace.Handler?, _ text: String
    ) -> LoopTrace.Finding {
        LoopTrace.Finding(
            kind: kind, handler: row.handler, cause: cause, loop: row.loop, count: row.count, start: row.start,
            end: row.end, text: text)
    }

    private var spins: [LoopTrace.Finding] {
        rows(spans.map(\.wastedCallsInARow), from: 1, atLeast: LoopTrace.wastedCallLimit).map { row in
            finding(
                .spin, row, cause: row.handler,
                """
                \(row.handler) was ready in \(row.count) passes in a row, and its handler left it ready, so the loop \
                did not sleep. Read until there is no more, invalidate the source at the end of the data, or wait for \
                .write only while there is something to write.
                """)
        }
    }

    private var endless: [LoopTrace.Finding] {
        var chains = Array(repeating: 0, count: spans.count)
        for arrow in arrows {
            guard let sender = arrow.sender, sender < arrow.callout, let handler = spans[sender].handler,
                spans[sender].loop == spans[arrow.callout].loop, handler == spans[arrow.callout].handler,
                handler.kind != .job
            else {
                continue
            }
            chains[arrow.callout] = chains[sender] + 1
        }
        return rows(chains, from: 0, atLeast: LoopTrace.chainLimit).map { row in
            let act =
                switch row.handler.kind {
                case .block: "posted itself"
                case .source0: "signalled itself"
                default: "sent to itself"
                }
            return finding(
                .endless, row, cause: row.handler,
                """
                \(row.handler) \(act) \(row.count) times in a row, so the loop did not sleep. To wait, use a timer; to \
                run once in each pass, use a beforeWaiting observer.
                """)
        }
    }

    private var lateTimers: [LoopTrace.Finding] {
        uses.compactMap { use in
            let tolerance = Duration.nanoseconds(tolerances[use.handler.name] ?? 0)
            guard use.handler.kind == .timer, use.lateness.count >= LoopTrace.lateCallLimit,
                let least = use.lateness.min(), let most = use.lateness.max(),
                least > tolerance + LoopTrace.allowedLateness
            else {
                return nil
            }
            let cause = blame(use)
            let reason = cause.map {
                "Usually \($0) was running when the timer was due: split that work, or move it to another thread."
            }
            let firings = spans.filter { $0.loop == use.loop && $0.handler == use.handler }
            let row = Row(
                handler: use.handler, loop: use.loop, count: use.count, start: firings[0].start,
                end: firings[use.count - 1].end)
            return finding(
                .lateTimer, row, cause: cause,
                """
                \(use.handler) was late in each of its \(use.count) firings, by \(least.inWords) to \(most.inWords). \
                \(reason ?? "No handler of its loop was running when the timer was due.")
                """)
        }
    }

    /// The handler that was running most often when a timer was due.
    private func blame(_ use: LoopTrace.HandlerUse) -> LoopTrace.Handler? {
        var counts: [LoopTrace.Handler: Int] = [:]
        let callouts = spans.filter { $0.loop == use.loop && $0.handler != nil }
        for firing in callouts where firing.handler == use.handler {
            let due = firing.start - firing.lateness
            // The innermost handler at that time: the one that began last.
            let running = callouts.last { $0.start <= due && due < $0.end }
            if let handler = running?.handler { counts[handler, default: 0] += 1 }
        }
        return counts.max { ($0.value, $0.key.name) < ($1.value, $1.key.name) }?.key
    }
}
