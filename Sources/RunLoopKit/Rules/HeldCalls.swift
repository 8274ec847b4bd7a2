/// What a rule in the modes `last` and `debounce` holds back until its time: a limiter, and the settings that it was
/// made for.
protocol HeldBack: AnyObject, Sendable {
    var window: ThrottleRule.Settings.Window { get }

    /// How the sender of a message adds it.
    var verdict: RuleBook.Verdict { get }

    /// Runs what is held back, on the rule's loop.
    func flush()

    /// A message under changed settings has come, which this limiter does not get. Called without a lock.
    func giveWay()
}
