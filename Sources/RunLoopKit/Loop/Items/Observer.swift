import Synchronization

extension Loop {
    /// Watches a loop go through its passes: called at the activities it asks for.
    ///
    /// Observers alone do not keep a run going. One observer is in one loop at a time, in any number of its modes.
    /// CF: `CFRunLoopObserver`.
    ///
    /// ```swift
    /// let observer = Loop.Observer([.beforeWaiting, .afterWaiting]) { _, activity in print(activity) }
    /// Loop.current.add(observer, in: .common)
    /// ```
    public final class Observer: Item, @unchecked Sendable {
        /// The activities at which the observer is called.
        public let activities: Activity

        /// Whether the observer is called again and again, or is invalid after its first call.
        public let repeats: Bool

        /// Observers of lower order are called earlier; those of equal order in the order in which they were added.
        public let order: Int

        /// Nil once the observer is invalid. Guarded by the item's lock.
        private var handler: (@Sendable (Observer, Activity) -> Void)?

        /// Written by the loop's thread only; an observer that is in another loop by the time its handler returns is
        /// not called there until then.
        private let firing = Atomic<Bool>(false)

        /// Makes an observer.
        ///
        /// - Parameters:
        ///   - activities: When to be called.
        ///   - repeats: `false` invalidates the observer after its first call.
        ///   - order: Its place among the observers of one activity: lower is earlier.
        ///   - handler: Called on the loop's thread with the observer itself and the one activity that it is called
        ///     for. Not called again while it runs, for instance by a nested run.
        public init(
            _ activities: Activity = .all, repeats: Bool = true, order: Int = 0,
            handler: @escaping @Sendable (_ observer: Observer, _ activity: Activity) -> Void
        ) {
            self.activities = activities
            self.repeats = repeats
            self.order = order
            self.handler = handler
        }

        // MARK: For the pass

        func wants(_ activity: Activity) -> Bool {
            !activities.isDisjoint(with: activity) && isValid && !firing.load(ordering: .relaxed)
        }

        func observe(_ activity: Activity) {
            guard isValid else { return }
            firing.store(true, ordering: .relaxed)
            itemLock.withLock { handler }?(self, activity)
            if !repeats { invalidate() }
            firing.store(false, ordering: .relaxed)
        }

        // MARK: Item

        override var canBeInManyLoops: Bool { false }
        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func releaseHandlers() { letGo { handler.take() } }
    }
}
