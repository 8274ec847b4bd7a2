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
            withExtendedLifetime(old) {}  // What it captured may call us: released without the lock.
        }
    }

    /// Merges the inputs of a burst, so that nothing is lost: combines what there is with the input of the next
    /// message. Nil, the default: what is held back is dropped for the next message.
    ///
    /// ```swift
    /// rule.merging = { pending, new in pending + new }
    /// ```
    ///
    /// For lists that collect what has changed, or for orders of which none may be missing. In the modes `last` and
    /// `debounce` all messages that are held back are kept; when they are due, one runs for each target, with its
    /// inputs merged in the order in which they were sent, and the targets in the order of their first messages. So an
    /// object never gets the inputs of another one of its class. In the mode `firstly` it has no effect: what that
    /// ignores is ignored.
    ///
    /// What a merging rule holds back is not lost by changed settings either, this property included: it runs when the
    /// next message comes, at once, on the loop that held it back, and the message begins a new window.
    /// Memory grows with the messages of a window: `last` bounds that, where a `debounce` waits for as long as messages
    /// keep coming.
    ///
    /// Called on the rule's loop, with no lock held, right before the message runs. The rule retains what it captures.
    /// The limiters' `merging:`, for rules.
    public var merging: (@Sendable (_ pending: Input, _ new: Input) -> Input)? {
        // The book's rules are all of this message, and so are their mergers.
        get { book.lock.withLock { settings.merger as! Merger<Input>? }?.combine }
        set {
            let old = book.lock.withLock { changeWhileLocked(to: newValue.map { Merger($0) }) }
            withExtendedLifetime(old) {}  // What it captured may call us: released without the lock.
        }
    }
}
