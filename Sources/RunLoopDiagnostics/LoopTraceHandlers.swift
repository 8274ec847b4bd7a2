import RunLoopKit

extension LoopTrace {
    /// What a handler has cost in the time that the trace covers. A call that had not ended when the trace was taken
    /// counts, with its time until then.
    public struct HandlerUse: Sendable, CustomStringConvertible {
        /// The handler. Items of the same name count together.
        public let handler: Handler
        /// The loop that called it, as an index into ``LoopTrace/loops``.
        public let loop: Int
        /// The calls in the order of time, as indices into ``LoopTrace/spans``.
        private(set) var calls: [Int] = []
        /// The number of calls, at least 1. Each message of a port is a call; the jobs of the main queue that a pass
        /// runs are one. A limiter's action that runs inside a call of the limiter is part of the handler that made the
        /// call, and is not counted itself.
        public var count: Int { calls.count }
        /// The time in all calls.
        public internal(set) var total: Duration = .zero
        /// The same without the time of handlers, waits and runs inside the calls, which a handler has that runs its
        /// loop nested.
        public internal(set) var ownTime: Duration = .zero
        /// The time in the longest call, from its beginning to its end.
        public internal(set) var worst: Duration = .zero
        /// The longest call, as an index into ``LoopTrace/spans``.
        public internal(set) var worstCall = 0
        /// How late a timer fired, call by call; empty for other handlers.
        public internal(set) var lateness: [Duration] = []

        /// The handler, the number of its calls, and their time.
        public var description: String {
            "\(handler): \(counted(count, "call")), \(total.inWords) in all, \(ownTime.inWords) of its own, "
                + "at most \(worst.inWords)"
        }

        static func all(in spans: [Span]) -> [HandlerUse] {
            var uses: [HandlerUse] = []
            var indices: [Handler.InLoop: Int] = [:]
            for (index, span) in spans.enumerated() {
                guard let handler = span.handler else { continue }
                let key = Handler.InLoop(loop: span.loop, handler: handler)
                let place = indices[key, default: uses.count]
                if place == uses.count {
                    uses.append(HandlerUse(handler: handler, loop: span.loop))
                    indices[key] = place
                }
                uses[place].add(span, at: index)
            }
            return uses.enumerated().sorted { ($1.element.total, $0.offset) < ($0.element.total, $1.offset) }
                .map(\.element)
        }

        private mutating func add(_ span: Span, at index: Int) {
            if calls.isEmpty || span.duration > worst { (worst, worstCall) = (span.duration, index) }
            calls.append(index)
            total += span.duration
            ownTime += span.ownTime
            if handler.kind == .timer { lateness.append(span.lateness) }
        }
    }

    /// How late the timers fired: how many firings were late by less than each limit, and at least the limit before.
    /// The last limit is nil: the rest.
    public var latenessHistogram: [(limit: Duration?, count: Int)] {
        let limits: [Duration?] = [
            .microseconds(10), .microseconds(30), .microseconds(100), .microseconds(300), .milliseconds(1),
            .milliseconds(3), .milliseconds(10), .milliseconds(30), .milliseconds(100), .milliseconds(300), .seconds(1),
            nil,
        ]
        var counts = Array(repeating: 0, count: limits.count)
        for lateness in handlers.flatMap(\.lateness) {
            counts[limits.firstIndex { $0.map { lateness < $0 } ?? true }!] += 1
        }
        return Array(zip(limits, counts))
    }
}
