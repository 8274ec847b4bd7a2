import RunLoopKit

/// Limits how often a method runs, for one object, for a class or for a type's static method.
///
/// Made by `LimitedMethod.rule(for:…)` and applied by ``apply()``; `LimitedMethod.limit(for:…)` does both. This class
/// has what rules of all methods have in common. ``MethodRule``, which these return, also knows the types of its
/// method's target and input.
///
/// Settings may be changed at any time from any thread, even while the rule is applied. The next call sees them; they
/// do not move a call that is delayed already. But if the interval, the mode or the loop has changed, the next call
/// replaces the delayed one and starts a new window. (A rule that merges runs the delayed calls instead: see
/// ``MethodRule/merging``.)
///
/// MessageThrottle: `MTRule`.
public class AnyMethodRule: @unchecked Sendable, CustomStringConvertible {
    /// Which of the calls in a window runs, and when.
    public enum Mode: String, CaseIterable, Codable, Sendable {
        /// The first call runs, at once and on the caller's thread; calls that follow it within the interval are
        /// ignored. A leading throttle. MessageThrottle: `MTPerformModeFirstly`.
        case firstly

        /// The window starts with the first call. At its end the last call runs, on the rule's loop, or all of them
        /// merged. A trailing throttle, whose runs are an interval apart at least: see `Throttle`.
        /// MessageThrottle: `MTPerformModeLast`.
        case last

        /// When no call has come for the interval, the last call runs, on the rule's loop, or all of them merged. A
        /// trailing debounce. MessageThrottle: `MTPerformModeDebounce`.
        case debounce
    }

    struct Settings {
        var interval: Duration { didSet { window.nanoseconds = interval.wholeNanoseconds } }
        var mode: Mode { didSet { window.mode = mode } }
        var loop: Loop { didSet { (window.loop, clock) = (ObjectIdentifier(loop), loop.clock) } }
        var isPersistent: Bool
        var merger: (any AnyMerger)? { didSet { window.merger = merger.map { ObjectIdentifier($0) } } }

        // What a call inside a window needs. Cached: converting a `Duration` and retaining a loop take longer than the
        // rest of the call.
        private(set) var window: Window
        private(set) var clock: LoopTime

        /// Of the limiter that delays calls.
        var kind: RateLimitState.Kind { mode == .last ? .throttle : .debounce(maxWait: nil) }

        /// Identifies a window: calls under different ones do not share a limiter.
        struct Window: Equatable {
            var nanoseconds: Int64
            var mode: Mode
            var loop: ObjectIdentifier
            var merger: ObjectIdentifier?
        }

        init(
            _ interval: Duration, _ mode: Mode, _ loop: Loop, isPersistent: Bool = false,
            merger: (any AnyMerger)? = nil
        ) {
            (self.interval, self.mode, self.loop, self.isPersistent) = (interval, mode, loop, isPersistent)
            self.merger = merger
            clock = loop.clock
            window = Window(
                nanoseconds: interval.wholeNanoseconds, mode: mode, loop: ObjectIdentifier(loop),
                merger: merger.map { ObjectIdentifier($0) })
        }
    }

    let book: RuleBook

    /// Nil for an object's rule.
    let type: Any.Type?
    /// The identity of the object or the type. An object's address can be reused: then `object` is nil.
    let targetID: ObjectIdentifier
    private weak let object: AnyObject?
    private let targetText: String

    // Guarded by the book's lock. Exclusivity is unchecked, as in `Loop`.
    @exclusivity(unchecked) final var settings: Settings
    /// The rule's place in the list of all rules. Nil while the rule is not applied.
    @exclusivity(unchecked) final var place: Int?
    /// Whether `MethodRule.alwaysRun` is set.
    @exclusivity(unchecked) final var hasPredicate: Bool
    /// Modes `last` and `debounce`: made by the first call, and again when settings have changed.
    @exclusivity(unchecked) private var delayed: HeldCalls?
    /// Mode `firstly`: the last call that ran.
    @exclusivity(unchecked) private var lastRun: LastRun?

    private struct LastRun {
        let loop: ObjectIdentifier
        /// On the loop's clock.
        let time: Int64
        /// The same on the wall clock, as it was last asked for. Two answers are the same unless that clock was set.
        var wallTime: Int64?
    }

    init(in book: RuleBook, for target: RuleTarget, _ settings: Settings, hasPredicate: Bool) {
        self.book = book
        self.settings = settings
        self.hasPredicate = hasPredicate
        switch target {
        case .object(let object):
            self.object = object
            type = nil
            targetID = ObjectIdentifier(object)
            targetText = "one \(Swift.type(of: object))"
        case .type(let type):
            object = nil
            self.type = type
            targetID = ObjectIdentifier(type)
            targetText = "\(book.isStatic ? "type" : "class") \(type)"
        }
    }

