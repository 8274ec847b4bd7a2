/// Limits how often a message runs, for one object, for a class or for a type's static method.
///
/// Made by `Message.rule(for:…)` and put into force by `apply()`; `Message.limit(for:…)` does both. This class is what
/// all rules have in common; `MessageRule`, what these return, knows the message's target and input too.
///
/// Settings may be changed at any time from any thread, also while the rule is applied. The next message sees them;
/// nothing moves a message that is held back already. But the next message takes its place, and begins a new window,
/// if the interval, the mode or the loop is not what it was. (Of a rule that merges it takes no place: see
/// `MessageRule.merging`.)
///
/// MessageThrottle: `MTRule`.
public class ThrottleRule: @unchecked Sendable, CustomStringConvertible {
    /// Which of the messages in a window runs, and when. In the words of `Throttle` and `Debounce`: `firstly` is a
    /// leading throttle, `last` a trailing one, `debounce` a trailing debounce.
    public enum Mode: String, CaseIterable, Codable, Sendable {
        /// The first one runs, at once and on the caller's thread; those that follow it within the interval are
        /// ignored. A leading throttle. MessageThrottle: `MTPerformModeFirstly`.
        case firstly

        /// The window begins with the first message. At its end the last one runs, on the rule's loop, or what all of
        /// them are merged to. A trailing throttle, whose runs are an interval apart: see `Throttle`. MessageThrottle:
        /// `MTPerformModeLast`.
        case last

        /// The last message runs, on the rule's loop, or what all of them are merged to, when there has been none for
        /// the interval. A trailing debounce. MessageThrottle: `MTPerformModeDebounce`.
        case debounce
    }

    struct Settings {
        var interval: Duration { didSet { window.nanoseconds = interval.wholeNanoseconds } }
        var mode: Mode { didSet { window.mode = mode } }
        var loop: Loop {
            didSet { (window.loop, clock) = (ObjectIdentifier(loop), loop.clock) }
        }
        var isPersistent: Bool
        var merger: (any MessageMerger)? { didSet { window.merger = merger.map { ObjectIdentifier($0) } } }

        // What a message inside a window needs. Kept, since dividing what a `Duration` is made of, and retaining a
        // loop, take longer than all the rest.
        private(set) var window: Window
        private(set) var clock: LoopTime

        /// What makes a window another one.
        struct Window: Equatable {
            var nanoseconds: Int64
            var mode: Mode
            var loop: ObjectIdentifier
            var merger: ObjectIdentifier?
        }

