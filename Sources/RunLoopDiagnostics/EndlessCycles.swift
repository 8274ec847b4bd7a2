import RunLoopKit

extension FindingSearch {
    var endless: [LoopTrace.Finding] {
        CycleSearch(builder).cycles.map { cycle in
            let (first, last) = (spans[cycle.first], spans[cycle.last])
            let time = first.start.duration(to: last.end).inWords
            return LoopTrace.Finding(
                kind: .endless, handler: cycle.members[0], cause: cycle.members[0], cycle: cycle.members,
                loop: first.loop, count: cycle.count, start: first.start, end: last.end,
                text: cycle.members.count == 1
                    ? itself(cycle.members[0], cycle.count, time) : inTurn(cycle.members, cycle.count, time))
        }
    }

    private func itself(_ handler: LoopTrace.Handler, _ count: Int, _ time: String) -> String {
        let act =
            switch handler.kind {
            case .block: "posted itself"
            case .source0: "signalled itself"
            case .timer: "was due again before the loop could sleep"
            default: "sent to itself"
            }
        let remedy =
            handler.kind == .timer
            ? "Give it a delay or an interval that is longer than its handler takes, or restart it only when there is "
                + "something to do."
            : "To wait, use a timer; to run once in each pass, use a beforeWaiting observer."
        return "\(handler) \(act) \(count) times in a row, in \(time), so the loop did not sleep. \(remedy)"
    }

    private func inTurn(_ members: [LoopTrace.Handler], _ count: Int, _ time: String) -> String {
        let others = members.dropLast().map(\.description).joined(separator: ", ")
        return """
            \(others) and \(members.last!) were called in turn \(count) times in a row, in \(time), so the loop did \
            not sleep: each handler caused the next call, and the last one the first, or it was that of a timer that \
            was due already. Let one of them act only if something has changed; to wait, use a timer.
            """
    }
}

/// Finds handlers that cause their own next call, directly or through others, while their loop does not sleep.
///
/// A callout has at most one cause, which is an earlier callout of its loop:
///
/// | callout | its cause |
/// |---|---|
/// | of what a handler of the loop has handed over | that handler's callout |
/// | of a timer that was due before the loop could sleep | the last callout that had begun when the timer was due |
/// | of an observer | the last callout, if nothing else than callouts with a cause came since the observer's last one |
/// | of anything else | none: it is input |
///
/// The last two leave out observers: every pass calls them, whatever made it. So each callout is at the end of a chain
/// of causes, and a cycle is a chain in which a handler occurs again and again.
struct CycleSearch {
    /// A handler that occurs again and again in a chain.
    struct Cycle {
        /// The handlers of the last round, the one that occurs most often first.
        let members: [LoopTrace.Handler]
        /// How often it caused its own next call.
        let count: Int
        /// Its first callout in the chain, as an index into the spans, and its last one.
        let first: Int
        let last: Int
    }

    /// The most handlers of a round.
    static let longestRound = 64
    /// A wait that is shorter is none: what the handler had handed over was ready.
    static let shortestSleep = Duration.microseconds(50)

    /// What is known of a callout.
    private struct Node {
        /// That of its handler in its loop.
        let id: Int
        /// How often its loop had waited, and had slept.
        let waits: Int
        let sleeps: Int
        /// The index of the callout that caused it.
        var cause: Int?
        /// How often its handler has occurred in the chain before.
        var count = 0
        /// The index of the handler's first callout in the chain, and of the one before this.
        var first: Int
        var previous: Int?
    }

    /// A class, whose array grows in place.
    private final class LoopState {
        var waits = 0
        var sleeps = 0
        /// The callouts, except those of observers.
        var callouts: [Int] = []
        /// The last one that may be a host's.
        var lastRest: LoopTrace.HostRest?
        /// The last callout without a cause.
        var lastInput: Int?
    }

    private let spans: [LoopTrace.Span]
    private let outer: [Int?]
    /// The span that has handed over the work of a callout.
    private let senders: [Int: Int]
    private var nodes: [Node?] = []
    private var states: [Int: LoopState] = [:]
    private var ids: [LoopTrace.Handler.InLoop: Int] = [:]
    /// The last callout of each handler.
    private var lastCallouts: [Int?] = []

    init(_ builder: SpanBuilder) {
        spans = builder.spans
        outer = LoopTrace.Span.indicesAround(spans)
        senders = Dictionary(
            builder.arrows.compactMap { arrow in arrow.sender.map { (arrow.callout, $0) } }, uniquingKeysWith: { $1 })
        nodes.reserveCapacity(spans.count)
        var rests = builder.hostRests[...]
        for index in spans.indices {
            while let rest = rests.first, rest.end <= index {
                rests.removeFirst()
                if rest.duration > CycleSearch.shortestSleep { state(of: rest.loop).lastRest = rest }
            }
            take(index)
        }
    }