    // MARK: Settings

    /// The length of a window. Zero or less: no limit, calls run at once.
    public final var interval: Duration {
        get { book.lock.withLock { settings.interval } }
        set { book.lock.withLock { settings.interval = newValue } }
    }

    /// Which of the calls in a window runs, and when.
    public final var mode: Mode {
        get { book.lock.withLock { settings.mode } }
        set { book.lock.withLock { settings.mode = newValue } }
    }

    /// The loop on whose thread delayed calls run, in its common modes, and whose clock measures the interval. When it
    /// ends it runs the delayed calls, and from then on the rule limits nothing in the modes `last` and `debounce`.
    public final var loop: Loop {
        get { book.lock.withLock { settings.loop } }
        set {
            let old = book.lock.withLock {
                // Its window is over, before another loop has its address.
                if newValue !== settings.loop { lastRun = nil }
                return exchange(&settings.loop, with: newValue)
            }
            withExtendedLifetime(old) {}  // It may be the last reference: released without the lock.
        }
    }

    /// Whether ``RuleEngine/snapshot()`` contains the rule. Always false for an object's rule, even after it was
    /// set: an object does not outlive the program.
    ///
    /// `LimitedMethod.rule(for:…)` takes it as an argument. `LimitedMethod.limit(for:…)`, like MessageThrottle's
    /// convenience call, makes `firstly` rules of more than five seconds persistent. Changing other settings does not
    /// change it.
    public final var isPersistent: Bool {
        get { book.lock.withLock { settings.isPersistent && type != nil } }
        set { book.lock.withLock { settings.isPersistent = newValue } }
    }

    // MARK: Applying and discarding

    /// Applies the rule: it is in force from the next call on, and its method's engine retains it. MessageThrottle:
    /// `apply`.
    ///
    /// - Throws: The errors of ``RuleEngine/apply(_:)``.
    public final func apply() throws(MethodRuleError) { try book.engine.apply(self) }

    /// Takes the rule out of force. Its delayed calls run now, on the rule's loop. MessageThrottle: `discard`.
    ///
    /// - Throws: `notApplied` if it is not in force.
    public final func discard() throws(MethodRuleError) { try book.engine.discard(self) }

    /// Runs the rule's delayed calls now, on its loop, in its common modes: before this returns, if the caller is on
    /// that loop's thread, and no run of another mode is going on there. The rule stays in force. From any thread.
    /// MessageThrottle: none.
    ///
    /// - Returns: Whether calls were delayed and the loop accepted them.
    @discardableResult
    public final func flush() -> Bool { book.lock.withLock { delayed }?.flush() ?? false }

    // MARK: Asking

    /// Whether the rule holds back a call that will run when its window ends. From any thread. MessageThrottle: none.
    public final var isPending: Bool { book.lock.withLock { delayed }?.isPending ?? false }

    /// The name of the method that it limits.
    public final var methodName: String { book.name }

    /// Whether the rule is in force: applied, not discarded, not replaced, its object alive.
    public final var isApplied: Bool {
        let (isStanding, object) = book.lock.withLock { (place != nil, self.object) }
        return isStanding && (type != nil || object != nil)
    }

    /// What is limited and how: `"save" of class Document: debounce, 0.3 seconds`.
    public final var description: String {
        let (interval, mode) = book.lock.withLock { (settings.interval, settings.mode) }
        return "\(subject): \(mode), \(interval)"
    }

    /// What is limited.
    final var subject: String { "\"\(book.name.printable)\" of \(targetText.printable)" }

    /// The object, while it is alive. The caller must not release it with the lock held: it may be the last reference.
    final var liveObject: AnyObject? { object }

    // MARK: Calling. The book's lock is held.

    /// Decides what to do with a call that is made now, regardless of the predicate.
    ///
    /// - Parameters:
    ///   - superseded: Set to the calls that were delayed under other settings. The caller must have them give way,
    ///     without the lock.
    ///   - begins: Set if the answer holds calls that were made for this one. The caller must have them report whether
    ///     the main loop is gone, without the lock.
    @inline(__always)
    final func decide(superseding superseded: inout HeldCalls?, beginning begins: inout Bool) -> RuleBook.Verdict {
        let window = settings.window
        let isLimited = window.nanoseconds > 0
        if let delayed {
            if isLimited, delayed.window == window { return .hold(delayed) }
            superseded = delayed
            self.delayed = nil
            // Ends a window that was continued before that call was delayed. See `makeDelayed()`.
            if delayed.isPending { lastRun = nil }
        }
        guard isLimited else { return .run }
        guard window.mode == .firstly else {
            begins = true
            return .hold(makeDelayed())
        }
        let clock = settings.clock
        let now = clock.nanoseconds
        if isInWindow(at: now) { return .ignore }
        lastRun = LastRun(loop: window.loop, time: now)
        return .run
    }

