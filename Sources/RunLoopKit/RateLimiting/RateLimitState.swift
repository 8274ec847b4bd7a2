/// The rules of throttle and debounce by themselves: no clock, no timer, no loop and no lock.
///
/// Use it with a clock and a timer of your own, for instance a game's frame time or a simulation. Otherwise use
/// ``Throttle`` or ``Debounce``, which apply these rules on a loop.
///
/// Every event is a method that takes the time and returns whether to act now. The owner then starts, moves or stops
/// its one timer so that it fires at ``timer``, and keeps the inputs. The state is complete before the method returns,
/// so an action may send the next event.
///
/// ```swift
/// var state = RateLimitState(.debounce(maxWait: nil), interval: 300, edges: .trailing)
///
/// keyPressed = { if state.call(at: milliseconds()) { save() } }
/// eachFrame = { if state.timerFired(at: milliseconds()) { save() } }  // does nothing before its time
/// ```
///
/// **Times** are integers on one clock, in any unit; ``Throttle`` and ``Debounce`` use nanoseconds. They must not
/// decrease. Sums beyond the range saturate: such a time never comes. If a timer is due at the instant of a call, send
/// its event first.
///
/// **Only asking.** A throttle with the leading edge alone needs no timer: ``call(at:)`` says whether to act, also if
/// ``timerFired(at:)`` is never sent. <doc:ThrottleOrDebounce#So-many-in-a-window-for-each-key> has a use for that.
///
/// **Threads.** It is a value: threads that share one guard it with a lock.
///
/// **Edges.** Without any edge these rules, like lodash's, still act in one case: on a call that comes when the
/// interval of a throttle, or the `maxWait`, is over while a timer runs. ``Throttle`` and ``Debounce`` promise never to
/// act without an edge, and do not call the state then.
///
/// The rules are lodash's, whose names are given below, with three fixes: `flush` stops the timer; a throttle never
/// acts twice within its interval except after a flush or a `cancel`; and a call that comes after the end of a burst,
/// but before a timer that is late, acts only if the `maxWait` is over, and otherwise continues the burst. HWThrottle
/// and MessageThrottle have no counterpart: there the rules are part of queues and timers.
public struct RateLimitState: Hashable, Sendable {
    /// Which of the two rules.
    public enum Kind: Hashable, Sendable {
        /// At most one action in an interval. lodash: a debounce whose `maxWait` is its `wait`.
        case throttle
        /// One action for a burst; within `maxWait` if there is one. Less than the interval counts as the interval.
        case debounce(maxWait: Int64?)
    }

    private var rules: RateLimitRules
    private var burst = BurstTimes()

    /// Which of the two rules it follows.
    public var kind: Kind { rules.kind }

    /// On which edges it acts.
    public var edges: RateLimitEdges { rules.edges }

    /// The shortest time between two actions of a throttle; the time without a call that ends a debounce's burst.
    /// Never negative. lodash: `wait`.
    public var interval: Int64 { rules.interval }

    /// The time at which to send ``timerFired(at:)``; nil when no timer runs. Read it after every event. A call that
    /// does not act leaves a running timer alone, unless the interval has become shorter. lodash: `timerId`.
    public var timer: Int64? { burst.timer }

    /// Whether an input waits for the trailing edge. Always false without that edge. lodash: `lastArgs`, which it also
    /// keeps without a trailing edge.
    public var isPending: Bool { burst.isPending }

    /// Makes the state of a limiter that was never called.
    ///
    /// - Parameters:
    ///   - kind: Which of the two rules.
    ///   - interval: In the unit of all times. A negative value counts as zero.
    ///   - edges: When to act. Bits that stand for no edge are dropped.
    public init(_ kind: Kind, interval: Int64, edges: RateLimitEdges) {
        rules = RateLimitRules(kind, interval: interval, edges: edges)
    }

    // MARK: Events

    /// Handles a call. Afterwards ``isPending`` tells whether to keep its input, in place of any that was kept before.
    ///
    /// - Returns: Whether to act now, on this call's input or on everything that is kept, this input included.
    public mutating func call(at now: Int64) -> Bool { rules.call(&burst, at: now) }

    /// Handles the timer, which may be late. Does nothing before ``timer``, since the timer was moved or stopped.
    ///
    /// - Returns: Whether to act now on what is pending.
    public mutating func timerFired(at now: Int64) -> Bool { rules.timerFired(&burst, at: now) }

    /// Acts now on what is pending, if anything is, and stops the timer. The burst continues: its times stay. lodash:
    /// `flush`, which leaves the timer running.
    ///
    /// - Returns: Whether to act now on what is pending.
    public mutating func flush(at now: Int64) -> Bool { rules.flush(&burst, at: now) }

    /// Drops what is pending, and ends the burst: the next call is a first call. lodash: `cancel`.
    public mutating func cancel() { burst = BurstTimes() }

    /// Sets the interval; a negative one counts as zero. It takes effect with the next event: this does not move a
    /// running timer. A call moves it if the interval has become shorter; if it has become longer, the timer finds that
    /// it has to wait.
    public mutating func changeInterval(to interval: Int64) { rules.changeInterval(to: interval) }

    /// The time from which a state without a timer behaves like a new one. Nil when a timer runs.
    var quietTime: Int64? { rules.quietTime(burst) }
}
