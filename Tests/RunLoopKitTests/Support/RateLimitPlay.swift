@testable import RunLoopKit

/// A limiter's state with a timer that is never late, played by hand.
struct RateLimitPlay {
    struct Action: Equatable {
        let time: Int64
        let input: Int64
    }

    private(set) var state: RateLimitState
    private(set) var actions: [Action] = []
    private var pending: Int64?

    init(_ state: RateLimitState) { self.state = state }

    mutating func call(_ input: Int64, at now: Int64) {
        runTimers(until: now)
        pending = input
        if state.call(at: now) { act(at: now) }
    }

    mutating func flush(at now: Int64) {
        runTimers(until: now)
        if state.flush(at: now) { act(at: now) }
    }

    mutating func cancel(at now: Int64) {
        runTimers(until: now)
        state.cancel()
    }

    mutating func changeInterval(to interval: Int64, at now: Int64) {
        runTimers(until: now)
        state.changeInterval(to: interval)
    }

    mutating func finish() { runTimers(until: .max - 1) }

    mutating func runTimers(until now: Int64) {
        while let due = state.timer, due <= now {
            if state.timerFired(at: due) { act(at: due) }
        }
    }

    private mutating func act(at now: Int64) { actions.append(Action(time: now, input: pending!)) }
}
