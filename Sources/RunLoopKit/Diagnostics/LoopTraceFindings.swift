extension LoopTrace {
    /// Something in a trace that is probably a mistake in the program.
    public struct Finding: Sendable {
        /// What is wrong.
        public enum Kind: String, Sendable {
            /// A descriptor is ready pass after pass, and its handler takes nothing: the loop never sleeps.
            case spin
            /// A timer has fired late each time.
            case lateTimer
            /// A handler causes its own next call, again and again: the loop never sleeps.
            case endless
        }

        /// What is wrong.
        public let kind: Kind
        /// The handler.
        public let handler: Handler
        /// Its loop, as an index into ``LoopTrace/loops``.
        public let loop: Int
        /// How often, in a row.
        public let count: Int
        /// A sentence or two: what happened, and what would help.
        public let text: String
    }

    /// A descriptor's handler that took nothing so many times in a row is a finding.
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

    /// The greatest of the calls' numbers, for each handler of a loop.
    private func worst(_ numbers: [Int]) -> [(use: LoopTrace.HandlerUse, number: Int)] {
        struct Key: Hashable {
            let handler: LoopTrace.Handler
            let loop: Int
        }
        var worst: [Key: Int] = [:]
        for (span, number) in zip(spans, numbers) {
            guard let handler = span.handler, number > 0 else { continue }
            worst[Key(handler: handler, loop: span.loop), default: 0].raise(to: number)
        }
        return uses.compactMap { use in
            worst[Key(handler: use.handler, loop: use.loop)].map { (use, $0) }
        }
    }

    private var spins: [LoopTrace.Finding] {
        worst(spans.map(\.wastedCallsInARow)).filter { $0.number >= LoopTrace.wastedCallLimit }.map { use, number in
            LoopTrace.Finding(
                kind: .spin, handler: use.handler, loop: use.loop, count: number,
                text: """
                    \(use.handler) keeps its loop from sleeping: it was ready in \(number) passes in a row, and its \
                    handler took nothing. Read until there is no more, invalidate the source at the end of the data, \
                    or wait for .write only while there is something to write.
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
        return worst(chains).filter { $0.number >= LoopTrace.chainLimit }.map { use, number in
            let act =
                switch use.handler.kind {
                case .block: "posts itself"
                case .source0: "signals itself"
                default: "sends to itself"
                }
            return LoopTrace.Finding(
                kind: .endless, handler: use.handler, loop: use.loop, count: number,
                text: """
                    \(use.handler) \(act) each time it runs, \(number) times in a row: its loop never sleeps. Use a \
                    timer to wait, or an observer of beforeWaiting to run once in each pass.
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
            let reason = blame(use).map {
                "Usually \($0) was still running when the timer was due: split that work, or move it to another thread."
            }
            return LoopTrace.Finding(
                kind: .lateTimer, handler: use.handler, loop: use.loop, count: use.lateness.count,
                text: """
                    \(use.handler) is always late: in each of \(use.lateness.count) firings, by \(least.inWords) to \
                    \(most.inWords). \(reason ?? "No handler of its loop was running when the timer was due.")
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

extension Int {
    fileprivate mutating func raise(to other: Int) { self = Swift.max(self, other) }
}
