/// A `ThrottleRule` that knows what its message is sent to, and with what.
public final class MessageRule<Target: Sendable, Input: Sendable>: ThrottleRule, @unchecked Sendable {
    /// Guarded by the book's lock.
    private var predicate: (@Sendable (Target, Input) -> Bool)?

    init(
        in book: RuleBook, for target: RuleTarget, _ settings: Settings,
        _ predicate: (@Sendable (Target, Input) -> Bool)? = nil
    ) {
        self.predicate = predicate
        super.init(in: book, for: target, settings, hasPredicate: predicate != nil)
    }

    /// A predicate over the message: if it says true the message runs at once, on the caller's thread, and the rule
    /// takes no notice of it; what is held back stays so. Nil: no exceptions.
    ///
    /// Called on the thread that sends the message, with no lock held, so it may change the rules itself. Of those that
    /// are then in force the message sees everything but predicates, since it asks one only: a new rule's predicate
    /// takes effect with the next message.
    ///
    /// The rule retains what it captures: not the rule's own object, or that never goes. MessageThrottle:
    /// `alwaysInvokeBlock`.
    public var alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? {
        get { book.lock.withLock { predicate } }
        set {
            let old = book.lock.withLock { () -> (@Sendable (Target, Input) -> Bool)? in
                defer {
                    predicate = newValue
                    hasPredicate = newValue != nil
                }
                return predicate
            }
            withExtendedLifetime(old) {}  // What it captured may call us: let go of without the lock.
        }
    }
}