        init(
            _ interval: Duration, _ mode: Mode, _ loop: Loop, isPersistent: Bool = false,
            merger: (any MessageMerger)? = nil
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
    /// The object's address, or what stands for the type. An address can come again: `object` tells.
    let targetID: ObjectIdentifier
    private weak let object: AnyObject?
    private let targetText: String

    // Guarded by the book's lock.
    private(set) var settings: Settings
    /// Rules are listed in this order. Nil while the rule is not applied.
    var place: Int?
    /// Whether `MessageRule.alwaysRun` has to be asked.
    var hasPredicate: Bool
    /// Modes `last` and `debounce`: made by the first message, and anew when settings have changed.
    private var delayed: (any HeldBack)?
    /// Mode `firstly`: when a message ran last, and on whose clock.
    private var lastRun: (loop: ObjectIdentifier, time: Int64)?

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

    /// How long a window is. Zero or less: no limit, messages run at once.
    public final var interval: Duration {
        get { book.lock.withLock { settings.interval } }
        set { book.lock.withLock { settings.interval = newValue } }
    }

    /// Which of the messages in a window runs, and when.
    public final var mode: Mode {
        get { book.lock.withLock { settings.mode } }
        set { book.lock.withLock { settings.mode = newValue } }
    }

    /// On whose thread messages run that were held back, in its common modes; its clock is the one that counts. When
    /// it ends it runs what it holds back, as long as it takes blocks, and from then on the rule limits nothing in the
    /// modes `last` and `debounce`.
    public final var loop: Loop {
        get { book.lock.withLock { settings.loop } }
        set {
            let old = book.lock.withLock { () -> Loop in
                defer { settings.loop = newValue }
                return settings.loop
            }
            withExtendedLifetime(old) {}  // Perhaps the last reference: released without the lock.
        }
    }

    /// Whether `ThrottleEngine.snapshot()` has the rule. Always false for an object's rule, whatever it is set to: an
    /// object does not outlive the program.
    ///
    /// `Message.rule(for:…)` takes it as an argument. `Message.limit(for:…)`, as MessageThrottle's convenience call, makes
    /// rules persistent that are `firstly` and longer than five seconds. It does not change by itself when a setting does.
    public final var isPersistent: Bool {
        get { book.lock.withLock { settings.isPersistent && type != nil } }
        set { book.lock.withLock { settings.isPersistent = newValue } }
    }

    // MARK: Applying and discarding

    /// Puts the rule into force: the next message sees it. Its message's engine keeps it from then on.
    ///
    /// - Throws: What `ThrottleEngine.apply(_:)` throws. MessageThrottle: `apply`.
    public final func apply() throws(ThrottleRuleError) { try book.engine.apply(self) }

    /// Takes the rule out of force. What it holds back runs now, on the rule's loop.
    ///
    /// - Throws: `notApplied`, when it is not in force. MessageThrottle: `discard`.
    public final func discard() throws(ThrottleRuleError) { try book.engine.discard(self) }

    // MARK: Asking

    /// The name of its message.
    public final var messageName: String { book.name }

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
    final var subject: String { "\"\(book.name)\" of \(targetText)" }

    /// The object, while it is alive. Not to be let go of with the lock held: it may be the last reference.
    final var liveObject: AnyObject? { object }

    /// Takes what a snapshot knows. The book's lock is held.
    final func changeWhileLocked(to saved: Settings) {
        (settings.interval, settings.mode, settings.isPersistent) = (saved.interval, saved.mode, true)
    }

    /// Returns the old one, to be released without the book's lock, which is held.
    final func changeWhileLocked(to merger: (any MessageMerger)?) -> (any MessageMerger)? {
        defer { settings.merger = merger }
        return settings.merger
    }

    // MARK: Sending. The book's lock is held.

    /// What to do with a message that is sent now, the predicate apart.
    ///
    /// - Parameter superseded: What was held back under other settings, and has to give way without the lock.
    final func decide(superseding superseded: inout (any HeldBack)?) -> RuleBook.Verdict {
        let window = settings.window
        let isLimited = window.nanoseconds > 0
        if let delayed {
            if isLimited, delayed.window == window { return delayed.verdict }
            superseded = delayed
            self.delayed = nil
        }
        guard isLimited else { return .run }
        guard window.mode == .firstly else { return makeDelayed().verdict }
        let clock = settings.clock
        let now = clock.nanoseconds
        if let lastRun, lastRun.loop == window.loop, now < lastRun.time.addingSaturating(window.nanoseconds) {
            return .ignore
        }
        lastRun = (window.loop, now)
        return .run
    }

    private func makeDelayed() -> any HeldBack {
        // After this mode a first message is a first message again: else it could be ignored and what is held back
        // superseded, and neither would run.
        lastRun = nil
        let made = settings.merger?.makeHeldBack(settings) ?? DelayedMessage(settings)
        delayed = made
        return made
    }

    /// Goes on from where `other`, a rule for the same target and message, is.
    final func takeOver(from other: ThrottleRule) {
        delayed = other.delayed
        lastRun = other.lastRun
        // All of it: the other one may be applied again, and then begins anew.
        (other.delayed, other.lastRun) = (nil, nil)
    }

    /// Gives up what is held back, to be flushed without the lock, and the window.
    final func takeDelayed() -> (any HeldBack)? {
        defer {
            delayed = nil
            lastRun = nil
        }
        return delayed
    }
}

/// What a rule is for.
enum RuleTarget {
    case object(AnyObject)
    case type(Any.Type)
}
