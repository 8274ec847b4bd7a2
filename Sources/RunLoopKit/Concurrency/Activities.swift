extension Loop {
    /// The activities of a loop, for tasks to iterate: the calls of an observer, one after the other.
    ///
    /// ```swift
    /// for await passage in worker.loop.activities([.beforeWaiting, .afterWaiting]) {
    ///     print(passage.activity)
    /// }
    /// ```
    ///
    /// - *An iteration* has its own observer, which is in the loop until the iteration ends: by cancellation, by
    ///   leaving the `for` loop, or by the end of the loop, which ends the sequence.
    /// - *Buffering:* the newest `limit` activities. The next element counts the dropped ones.
    /// - *A task that iterates on the observed loop* keeps that loop busy: every activity enqueues a job, which causes
    ///   further activities.
    ///
    /// - Parameters:
    ///   - activities: The activities to report.
    ///   - limit: The maximum number that wait for the task; less than 1 counts as 1.
    ///   - mode: The mode in which the loop must run.
    public func activities(
        _ activities: Activity = .all, bufferingNewest limit: Int = 256, in mode: Mode = .common
    ) -> Activities {
        Activities(loop: self, activities: activities, limit: limit, mode: mode)
    }

    /// A sequence of a loop's activities. Made by ``Loop/activities(_:bufferingNewest:in:)``.
    public struct Activities: AsyncSequence, Sendable {
        /// One activity that the loop went through.
        public struct Passage: Sendable, Equatable {
            /// For tests of code that takes activities.
            public init(activity: Activity, time: Instant, missed: Int) {
                self.activity = activity
                self.time = time
                self.missed = missed
            }

            /// The activity.
            public let activity: Activity
            /// Its time, on the loop's clock.
            public let time: Instant
            /// The number of dropped activities between the previous element and this one.
            public fileprivate(set) var missed: Int
        }

        fileprivate let loop: Loop
        fileprivate let activities: Activity
        fileprivate let limit: Int
        fileprivate let mode: Mode

        /// Begins an iteration, and adds its observer to the loop. On any thread.
        public func makeAsyncIterator() -> Iterator {
            let buffer = SequenceBuffer<Passage>(capacity: limit) { $0.missed += 1 + $1.missed }
            let feed = Feed(buffer)
            let observer = Loop.Observer(activities, file: "activities for a task", line: 0) {
                [unowned(unsafe) loop = self.loop] _, activity in
                // The loop is alive: it is the caller.
                feed.put(Passage(activity: activity, time: loop.now, missed: 0))
            }
            loop.insert(observer, in: mode)
            return Iterator(subscription: Subscription(observer, feeds: buffer))
        }

        /// Takes the activities, one task at a time.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let subscription: Subscription<Passage>

            /// Waits for the next activity. Nil if the task is cancelled or the loop has ended.
            public nonisolated(nonsending) mutating func next() async -> Passage? { await subscription.next() }

            /// The same, without leaving the caller's actor.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Passage? {
                await subscription.next()
            }
        }
    }
}
