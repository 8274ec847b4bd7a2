import RunLoopKit

/// What a ``LoopTracer`` has recorded, as values: the events, and what follows from them.
///
/// Made by ``LoopTracer/snapshot()``. To look at it: ``LoopTrace/text`` is for a terminal, ``LoopTrace/html`` for a
/// browser, ``LoopTrace/chromeTrace`` for ui.perfetto.dev and chrome://tracing.
public struct LoopTrace: Sendable, CustomStringConvertible {
    /// A thread that a tracer has seen.
    public struct Thread: Hashable, Sendable {
        /// Its name when it was seen first. The kernel keeps at most 15 bytes.
        public let name: String
        /// The kernel's id of the thread; 0 if it is unknown.
        public let id: Int32

        init(name: String, id: Int32) {
            self.name = name
            self.id = id
        }
    }

    /// What a loop calls: an item, a block, a job, or the main queue.
    public struct Handler: Hashable, Sendable, CustomStringConvertible {
        /// Its kind.
        public let kind: Loop.HandlerKind
        /// The name of an item; a block's label in quotation marks, or its place in parentheses; empty for a job and
        /// the main queue, which have neither.
        public let name: String

        init(_ kind: Loop.HandlerKind, _ name: String) {
            self.kind = kind
            self.name = name
        }

        /// The name of an item, which includes its kind; otherwise the kind and the name.
        public var description: String {
            switch kind {
            case .block: "block \(name)"
            case .job, .mainQueue: kind.inWords
            default: name
            }
        }

        /// A handler and its loop, as an index: two loops may have handlers of one name.
        struct InLoop: Hashable {
            let loop: Int
            let handler: Handler
        }
    }

    /// Identifies a handover, and the callout that it causes: each loop has numbers of its own.
    struct HandoverID: Hashable {
        let loop: Int?
        let number: UInt64
    }

    /// Something that happened on a thread.
    public struct Event: Sendable {
        /// What happened.
        public enum Kind: Sendable {
            /// A pass of the loop reached an activity.
            case reached(Loop.Activity, mode: String)
            /// The loop called a handler. The cause is the number of a handover, 0 if there is none.
            case willCall(Handler, cause: UInt64, lateness: Duration)
            /// The handler that was called last, of those that have not returned, has returned.
            ///
            /// A call is wasted if the handler leaves its descriptor as ready as before. The number is that of such
            /// calls in a row; 0 if this call was not wasted.
            case didCall(wastedCallsInARow: Int)
            /// The loop went to sleep, until a time at the latest.
            case willWait(until: Loop.Instant?, mode: String)
            /// The sleep ended: so many descriptors were ready, and a thread had woken the loop or not.
            case didWait(readyCount: Int, wasWoken: Bool)
            /// The thread woke a sleeping loop.
            case woke
            /// The thread handed work to the loop: it posted a block, signalled a source, sent to a port, or enqueued a
            /// job. (A send to a port that has been sent to since its last call is no such event, nor a message to a
            /// port in which others wait.) It causes the callout of this loop that has this number as its cause. An
            /// item that is in several traced loops makes one such event for each: the first loop that serves the item
            /// calls it.
            case handedOver(Handler, number: UInt64)
            /// So many blocks and jobs waited at the beginning of a pass. Recorded when the numbers change.
            case queueLengths(blocks: Int, jobs: Int)
        }

        /// When, on the tracer's clock.
        public let time: Loop.Instant
        /// The thread, as an index into ``LoopTrace/threads``.
        public let thread: Int
        /// The loop, as an index into ``LoopTrace/loops``.
        public let loop: Int?
        /// What happened.
        public let kind: Kind
    }

    /// The events by time; those of one thread in the order in which they happened.
    public let events: [Event]

    /// The threads that occur in the events.
    public let threads: [Thread]

    /// The names of the loops, in the order in which they were attached.
    public let loops: [String]

    /// The number of events that were overwritten or dropped.
    public let lostEventCount: Int

    /// When the first event happened.
    public let start: Loop.Instant

    /// When the trace was taken; or when the last loop was detached, if all are.
    public let end: Loop.Instant

    /// The callouts, waits and runs, by the time of their beginning. A hosted loop has no waits, since its host sleeps:
    /// the activities `Loop.Activity.beforeWaiting` and `Loop.Activity.afterWaiting` of ``events`` enclose a rest.
    public let spans: [Span]

    /// What caused callouts.
    public let arrows: [Arrow]

    /// The handlers, the one with the most time first.
    public let handlers: [HandlerUse]

    /// Probable mistakes in the program; before them, if the ring was too small, what filled it.
    ///
    /// A handler that merely takes long is none, only the ``Finding/cause`` of another: see ``longestStalls`` and
    /// ``handlers``, or a ``StallMonitor``, which has a threshold, a backtrace and ``StallMonitor/metrics(of:)``.
    public let findings: [Finding]

    /// - Parameters:
    ///   - detachments: When each of the loops was detached; nil while it is attached.
    ///   - names: What is known of the items, by their names.
    init(
        events: [Event], threads: [Thread], loops: [String], detachments: [Loop.Instant?], lost: LostEvents,
        end: Loop.Instant, names: [String: TraceNames.Entry]
    ) {
        self.events = events
        self.threads = threads
        self.loops = loops
        lostEventCount = lost.count
        start = events.first?.time ?? end
        self.end = max(end, events.last?.time ?? end)
        var builder = SpanBuilder(events, threads, detachments, end: self.end)
        builder.build()
        spans = builder.spans
        arrows = builder.arrows
        handlers = HandlerUse.all(in: builder.spans)
        let lostEvents = lost.finding(in: events, of: loops, start: start, end: self.end)
        findings =
            [lostEvents].compactMap { $0 } + FindingSearch(builder, handlers, names).all
    }
}

extension Loop.HandlerKind {
    /// For a line of text.
    var inWords: String {
        switch self {
        case .mainQueue: "main queue"
        case .source0: "source"
        case .source1: "port"
        default: "\(self)"
        }
    }
}
