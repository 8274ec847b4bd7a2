/// The rules of throttle and debounce by themselves: no clock, no timer, no loop and no lock. It is a value: threads
/// that share one guard it with a lock.
///
/// Use it with a clock and a timer of your own, such as a game's frame time. Otherwise use ``Throttle`` or
/// ``Debounce``.
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
/// - *Times* are integers on one clock, in any unit, and must not decrease. A sum beyond the range never comes. If a
///   timer is due at the instant of a call, send its event first.
/// - *Only asking:* a throttle with the leading edge alone needs no ``timerFired(at:)``. A ``Quota`` answers more.
/// - *Without any edge* these rules, like lodash's, still act on a call that comes while a timer runs, after the
///   interval of a throttle or the `maxWait` is over. ``Throttle`` and ``Debounce`` never do.
///
/// The rules are lodash's, whose names are given below, with three fixes. HWThrottle and MessageThrottle have no
/// counterpart: their rules are part of queues and timers.
///
/// 1. `flush` stops the timer.
/// 2. A throttle never acts twice within its interval except after a flush or a `cancel`.
/// 3. A call after the end of a burst, but before a late timer, acts only if the `maxWait` is over. Otherwise it
///    continues the burst.
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

    /// Whether an input waits for the trailing edge. Always false without that edge. lodash: `lastArgs`, which it keeps
    /// even without a trailing edge.
    public var isPending: Bool { burst.isPending }

    /// Makes the state of a limiter that was never called.
    ///
    /// - Parameters:
    ///   - kind: Which of the two rules.
    ///   - interval: In the unit of all times. A negative value counts as zero.
    ///   - edges: When to act. Bits of no edge are dropped.
    public init(_ kind: Kind, interval: Int64, edges: RateLimitEdges) {
        rules = RateLimitRules(kind, interval: interval, edges: edges)
    }

    // MARK: Events

    /// Handles a call. Afterwards ``isPending`` tells whether to keep its input, instead of any that was kept before.
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

    /// Sets the interval; a negative one counts as zero. It takes effect with the next event, and does not move a
    /// running timer. If the interval has become shorter, the next call moves the timer; if it has become longer, the
    /// timer finds that it has to wait.
    public mutating func changeInterval(to interval: Int64) { rules.changeInterval(to: interval) }

    /// The time from which a state without a timer behaves like a new one. Nil when a timer runs.
    var quietTime: Int64? { rules.quietTime(burst) }
}
