import RunLoopKit

/// An ``AnyMethodRule`` that knows the types of its method's target and input.
public final class MethodRule<Target: Sendable, Input: Sendable>: AnyMethodRule, @unchecked Sendable {
    /// Guarded by the book's lock.
    @exclusivity(unchecked) private var predicate: (@Sendable (Target, Input) -> Bool)?

    init(
        in book: RuleBook, for target: RuleTarget, _ settings: Settings,
        _ predicate: (@Sendable (Target, Input) -> Bool)? = nil
    ) {
        self.predicate = predicate
        super.init(in: book, for: target, settings, hasPredicate: predicate != nil)
    }

    override func makeDelayedCall(_ settings: Settings) -> HeldCalls { DelayedCall<Target, Input>(settings) }

    /// A predicate over calls: a call for which it returns true runs at once, on the caller's thread, and the rule
    /// ignores it; delayed calls stay delayed. Nil: no exceptions. A trailing closure of `rule(for:…)` and
    /// `limit(for:…)` is this predicate.
    ///
    /// Called on the caller's thread, with no lock held, so it may change the rules. The call that it was asked about
    /// then follows the changed rules, except their predicates: a call asks one predicate only, and a new rule's takes
    /// effect with the next call.
    ///
    /// The rule retains what the predicate captures. Do not capture the rule's own object: it would never be
    /// deallocated. MessageThrottle: `alwaysInvokeBlock`.
    public var alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? {
        get { book.lock.withLock { predicate } }
        set {
            let old = book.lock.withLock {
                hasPredicate = newValue != nil
                return exchange(&predicate, with: newValue)
            }
            withExtendedLifetime(old) {}  // A captured object's deinit may call the rule: released without the lock.
        }
    }

    /// Merges the inputs of a burst, so that none is lost: combines the inputs so far with that of the next call. Nil,
    /// the default: the next call replaces a delayed one.
    ///
    /// ```swift
    /// rule.merging = { pending, new in pending + new }
    /// ```
    ///
    /// For instance to collect changes, or orders of which none may be missing. In the modes `last` and `debounce` all
    /// delayed calls are kept. When they are due, one call runs for each target, with its inputs merged in the order of
    /// the calls, and the targets in the order of their first calls. So an object never gets the inputs of another
    /// object of its class. In the mode `firstly` it has no effect.
    ///
    /// Changed settings, this property included, do not lose a merging rule's delayed calls either: they run as soon as
    /// the next call comes, on the loop that delayed them, and that call starts a new window. Memory grows with the
    /// calls of a window: `last` bounds it; `debounce` waits as long as calls keep coming.
    ///
    /// Called on the rule's loop, with no lock held, right before the body. The rule retains what it captures.
    public var merging: (@Sendable (_ pending: Input, _ new: Input) -> Input)? {
        // All rules of the book, and so their mergers, belong to one method.
        get { book.lock.withLock { settings.merger as! Merger<Input>? }?.combine }
        set {
            let old = book.lock.withLock { exchange(&settings.merger, with: newValue.map { Merger($0) }) }
            withExtendedLifetime(old) {}  // A captured object's deinit may call the rule: released without the lock.
        }
    }
}
