/// The rules of throttle and debounce by themselves: no clock, no timer, no loop and no lock.
///
/// For those who have a clock and a timer of their own, a game's frame time for instance, or a simulation. Everybody
/// else wants `Throttle` or `Debounce`, which carry out on a loop what this says.
///
/// Every event is a method that is told the time and returns a `Step`: what to do with the one timer, and whether to
/// act now. The owner carries it out, and keeps the inputs. The state is complete before the step is returned, so an
/// action may send the next event.
///
/// ```swift
/// var state = RateLimitState(.debounce(maxWait: nil), interval: 300, edges: .trailing)
/// var due: Int64?
///
/// func carryOut(_ step: RateLimitState.Step) {
///     switch step.timer {
///     case .keep: break
///     case .start(let time): due = time
///     case .stop: due = nil
///     }
///     if step.acts { save() }
/// }
///
/// textChanged = { carryOut(state.call(at: milliseconds())) }
/// eachFrame = { if let due, due <= milliseconds() { carryOut(state.timerFired(at: milliseconds())) } }
/// ```
///
/// **Times** are whole numbers on one clock, in any unit; `Throttle` and `Debounce` use nanoseconds. They must not go
/// back. Sums that go beyond the range saturate: such a time never comes. At one instant a timer that is due goes
/// before a call.
///
/// **Threads.** It is a value: who shares one between threads guards it with a lock.
///
/// **Edges.** Without any edge these rules, as lodash's, still act in one case: on a call that comes when the time is
/// up while a timer runs, and only for a throttle or with a `maxWait`. `Throttle` and `Debounce` promise never to act
/// then, and do not ask.
///
/// The rules are lodash's, whose names are given below, with two mends: `flush` stops the timer, and a throttle never
/// acts twice within its interval but for a flush. HWThrottle and MessageThrottle have no counterpart: there the rules
/// are woven into queues and timers.
public struct RateLimitState: Hashable, Sendable {
    /// Which of the two rules.
    public enum Kind: Hashable, Sendable {
        /// At most one action in an interval. lodash: a debounce whose `maxWait` is its `wait`.
        case throttle
        /// One action for a burst; within `maxWait` if there is one. Less than the interval counts as the interval.
        case debounce(maxWait: Int64?)
    }

    /// What the owner has to do now: first with the timer, then act.
    public struct Step: Hashable, Sendable {
        /// What becomes of the one timer.
        public enum TimerChange: Hashable, Sendable {
            /// Nothing: it runs on, or does not run.
            case keep
            /// Start it, or move it if it runs; when the time has come, send `timerFired(at:)`.
            case start(at: Int64)
            /// Stop it.
            case stop
        }

        /// What to do with the timer.
        public internal(set) var timer = TimerChange.keep

        /// Whether to act, now, on what is pending: for a call, that includes its own input.
        public internal(set) var acts = false

        /// Whether there is nothing to do: so it is for most calls inside a burst.
        var changesNothing: Bool { !acts && timer == .keep }
    }

    /// Which of the two rules it follows.
    public let kind: Kind

    /// When it acts.
    public let edges: RateLimitEdges

    /// How long a throttle keeps actions apart, and how long there must be no call for a debounce. Never negative.
    /// lodash: `wait`.
    public private(set) var interval: Int64

    /// When the last call came; nil before the first one and after a cancel. lodash: `lastCallTime`.
    private var lastCall: Int64?

    /// The last action; or, if it is later, the first call of a burst that did not act on its leading edge. Nil before
    /// either, and after a cancel. lodash: `lastInvokeTime`.
    private var lastAction: Int64?

    /// When the timer is to fire; nil when none runs. lodash: `timerId`.
    public private(set) var timer: Int64?

    /// Whether an input waits for the trailing edge: never without that edge. lodash: `lastArgs`, which it also keeps
    /// when there is no trailing edge.
    public private(set) var isPending = false

    /// Makes the state of a limiter that was never called.
    ///
    /// - Parameters:
    ///   - kind: Which of the two rules.
    ///   - interval: In the unit of all times. Negative counts as zero.
    ///   - edges: When to act. Bits that stand for no edge are dropped.
    public init(_ kind: Kind, interval: Int64, edges: RateLimitEdges) {
        self.kind = kind
        self.interval = max(0, interval)
        self.edges = edges.intersection([.leading, .trailing])
    }

    // MARK: Events

    /// A call. Afterwards `isPending` tells whether its input is to be kept, in place of any that was kept before.
    public mutating func call(at now: Int64) -> Step {
        let isDue = isDue(at: now)
        lastCall = now
        isPending = edges.contains(.trailing)
        guard timer != nil else { return callWithoutTimer(at: now, isDue) }
        // The timer is late: the time is up, but its event has not come. A plain debounce waits for it.
        guard isDue, limit != nil else { return Step() }
        return act(at: now, startTimer(at: now.addingSaturating(interval)))
    }

    /// The timer has fired. May be late. Ignored, with an empty step, when the time that it was started for has not
    /// come: it was moved or stopped meanwhile.
    public mutating func timerFired(at now: Int64) -> Step {
        guard let timer, timer <= now else { return Step() }
        guard isDue(at: now) else { return startTimer(at: nextLook) }
        return trailingEdge(at: now)
    }

    /// Acts now on what is pending, if anything is, and stops the timer. The burst goes on: its times stay. lodash:
    /// `flush`, which leaves the timer running.
    public mutating func flush(at now: Int64) -> Step { timer == nil ? Step() : trailingEdge(at: now) }

    /// Forgets what is pending, and the burst: the next call is a first call. lodash: `cancel`.
    public mutating func cancel() -> Step {
        lastCall = nil
        lastAction = nil
        isPending = false
        return stopTimer()
    }

    /// A new interval, zero if it is negative. It counts from the next event on: a timer that runs is not moved.
    public mutating func changeInterval(to interval: Int64) { self.interval = max(0, interval) }

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
