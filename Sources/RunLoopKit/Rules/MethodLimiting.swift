// Limiting a message in one call: a rule that is made and applied.

extension Message {
    /// Applies a new rule, as `ThrottleEngine.apply(_:)` does.
    private func applied(_ rule: MessageRule<Target, Input>) throws(ThrottleRuleError) -> MessageRule<Target, Input> {
        try rule.apply()
        return rule
    }
}

extension Message where Target: AnyObject {
    /// Limits how often the message runs for one object: makes a rule and puts it into force.
    ///
    /// ```swift
    /// final class Account: Sendable {
    ///     static let trading = Message<Account, [Int]>("trade") { account, orders in print("traded \(orders)") }
    ///     func trade(_ order: Int) { Account.trading(self, [order]) }
    /// }
    ///
    /// let account = Account()
    /// try Account.trading.limit(for: account, every: .seconds(1), mode: .last, merging: { $0 + $1 })
    /// for order in 1...3 { account.trade(order) }  // traded [1, 2, 3], a second later
    /// ```
    ///
    /// A rule that the object has for this message already is replaced. The engine keeps the rule until it is
    /// discarded or the object goes, so the result need not be kept. From any thread. MessageThrottle:
    /// `mt_limitSelector:oncePerDuration:usingMode:onMessageQueue:alwaysInvokeBlock:`.
    ///
    /// - Parameters:
    ///   - object: Whose messages are limited. It is not retained.
    ///   - interval: How long a window is. Zero or less: no limit.
    ///   - mode: Which of the messages in a window runs, and when.
    ///   - loop: On whose thread messages run that were held back, in its common modes.
    ///   - alwaysRun: Messages for which it says true run at once. See `MessageRule.alwaysRun`.
    ///   - combine: Merges the inputs of a burst. See `MessageRule.merging`.
    /// - Returns: The rule, which is in force. Its settings may be changed.
    /// - Throws: What `ThrottleEngine.apply(_:)` throws, as `targetIsGone` where the object's `deinit` runs.
    @discardableResult
    public func limit(
        for object: Target, every interval: Duration, mode: ThrottleRule.Mode = .debounce, on loop: Loop = .main,
        alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? = nil,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil
    ) throws(ThrottleRuleError) -> MessageRule<Target, Input> {
        try applied(
            rule(for: object, interval: interval, mode: mode, on: loop, alwaysRun: alwaysRun, merging: combine))
    }

    /// Limits how often the message runs for a class and its subclasses, whose objects are counted together: makes a
    /// rule and puts it into force.
    ///
    /// The rule is persistent if it is a `firstly` rule of more than five seconds and both types have names that last:
    /// MessageThrottle's convenience call keeps just these. `isPersistent` of the result says which it is, and may be
    /// set. Where the program itself is to say it, there is `rule(for:…:isPersistent:…)` and `ThrottleRule.apply()`.
    ///
    /// - Parameters:
    ///   - type: The class that declares the message, or a subclass.
    ///   - interval, mode, loop, alwaysRun, combine: As for an object.
    /// - Returns: The rule, which is in force. A rule for the same class is replaced.
    /// - Throws: What `ThrottleEngine.apply(_:)` throws: `conflict`, when a class above or below has a rule.
    @discardableResult
    public func limit(
        for type: Target.Type, every interval: Duration, mode: ThrottleRule.Mode = .debounce, on loop: Loop = .main,
        alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? = nil,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil
    ) throws(ThrottleRuleError) -> MessageRule<Target, Input> {
        try applied(
            rule(
                for: type, interval: interval, mode: mode, on: loop,
                isPersistent: book.isWorthKeeping(interval, mode, for: type), alwaysRun: alwaysRun, merging: combine))
    }
}

extension Message {
    /// Limits how often a type's static message runs, also when it is called on a subclass: makes a rule and puts it
    /// into force. All else is as for a class, persistence included.
    @discardableResult
    public func limit<Declaring>(
        for type: Declaring.Type, every interval: Duration, mode: ThrottleRule.Mode = .debounce, on loop: Loop = .main,
        alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? = nil,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil
    ) throws(ThrottleRuleError) -> MessageRule<Target, Input> where Target == Declaring.Type {
        try applied(
            rule(
                for: type, interval: interval, mode: mode, on: loop,
                isPersistent: book.isWorthKeeping(interval, mode, for: type), alwaysRun: alwaysRun, merging: combine))
    }
}

extension RuleBook {
    /// Whether a rule that does not say so itself is persistent. One that could not be saved never is: who has not
    /// asked for it must not get an error from it.
    fileprivate func isWorthKeeping(_ interval: Duration, _ mode: ThrottleRule.Mode, for type: Any.Type) -> Bool {
        mode == .firstly && interval > .seconds(5) && lastingName(of: type) != nil
            && lastingName(of: declaringType) != nil
    }
}
