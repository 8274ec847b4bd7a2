import RunLoopKit

/// Plays a scenario on the library's own `Throttle` or `Debounce`, on a loop in virtual time.
struct Rehearsal {
    /// The action ran.
    struct Invocation {
        /// In milliseconds.
        let time: Int64
        let argument: Int64
    }

    private let clock = VirtualClock(.manual)
    private let loop: Loop
    private let invocations: LoopBound<[Invocation]>

    /// What a scenario leads to.
    static func invocations(of scenario: Scenario) -> [Invocation] {
        scenario.edges.isEmpty ? EdgelessRehearsal.invocations(of: scenario) : Rehearsal().play(scenario)
    }

    /// A loop and a clock of its own for every scenario, which all begin at zero.
    private init() {
        loop = Loop(clock: clock)
        invocations = LoopBound([], on: loop)
    }

    private func play(_ scenario: Scenario) -> [Invocation] {
        defer { loop.end() }
        let action: @Sendable (Int64) -> Void = { [invocations, clock] argument in
            invocations.value.append(Invocation(time: clock.now.nanoseconds / 1_000_000, argument: argument))
        }
        let wait = Duration.milliseconds(scenario.wait)
        switch scenario.kind {
        case .throttle:
            let limiter = Throttle(interval: wait, edges: scenario.edges, on: loop, action: action)
            play(
                scenario, call: { limiter($0) }, flush: { limiter.flush() }, cancel: limiter.cancel,
                isPending: { limiter.isPending })
        case .debounce:
            let limiter = Debounce(
                interval: wait, edges: scenario.edges, maxWait: scenario.maxWait.map { .milliseconds($0) }, on: loop,
                action: action)
            play(
                scenario, call: { limiter($0) }, flush: { limiter.flush() }, cancel: limiter.cancel,
                isPending: { limiter.isPending })
        }
        return invocations.value
    }

    private func play(
        _ scenario: Scenario, call: (Int64) -> Void, flush: () -> Void, cancel: () -> Void, isPending: () -> Bool
    ) {
        for operation in scenario.operations {
            // Timers that are due then fire first.
            let time = Loop.Instant(nanoseconds: operation.time * 1_000_000)
            clock.advance(by: clock.now.duration(to: time))
            switch operation.event {
            case .call(let argument): call(argument)
            case .flush: flush()
            case .cancel: cancel()
            }
            // Without an interval the timer is due at once, and its limiter moves one that has just fired to the next
            // nanosecond. Operations at one instant are kept that far apart: the recorded answers give each its action.
            if scenario.wait == 0 { clock.advance(by: .nanoseconds(1)) }
        }
        while isPending() { clock.advance(by: .milliseconds(max(1, scenario.wait))) }
    }
}

/// Plays a scenario without edges by the rules alone: `Throttle` and `Debounce` promise never to act then, where lodash,
/// whose answers were recorded, does in one case.
private struct EdgelessRehearsal {
    private var state: RateLimitState

    static func invocations(of scenario: Scenario) -> [Rehearsal.Invocation] {
        var rehearsal = EdgelessRehearsal(scenario)
        return scenario.operations.compactMap { operation in
            rehearsal.runTimer(until: operation.time)
            guard rehearsal.acts(on: operation) else { return nil }
            guard case .call(let argument) = operation.event else { return nil }
            return Rehearsal.Invocation(time: operation.time, argument: argument)
        }
    }

    private init(_ scenario: Scenario) {
        let kind: RateLimitState.Kind = scenario.kind == .throttle ? .throttle : .debounce(maxWait: scenario.maxWait)
        state = RateLimitState(kind, interval: scenario.wait, edges: scenario.edges)
    }

    private mutating func acts(on operation: Scenario.Operation) -> Bool {
        switch operation.event {
        case .call: return state.call(at: operation.time)
        case .flush: return state.flush(at: operation.time)
        case .cancel:
            state.cancel()
            return false
        }
    }

    /// Nothing is ever pending without a trailing edge, so a timer leads to no action.
    private mutating func runTimer(until time: Int64) {
        while let due = state.timer, due <= time { _ = state.timerFired(at: due) }
    }
}

extension Scenario {
    var edges: RateLimitEdges {
        var edges: RateLimitEdges = []
        if leading { edges.insert(.leading) }
        if trailing { edges.insert(.trailing) }
        return edges
    }
}
