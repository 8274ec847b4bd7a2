extension Loop {
    /// What a loop does, for tasks to iterate: an observer's calls, one after the other.
    ///
    /// ```swift
    /// for await passage in worker.loop.activities([.beforeWaiting, .afterWaiting]) {
    ///     print(passage.activity)
    /// }
    /// ```
    ///
    /// Every iteration has an observer of its own, which is added when it begins and leaves the loop when it ends: by
    /// cancellation, by leaving the `for` loop, or because the loop has ended, which ends the sequence. A task that
    /// iterates on the observed loop itself keeps it busy: every activity is a job for it, and makes others.
    ///
    /// *Buffering:* the newest `limit`. What was dropped is counted in the one that comes next.
    ///
    /// - Parameters:
    ///   - activities: Which ones.
    ///   - limit: How many wait for the task at most; less than 1 counts as 1.
    ///   - mode: In which mode the loop has to run.
    public func activities(
        _ activities: Activity = .all, bufferingNewest limit: Int = 256, in mode: Mode = .common
    ) -> Activities {
        Activities(loop: self, activities: activities, limit: limit, mode: mode)
    }

    /// A sequence of a loop's activities. Made by `Loop.activities(_:bufferingNewest:in:)`.
    public struct Activities: AsyncSequence, Sendable {
        /// One activity that the loop went through.
        public struct Passage: Sendable, Equatable {
            /// For tests of what takes activities.
            public init(activity: Activity, time: Instant, missed: Int) {
                self.activity = activity
                self.time = time
                self.missed = missed
            }

            /// What the loop did.
            public let activity: Activity
            /// When, on the loop's clock.
            public let time: Instant
            /// How many were dropped between the one before and this one, because nobody took them.
            public fileprivate(set) var missed: Int
        }

        fileprivate let loop: Loop
        fileprivate let activities: Activity
        fileprivate let limit: Int
        fileprivate let mode: Mode

        /// Begins an iteration: its observer is in the loop from now on. On any thread.
        public func makeAsyncIterator() -> Iterator {
            let buffer = SequenceBuffer<Passage>(capacity: limit) { $0.missed += 1 + $1.missed }
            let feed = Feed(buffer)
            let observer = Loop.Observer(activities) { [unowned(unsafe) loop = self.loop] _, activity in
                // The loop that calls is there.
                feed.put(Passage(activity: activity, time: loop.now, missed: 0))
            }
            loop.add(observer, in: mode)
            return Iterator(subscription: Subscription(observer, feeds: buffer))
        }

        /// Takes the activities, one task at a time.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let subscription: Subscription<Passage>

            /// The next one; nil when the task is cancelled or the loop has ended.
            public nonisolated(nonsending) mutating func next() async -> Passage? { await subscription.next() }

            /// The next one, without leaving the caller's actor.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Passage? {
                await subscription.next()
            }
        }
    }
}
