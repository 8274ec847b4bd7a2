// Limiting a method in one call: making a rule and applying it.

import RunLoopKit

extension LimitedMethod {
    /// Applies a new rule and returns it.
    private func applied(_ rule: MethodRule<Target, Input>) throws(MethodRuleError) -> MethodRule<Target, Input> {
        try rule.apply()
        return rule
    }
}

extension LimitedMethod where Target: AnyObject {
    /// Limits how often the method runs for one object: makes a rule and applies it.
    ///
    /// ```swift
    /// final class Account: Sendable {
    ///     static let trading = LimitedMethod<Account, [Int]>("trade") { _, orders in print("traded \(orders)") }
    ///     func trade(_ order: Int) { Account.trading(self, [order]) }
    /// }
    ///
    /// let account = Account()
    /// try Account.trading.limit(for: account, every: .seconds(1), mode: .last, merging: { $0 + $1 })
    /// for order in 1...3 { account.trade(order) }  // traded [1, 2, 3], a second later
    /// ```
    ///
    /// It replaces a rule that the object has for this method. If it has none, a call on it that its class's rule
    /// delays runs now: see ``RuleEngine/apply(_:)``. The engine keeps the rule until it is discarded or the object is
    /// deallocated, so the result need not be kept. From any thread. MessageThrottle:
    /// `mt_limitSelector:oncePerDuration:usingMode:onMessageQueue:alwaysInvokeBlock:`.
    ///
    /// - Parameters:
    ///   - object: The object whose calls are limited. It is not retained; when it is deallocated the rule discards
    ///     itself.
    ///   - interval: The length of a window. Zero or less: no limit.
    ///   - mode: Which of the calls in a window runs, and when.
    ///   - loop: The loop on whose thread delayed calls run, in its common modes.
    ///   - alwaysRun: Calls for which it returns true run at once, as if there were no rule. A trailing
    ///     closure is this one. See ``MethodRule/alwaysRun``.
    ///   - combine: Merges the inputs of a burst, of which only the last one counts otherwise. See
    ///     ``MethodRule/merging``.
    /// - Returns: The rule, which is in force. Its settings may be changed.
    /// - Throws: The errors of ``RuleEngine/apply(_:)``; `targetIsGone` if the object's `deinit` runs.
    @discardableResult
    public func limit(
        for object: Target, every interval: Duration, mode: AnyMethodRule.Mode = .debounce, on loop: Loop = .main,
        alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? = nil,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil
    ) throws(MethodRuleError) -> MethodRule<Target, Input> {
        try applied(
            rule(for: object, interval: interval, mode: mode, on: loop, alwaysRun: alwaysRun, merging: combine))
    }

    /// Limits how often the method runs for a class and its subclasses, whose objects are counted together: makes a
    /// rule and applies it.
    ///
    /// The rule is persistent if it is a `firstly` rule of more than five seconds and both types have lasting names, as
    /// with MessageThrottle's convenience call. The result's ``AnyMethodRule/isPersistent`` tells, and may be set. To
    /// choose yourself, use `rule(for:…:isPersistent:…)` and ``AnyMethodRule/apply()``.
    ///
    /// - Parameters:
    ///   - type: The class that declares the method, or a subclass.
    ///   - interval: The length of a window. Zero or less: no limit.
    ///   - mode: Which of the calls in a window runs, and when.
    ///   - loop: The loop on whose thread delayed calls run, in its common modes.
    ///   - alwaysRun: Calls for which it returns true run at once, as if there were no rule. A trailing
    ///     closure is this one. See ``MethodRule/alwaysRun``.
    ///   - combine: Merges the inputs of a burst, of which only the last one counts otherwise. See
    ///     ``MethodRule/merging``.
    /// - Returns: The rule, which is in force. It replaces one for the same class.
    /// - Throws: The errors of ``RuleEngine/apply(_:)``; `conflict` if a class above or below has a rule.
    @discardableResult
    public func limit(
        for type: Target.Type, every interval: Duration, mode: AnyMethodRule.Mode = .debounce, on loop: Loop = .main,
        alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? = nil,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil
    ) throws(MethodRuleError) -> MethodRule<Target, Input> {
        try applied(
            rule(
                for: type, interval: interval, mode: mode, on: loop,
                isPersistent: book.isWorthKeeping(interval, mode, for: type), alwaysRun: alwaysRun, merging: combine))
    }
}

extension LimitedMethod {
    /// Limits how often a type's static method runs, which includes calls on a subclass: makes a rule and applies it.
    /// Everything else is as for a class, including persistence.
    @discardableResult
    public func limit<Declaring>(
        for type: Declaring.Type, every interval: Duration, mode: AnyMethodRule.Mode = .debounce, on loop: Loop = .main,
        alwaysRun: (@Sendable (_ target: Target, _ input: Input) -> Bool)? = nil,
        merging combine: (@Sendable (_ pending: Input, _ new: Input) -> Input)? = nil
    ) throws(MethodRuleError) -> MethodRule<Target, Input> where Target == Declaring.Type {
        try applied(
            rule(
                for: type, interval: interval, mode: mode, on: loop,
                isPersistent: book.isWorthKeeping(interval, mode, for: type), alwaysRun: alwaysRun, merging: combine))
    }
}

extension RuleBook {
    /// Whether `limit` makes a rule persistent. Never one that cannot be saved: a caller that has not asked for
    /// persistence must not get an error from it.
    fileprivate func isWorthKeeping(_ interval: Duration, _ mode: AnyMethodRule.Mode, for type: Any.Type) -> Bool {
        mode == .firstly && interval > .seconds(5) && lastingName(of: type) != nil
            && lastingName(of: declaringType) != nil
    }
}