    /// Whether a rule in mode `firstly` that asks no predicate ignores a call that is made now. If not, `decide` says
    /// what to do.
    @inline(__always)
    final var ignoresCall: Bool {
        guard settings.window.mode == .firstly, settings.window.nanoseconds > 0 else { return false }
        return !hasPredicate && delayed == nil && lastRun != nil && isInWindow(at: settings.clock.nanoseconds)
    }

    /// Whether the window of mode `firstly` that the last run has begun goes on.
    @inline(__always)
    private func isInWindow(at now: Int64) -> Bool {
        guard let lastRun, lastRun.loop == settings.window.loop else { return false }
        return now < lastRun.time.addingSaturating(settings.window.nanoseconds)
    }

    @inline(never)
    private func makeDelayed() -> HeldCalls {
        // After this mode `firstly` starts a new window: otherwise it could ignore the call that supersedes the delayed
        // one, and neither would run.
        lastRun = nil
        let made = settings.merger?.makeHeldCalls(settings) ?? makeDelayedCall(settings)
        delayed = made
        book.mayDelay()
        return made
    }

    /// For `MethodRule`, which knows the types: makes a `DelayedCall`.
    func makeDelayedCall(_ settings: Settings) -> HeldCalls { fatalError("RunLoopKit: overridden") }

    /// The delayed call of a rule that asks no predicate, does not merge, and whose settings have not changed.
    @inline(__always)
    final var delayedCall: HeldCalls? {
        guard let delayed, !hasPredicate, !delayed.merges, settings.window.nanoseconds > 0 else { return nil }
        return delayed.window == settings.window ? delayed : nil
    }

    /// The delayed calls, if one of them is on the target.
    final func delayed(on target: ObjectIdentifier) -> HeldCalls? {
        guard let delayed, delayed.isPending(on: target) else { return nil }
        return delayed
    }

    /// Takes over the window and the delayed calls of `other`, a rule for the same target and method.
    final func takeOver(from other: AnyMethodRule) {
        // Leaves nothing: `other` may be applied again, and then starts a new window.
        (delayed, lastRun) = (other.delayed.take(), other.lastRun.take())
    }

    /// Ends the window, and returns the delayed calls, which the caller flushes without the lock.
    final func takeDelayed() -> HeldCalls? {
        lastRun = nil
        return delayed.take()
    }

    // MARK: From one start of the program to the next. The book's lock is held.

    /// When the window of mode `firstly` that goes on has begun, in nanoseconds of the wall clock, since the loop's
    /// clock may begin again with the machine. Nil: there is none.
    final func windowStart() -> Int64? {
        let now = settings.clock.nanoseconds
        guard settings.window.mode == .firstly, lastRun != nil, isInWindow(at: now) else { return nil }
        let age = now.subtractingSaturating(lastRun!.time)
        let start = max(0, settings.clock.nanoseconds(.wallClock).subtractingSaturating(age))
        // The two clocks are read one after the other, and may differ in speed.
        if let known = lastRun!.wallTime, known.subtractingSaturating(start).magnitude < 1_000_000_000 { return known }
        lastRun!.wallTime = start
        return start
    }

    /// Continues the window that an earlier start of the program has begun, unless this one has begun its own, or a
    /// call is delayed, which the next call supersedes.
    final func continueWindow(from start: Int64?) {
        let now = settings.clock.nanoseconds
        guard let start, settings.window.mode == .firstly, !isInWindow(at: now) else { return }
        guard delayed?.isPending != true else { return }
        // Not in the future, so that a wall clock that was set back makes no window longer.
        let wallTime = settings.clock.nanoseconds(.wallClock)
        let begin = min(start, wallTime)
        let time = now.subtractingSaturating(wallTime.subtractingSaturating(begin))
        lastRun = LastRun(loop: settings.window.loop, time: time, wallTime: max(0, begin))
        if !isInWindow(at: now) { lastRun = nil }
    }
}

/// The target that a rule is for.
enum RuleTarget {
    case object(AnyObject)
    case type(Any.Type)
}
