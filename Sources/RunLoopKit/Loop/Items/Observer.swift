import Synchronization

extension Loop {
    /// Observes the passes of a loop: the loop calls its handler at the activities that it names. Any thread may use
    /// it; the handler runs on the loop's thread.
    ///
    /// The handler gets the observer and the activity; the loop is ``Loop/current``. Observers alone do not keep a run
    /// going. An observer can be in several modes, but only in one loop at a time. One whose handler exits its thread
    /// (`pthread_exit`) counts as being called for ever: another loop that it joins never calls it. CF:
    /// `CFRunLoopObserver`.
    ///
    /// ```swift
    /// let observer = Loop.Observer([.beforeWaiting, .afterWaiting]) { _, activity in print(activity) }
    /// Loop.current.add(observer, in: .common)
    /// ```
    public final class Observer: Item, @unchecked Sendable {
        /// The activities at which the observer is called.
        public let activities: Activity

        /// Whether the observer is called repeatedly. If not, it is invalid after its first call.
        public let repeats: Bool

        /// Observers of lower order are called earlier; those of equal order in the order in which they were added.
        public let order: Int

        /// Nil once the observer is invalid. Guarded by the item's lock.
        @exclusivity(unchecked) private var handler: (@Sendable (Observer, Activity) -> Void)?

        /// Whether the handler must not be called now: it is being called, or there is none. Written only by the loop's
        /// thread, and by the one that sets the first handler. If the observer joins another loop before its handler
        /// returns, that loop does not call it until then.
        private let firing = Atomic<Bool>(false)

        /// Makes an observer.
        ///
        /// - Parameters:
        ///   - activities: The activities at which the observer is called.
        ///   - repeats: Whether to call the observer repeatedly. If `false`, the first call invalidates it.
        ///   - order: Its place among the observers of one activity: lower is earlier.
        ///   - label: What diagnostics call the observer; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the observer, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread with the observer itself and the one activity that it is called
        ///     for. Not called again while it runs, such as by a nested run. Nil to set it later:
        ///     ``setHandler(_:)``.
        public init(
            _ activities: Activity = .all, repeats: Bool = true, order: Int = 0, label: String? = nil,
            file: StaticString = #fileID,
            line: UInt = #line,
            handler: (@Sendable (_ observer: Observer, _ activity: Activity) -> Void)? = nil
        ) {
            self.activities = activities
            self.repeats = repeats
            self.order = order
            self.handler = handler
            super.init(Place(file, line), label)
            if handler == nil {
                firing.store(true, ordering: .relaxed)
                waitForHandler()
            }
        }

        /// Sets what the loop calls, from the next activity on. ``Loop/Item`` has the rules: a call that runs finishes
        /// with the old handler.
        ///
        /// - Parameter handler: Called on the loop's thread with the observer and the activity.
        /// - Returns: Whether the observer is valid, and has the handler.
        @discardableResult
        public func setHandler(
            _ handler: @escaping @Sendable (_ observer: Observer, _ activity: Activity) -> Void
        ) -> Bool {
            set(handler, .nothing)
        }

        func set(_ handler: @escaping @Sendable (Observer, Activity) -> Void, _ isolation: Isolation) -> Bool {
            var new: (@Sendable (Observer, Activity) -> Void)? = handler
            return replaceHandler(isolation) {
                swap(&self.handler, &new)
                if !hasHandler { firing.store(false, ordering: .relaxed) }
            }
        }

        // MARK: For the pass

        func wants(_ activity: Activity) -> Bool {
            !activities.isDisjoint(with: activity) && isValid && !firing.load(ordering: .relaxed)
        }

        func observe(_ activity: Activity) {
            firing.store(true, ordering: .relaxed)
            currentHandler?(self, activity)
            if !repeats { invalidate() }
            firing.store(false, ordering: .relaxed)
        }

        /// Not by `withLock`, whose generic result would wrap the closure: an allocation, 300 instructions.
        private var currentHandler: (@Sendable (Observer, Activity) -> Void)? {
            itemLock.lock()
            defer { itemLock.unlock() }
            return handler
        }

        // MARK: Item

        override var kind: String { "observer" }

        override var status: ItemStatus {
            if firing.load(ordering: .relaxed), hasHandler { return .inHandler }
            return .waits("\(activities), order \(order)" + (repeats ? "" : ", once"))
        }

        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }

        override func releaseHandlers() { releaseUnlocked { handler.take() } }
    }
}
