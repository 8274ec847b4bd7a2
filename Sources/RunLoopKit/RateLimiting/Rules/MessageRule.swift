/// A `ThrottleRule` that knows what its message is sent to, and with what.
public final class MessageRule<Target: Sendable, Input: Sendable>: ThrottleRule, @unchecked Sendable {
    /// What is to be done with a message.
    enum Decision {
        case run, ignore
        case hold(DelayedMessage<Target, Input>)
        /// The predicate has to be asked first, without the lock.
        case ask(MessageRule, @Sendable (Target, Input) -> Bool)
    }

    private let body: @Sendable (Target, Input) -> Void

    // Guarded by the book's lock.
    private(set) var predicate: (@Sendable (Target, Input) -> Bool)?
    /// Modes `last` and `debounce`: made by the first message, and anew when settings have changed.
    private var delayed: DelayedMessage<Target, Input>?
    /// Mode `firstly`: when a message ran last, and on whose clock.
    private var lastRun: (loop: ObjectIdentifier, time: Loop.Instant)?

    init(
        _ body: @escaping @Sendable (Target, Input) -> Void, in book: RuleBook, for target: RuleTarget,
        _ settings: Settings, _ predicate: (@Sendable (Target, Input) -> Bool)? = nil
    ) {
        self.body = body
        self.predicate = predicate
        super.init(in: book, for: target, settings)
    }

    /// A predicate over the message: if it says true the message runs at once, on the caller's thread, and the rule
    /// takes no notice of it; what is held back stays so. Nil: no exceptions.
    ///
    /// Called on the thread that sends the message, with no lock held; a message that meets a change of rules may ask
    /// twice. The rule retains what it captures: not the rule's own object, or that never goes. MessageThrottle:
    /// `alwaysInvokeBlock`.
    public var alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? {
        get { book.lock.withLock { predicate } }
        set {
            let old = book.lock.withLock { () -> (@Sendable (Target, Input) -> Bool)? in
                defer { predicate = newValue }
                return predicate
            }
            withExtendedLifetime(old) {}
        }
    }

    // MARK: For the message. The book's lock is held.

    /// What to do with a message that is sent now.
    ///
    /// - Parameter superseded: What was held back under other settings, to be cancelled without the lock.
    func decide(superseding superseded: inout DelayedMessage<Target, Input>?) -> Decision {
        let isLimited = settings.interval > .zero
        if let delayed, !isLimited || !delayed.isMade(for: settings) {
            superseded = delayed
            self.delayed = nil
        }
        guard isLimited else { return .run }
        guard settings.mode == .firstly else { return .hold(makeDelayed()) }
        let (loop, now) = (ObjectIdentifier(settings.loop), settings.loop.now)
        if let lastRun, lastRun.loop == loop, now < lastRun.time.advanced(by: settings.interval) { return .ignore }
        lastRun = (loop, now)
        return .run
    }

    private func makeDelayed() -> DelayedMessage<Target, Input> {
        if let delayed { return delayed }
        // After this mode a first message is a first message again: else it could be ignored and what is held back
        // superseded, and neither would run.
        lastRun = nil
        let made = DelayedMessage(settings, body)
        delayed = made
        return made
    }

    override func takeOver(from other: ThrottleRule) {
        let other = unsafeDowncast(other, to: MessageRule.self)
        delayed = other.delayed
        lastRun = other.lastRun
        other.delayed = nil
    }

    override func takeDelayed() -> (any Flushable)? {
        defer {
            delayed = nil
            lastRun = nil
        }
        return delayed
    }
}