    /// One for each set of handlers, that with the most rounds first.
    var cycles: [Cycle] {
        let ends = lastOfLongest.sorted { first, second in
            let (one, other) = (nodes[first]!, nodes[second]!)
            return (-one.count, one.first) < (-other.count, other.first)
        }
        var found: Set<Int> = []
        return ends.compactMap { end in
            let round = lastRound(endingAt: end)
            guard found.isDisjoint(with: round.map { nodes[$0]!.id }) else { return nil }
            found.formUnion(round.map { nodes[$0]!.id })
            return Cycle(
                members: round.map { spans[$0].handler! }, count: nodes[end]!.count, first: nodes[end]!.first, last: end
            )
        }
    }

    /// The callout of each handler at which it had occurred most often, if that is often enough.
    private var lastOfLongest: [Int] {
        var longest: [Int: Int] = [:]
        for (index, node) in nodes.enumerated() {
            guard let node, node.count >= LoopTrace.chainLimit else { continue }
            if let known = longest[node.id], nodes[known]!.count >= node.count { continue }
            longest[node.id] = index
        }
        return Array(longest.values)
    }

    /// The callouts from that of the same handler to the one that caused this.
    private func lastRound(endingAt end: Int) -> [Int] {
        var round: [Int] = []
        var next = end
        repeat {
            next = nodes[next]!.cause!
            round.append(next)
        } while next != nodes[end]!.previous
        return round.reversed()
    }

    private mutating func take(_ index: Int) {
        let span = spans[index]
        let state = state(of: span.loop)
        guard let handler = span.handler else {
            if span.isWait, span.duration > .zero {
                state.waits += 1
                if span.duration > CycleSearch.shortestSleep { state.sleeps += 1 }
            }
            return nodes.append(nil)
        }
        let id = id(LoopTrace.Handler.InLoop(loop: span.loop, handler: handler))
        var node = Node(id: id, waits: state.waits, sleeps: state.sleeps, first: index)
        node.cause = cause(of: index, node, handler, state)
        findPrevious(of: &node)
        nodes.append(node)
        lastCallouts[id] = index
        if handler.kind == .observer { return }
        state.callouts.append(index)
        if node.cause == nil { state.lastInput = index }
    }

    private mutating func state(of loop: Int) -> LoopState {
        if let known = states[loop] { return known }
        let state = LoopState()
        states[loop] = state
        return state
    }

    private mutating func id(_ key: LoopTrace.Handler.InLoop) -> Int {
        if let known = ids[key] { return known }
        ids[key] = lastCallouts.count
        lastCallouts.append(nil)
        return lastCallouts.count - 1
    }

    /// Searches the chain for the same handler.
    private func findPrevious(of node: inout Node) {
        var next = node.cause
        for _ in 0..<CycleSearch.longestRound {
            guard let index = next, let before = nodes[index] else { return }
            if before.id == node.id {
                (node.count, node.first, node.previous) = (before.count + 1, before.first, index)
                return
            }
            next = before.cause
        }
    }

    private func cause(of index: Int, _ node: Node, _ handler: LoopTrace.Handler, _ state: LoopState) -> Int? {
        switch handler.kind {
        case .job, .mainQueue: nil
        case .timer: causeOfTimer(index, node, state)
        case .observer: causeOfObserver(node, state)
        default: sender(index, node)
        }
    }

    private func sender(_ index: Int, _ node: Node) -> Int? {
        guard let sender = senders[index], sender < index, spans[sender].loop == spans[index].loop,
            let before = nodes[sender], before.sleeps == node.sleeps
        else {
            return nil
        }
        return sender
    }

    private func causeOfTimer(_ index: Int, _ node: Node, _ state: LoopState) -> Int? {
        let due = spans[index].start - spans[index].lateness
        let begun = state.callouts.count(until: due) { spans[$0].start }
        guard begun > 0 else { return nil }
        let last = state.callouts[begun - 1]
        guard nodes[last]!.waits == node.waits else { return nil }
        // The loop has not waited, but its host may have, until the timer was due. The trace has the time of the call a
        // little later than the loop, and so the time at which the timer was due.
        if let rest = state.lastRest, rest.end > last, due > rest.start + CycleSearch.shortestSleep { return nil }
        // Or its program, between two runs.
        return outer[index] == outer[last] || due < spans[last].end ? last : nil
    }

    private func causeOfObserver(_ node: Node, _ state: LoopState) -> Int? {
        guard let last = state.callouts.last, nodes[last]!.waits == node.waits, let own = lastCallouts[node.id],
            (state.lastInput ?? -1) < own
        else {
            return nil
        }
        return last
    }
}
