/// The calls that a rule in the modes `last` and `debounce` delays: a limiter, and the window that it was made for.
protocol HeldCalls: AnyObject, Sendable {
    var window: ThrottleRule.Settings.Window { get }

    /// How a call is added.
    var verdict: RuleBook.Verdict { get }

    /// Runs the delayed calls, on the rule's loop.
    func flush()

    /// A call under changed settings has come, which this limiter does not get. Called without a lock.
    func giveWay()
}
