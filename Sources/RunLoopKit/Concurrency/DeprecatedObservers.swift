// A form that lasts for one version.

extension Loop.Observer {
    /// Makes an observer whose handler is isolated to an actor, and does not get the observer.
    @available(*, deprecated, message: "The handler gets the observer, too: { actor, observer, activity in … }")
    public convenience init<A: Actor>(
        _ activities: Loop.Activity = .all, repeats: Bool = true, order: Int = 0, isolation actor: A,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ activity: Loop.Activity) -> Void
    ) {
        self.init(
            activities, repeats: repeats, order: order, isolation: actor, label: label, file: file, line: line
        ) { (actor: isolated A, _: Loop.Observer, activity: Loop.Activity) in
            handler(actor, activity)
        }
    }
}
