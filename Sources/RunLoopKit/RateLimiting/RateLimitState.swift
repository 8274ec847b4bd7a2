/// What a throttle or a debounce does, and when: rules over times, without a clock, a timer, a loop or a lock.
///
/// Every event is a method that is told the time and returns a `Step`: what to do with the one timer, and whether to
/// act now. The owner carries it out, and keeps the inputs. The state is complete before the step is returned, so an
/// action may send the next event.
///
/// The rules are lodash's, whose names are given below, with two mends: `flush` stops the timer, and a throttle never
/// acts twice within its interval but for a flush.
///
/// Without any edge these rules, as lodash's, still act in one case: on a call that comes when the time is up while a
/// timer runs. The recorded scenarios hold one. `Throttle` and `Debounce` promise never to act then, and do not ask.
///
/// All times are nanoseconds on one clock. They must not go back.
struct RateLimitState: Sendable {
    enum Kind: Hashable, Sendable {
        /// At most one action in an interval. lodash: a debounce whose `maxWait` is its `wait`.
        case throttle
        /// One action for a burst; within `maxWait` if there is one. Less than the interval counts as the interval.
        case debounce(maxWait: Int64?)
    }

    /// What the owner has to do now.
    struct Step: Equatable, Sendable {
        enum TimerChange: Equatable, Sendable {
            case keep
            /// Start it, or move it if it runs.
            case start(at: Int64)
            case stop
        }

        var timer = TimerChange.keep
        /// Act on what is pending: for a call, that includes its own input.
        var acts = false

        /// Whether there is nothing to do: so it is for most calls inside a burst.
        var changesNothing: Bool { !acts && timer == .keep }
    }

    let kind: Kind
    let edges: RateLimitEdges

    /// lodash: `wait`. Not negative. A new value counts from the next event on: a timer that runs is not moved.
    private(set) var interval: Int64

    /// When the last call came; nil before the first one and after a cancel. lodash: `lastCallTime`.
    private var lastCall: Int64?

    /// The last action; or, if it is later, the first call of a burst that did not act on its leading edge. Nil before
    /// either, and after a cancel. lodash: `lastInvokeTime`.
    private var lastAction: Int64?

    /// When the timer is to fire; nil when none runs. lodash: `timerId`.
    private(set) var timer: Int64?

    /// Whether an input waits for the trailing edge. lodash: `lastArgs`, which it also keeps when there is no trailing
    /// edge.
    private(set) var isPending = false

    init(_ kind: Kind, interval: Int64, edges: RateLimitEdges) {
        self.kind = kind
        self.interval = max(0, interval)
        self.edges = edges
    }

    // MARK: Events

    /// A call. Afterwards `isPending` tells whether its input is to be kept.
    mutating func call(at now: Int64) -> Step {
        let isDue = isDue(at: now)
        lastCall = now
        isPending = edges.contains(.trailing)
        guard timer != nil else { return callWithoutTimer(at: now, isDue) }
        // The timer is late: the time is up, but its event has not come. A plain debounce waits for it.
        guard isDue, limit != nil else { return Step() }
        return act(at: now, startTimer(at: now.addingSaturating(interval)))
    }

    /// The timer has fired. Ignored when the time that it was started for has not come: it was moved or stopped
    /// meanwhile.
    mutating func timerFired(at now: Int64) -> Step {
        guard let timer, timer <= now else { return Step() }
        guard isDue(at: now) else { return startTimer(at: nextLook) }
        return trailingEdge(at: now)
    }

    /// Acts now on what is pending. The burst goes on: its times stay.
    mutating func flush(at now: Int64) -> Step { timer == nil ? Step() : trailingEdge(at: now) }

    /// Forgets what is pending, and the burst.
    mutating func cancel() -> Step {
        lastCall = nil
        lastAction = nil
        isPending = false
        return stopTimer()
    }

    /// A new interval, zero if it is negative.
    mutating func changeInterval(to interval: Int64) { self.interval = max(0, interval) }

    // MARK: Forgetting

    /// When a state without a timer begins to be worth nothing: from then on it does the same as a new one. Nil when a
    /// timer runs.
    var quietTime: Int64? {
        guard timer == nil else { return nil }
        let call = lastCall?.addingSaturating(interval) ?? .min
        guard kind == .throttle else { return call }
        return max(call, lastAction?.addingSaturating(interval) ?? .min)
    }

    // MARK: Rules

    /// How long actions may be apart while calls keep coming. lodash: `maxWait`.
    private var limit: Int64? {
        switch kind {
        case .throttle: interval
        case .debounce(let maxWait): maxWait.map { max($0, interval) }
        }
    }

    /// Whether the burst is over, or has lasted for as long as it may. lodash: `shouldInvoke`.
    private func isDue(at now: Int64) -> Bool {
        guard let lastCall else { return true }
        if now >= lastCall.addingSaturating(interval) { return true }
        guard let limit, let lastAction else { return false }
        return now >= lastAction.addingSaturating(limit)
    }

    /// When a burst that is not due will be if no call comes. lodash: `remainingWait`.
    private var nextLook: Int64 {
        let endOfBurst = (lastCall ?? .min).addingSaturating(interval)
        guard let limit, let lastAction else { return endOfBurst }
        return min(endOfBurst, lastAction.addingSaturating(limit))
    }

    private mutating func callWithoutTimer(at now: Int64, _ isDue: Bool) -> Step {
        guard isDue else { return startTimer(at: now.addingSaturating(interval)) }
        if kind == .throttle, let lastAction {
            // The second mend. Without it the end of one interval and the beginning of the next could be one moment
            // apart.
            let endOfInterval = lastAction.addingSaturating(interval)
            if now < endOfInterval { return startTimer(at: endOfInterval) }
        }
        // lodash: `leadingEdge`.
        lastAction = now
        let step = startTimer(at: now.addingSaturating(interval))
        return edges.contains(.leading) ? act(at: now, step) : step
    }

    private mutating func trailingEdge(at now: Int64) -> Step {
        let step = stopTimer()
        return isPending ? act(at: now, step) : step
    }

    /// lodash: `invokeFunc`.
    private mutating func act(at now: Int64, _ step: Step) -> Step {
        isPending = false
        lastAction = now
        return Step(timer: step.timer, acts: true)
    }

    private mutating func startTimer(at time: Int64) -> Step {
        timer = time
        return Step(timer: .start(at: time))
    }

    private mutating func stopTimer() -> Step {
        guard timer != nil else { return Step() }
        timer = nil
        return Step(timer: .stop)
    }
}
