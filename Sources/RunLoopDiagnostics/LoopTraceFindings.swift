import RunLoopKit

extension LoopTrace {
    /// A probable mistake in the program that a trace shows.
    public struct Finding: Sendable, CustomStringConvertible {
        /// What is wrong. Later versions may know more: a `switch` needs a `default`.
        public enum Kind: String, Sendable {
            /// A descriptor is ready pass after pass, and its handler leaves it ready: the loop never sleeps. Found
            /// after 66 such calls, except for datagrams and a pipe that a writer may keep full.
            case spin
            /// A timer has fired late each time, by more than 2 ms beyond its tolerance, and at least 5 times. Or at
            /// least 3 times, and in a tenth of its calls, by more than its interval and 10 ms beyond its tolerance,
            /// because its loop called another handler or ran in another mode when it was due.
            case lateTimer
            /// A handler causes its own next call, directly or through others, again and again: the loop never sleeps.
            /// Found after 50 such calls. ``Finding/cycle`` has the handlers of one round.
            ///
            /// A handler causes a call by posting, signalling or sending; and that of a timer, if the timer is due
            /// before the loop can sleep, as one with a delay of zero. What another thread or the kernel has made
            /// ready is input, no part of a cycle. So are a descriptor that a handler of the loop has written to, a
            /// message to a port in which others wait, and a job, since nothing tells the jobs of different tasks
            /// apart.
            case endless
            /// The ring was too small, so the oldest events were overwritten: what they would show is no finding. The
            /// first of ``LoopTrace/findings``. It names the loop that made most of the events that are left.
            case lostEvents
        }

        /// What is wrong.
        public let kind: Kind
        /// The handler that is late, or keeps the loop from sleeping. Of lost events: the one that was called and sent
        /// to most often, by the loop that made most of those that are left. It is an observer of a
        /// ``FeedbackLoopDetector`` only if there is no other handler. If there is none, its name is `no handler`.
        public let handler: Handler
        /// The handler to change: ``handler``, or, of a timer that is late, what was usually running when it was due:
        /// if that was a nested run in a mode in which the timer does not fire, the handler that had begun the run.
        /// Nil if nothing was, and if no handler had begun the run; ``text`` names its mode.
        public let cause: Handler?
        /// Of an endless finding, the handlers of one round in the order of their calls, ``handler`` first: alone if it
        /// causes its next call directly. Otherwise empty.
        public let cycle: [Handler]
        /// The loop, as an index into ``LoopTrace/loops``.
        public let loop: Int
        /// How often in a row; how often a timer was late; how many events were lost.
        public let count: Int
        /// When the first of these calls began; of lost events, when the tracer was attached, so before
        /// ``LoopTrace/start``.
        public let start: Loop.Instant
        /// When the last of these calls ended; of lost events, ``LoopTrace/start``.
        public let end: Loop.Instant
        /// What happened, and what would help: a line.
        public let text: String

        /// The text, as ``LoopTrace/text`` has it, where the loop and the time come before it.
        public var description: String { text }

        init(
            kind: Kind, handler: Handler, cause: Handler?, cycle: [Handler] = [], loop: Int, count: Int,
            start: Loop.Instant, end: Loop.Instant, text: String
        ) {
            (self.kind, self.handler, self.cause, self.cycle, self.loop) = (kind, handler, cause, cycle, loop)
            (self.count, self.start, self.end, self.text) = (count, start, end, text)
        }
    }

    /// A descriptor's handler that left it ready so many times in a row is a finding.
    static let wastedCallLimit = 50
    /// A handler that caused its own next call so many times in a row is a finding.
    static let chainLimit = 50
    /// A timer that was late in every one of so many calls is a finding.
    static let lateCallLimit = 5
    /// A timer that fires within this time after its tolerance is not late.
    static let allowedLateness = Duration.milliseconds(2)
    /// A timer that was late in so many calls, and in a tenth of its calls, by more than its interval is a finding.
    static let missedCallLimit = 3
    /// A timer of a shorter interval has to be late by more than this: the kernel may take the processor from a
    /// handler for some milliseconds.
    static let shortestMissedInterval = Duration.milliseconds(10)
}

/// Searches a trace for mistakes.
struct FindingSearch {
    let spans: [LoopTrace.Span]
    let builder: SpanBuilder
    let uses: [LoopTrace.HandlerUse]
    /// What is known of the items, by their names.
    let names: [String: TraceNames.Entry]

    init(_ builder: SpanBuilder, _ uses: [LoopTrace.HandlerUse], _ names: [String: TraceNames.Entry]) {
        spans = builder.spans
        self.builder = builder
        self.uses = uses
        self.names = names
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
            let longest = use.calls.max { numbers[$0] < numbers[$1] }
            guard let last = longest, numbers[last] >= limit else { return nil }
            // The row's first call may be lost.
            let start = use.calls.last { $0 <= last && numbers[$0] == first } ?? use.calls[0]
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
}
