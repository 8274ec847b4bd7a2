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
    private var timer: Int64?

    init(_ state: RateLimitState) { self.state = state }

    mutating func call(_ input: Int64, at now: Int64) {
        runTimers(until: now)
        pending = input
        carryOut(state.call(at: now), at: now)
    }

    mutating func flush(at now: Int64) {
        runTimers(until: now)
        carryOut(state.flush(at: now), at: now)
    }

    mutating func cancel(at now: Int64) {
        runTimers(until: now)
        carryOut(state.cancel(), at: now)
    }

    mutating func changeInterval(to interval: Int64, at now: Int64) {
        runTimers(until: now)
        state.changeInterval(to: interval)
    }

    mutating func finish() { runTimers(until: .max - 1) }

    mutating func runTimers(until now: Int64) {
        while let due = timer, due <= now {
            timer = nil
            carryOut(state.timerFired(at: due), at: due)
        }
    }

    private mutating func carryOut(_ step: RateLimitState.Step, at now: Int64) {
        switch step.timer {
        case .keep: break
        case .start(let time): timer = time
        case .stop: timer = nil
        }
        precondition(timer == state.timer)
        if step.acts { actions.append(Action(time: now, input: pending!)) }
    }
}
