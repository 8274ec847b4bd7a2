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

    /// Plays a scenario.
    static func invocations(of scenario: Scenario) -> [Invocation] {
        scenario.edges.isEmpty ? edgelessInvocations(of: scenario) : Rehearsal().play(scenario)
    }

    /// Plays a scenario without edges by the rules alone: `Throttle` and `Debounce` promise never to act then, while
    /// lodash, whose answers were recorded, acts in one case.
    private static func edgelessInvocations(of scenario: Scenario) -> [Invocation] {
        var state = scenario.state
        return scenario.operations.compactMap { operation in
            // Nothing is ever pending without a trailing edge, so the timer leads to no action.
            while let due = state.timer, due <= operation.time { _ = state.timerFired(at: due) }
            switch operation.event {
            case .call(let argument):
                return state.call(at: operation.time) ? Invocation(time: operation.time, argument: argument) : nil
            case .flush: _ = state.flush(at: operation.time)
            case .cancel: state.cancel()
            }
            return nil
        }
    }

    /// Every scenario has a loop and a clock of its own, since all start at zero.
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
            // First, so that timers which are due at that time fire before the operation.
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

extension Scenario {
    /// The state of the scenario's limiter, which counts in milliseconds.
    var state: RateLimitState {
        RateLimitState(kind == .throttle ? .throttle : .debounce(maxWait: maxWait), interval: wait, edges: edges)
    }

    var edges: RateLimitEdges {
        var edges: RateLimitEdges = []
        if leading { edges.insert(.leading) }
        if trailing { edges.insert(.trailing) }
        return edges
    }
}
