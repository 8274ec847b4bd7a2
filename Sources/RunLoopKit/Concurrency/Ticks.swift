extension Loop {
    /// The ticks of a repeating timer, for tasks to iterate.
    ///
    /// ```swift
    /// for await tick in worker.loop.ticks(every: .seconds(1)) {
    ///     print("due at \(tick.scheduledTime), \(tick.missed) missed")
    /// }
    /// ```
    ///
    /// Every iteration has a timer of its own, which is added when it begins and leaves the loop when it ends: by
    /// cancellation, by leaving the `for` loop, or because the loop has ended, which ends the sequence.
    ///
    /// *Buffering:* the newest tick alone. One that nobody has taken when the next is due counts as missed in it, so every
    /// instant of the grid is either a tick or counted.
    ///
    /// - Parameters:
    ///   - interval: The distance of two ticks; the first one comes after one interval. Zero or less: a single tick.
    ///   - tolerance: How much later than due a tick may come; see `Timer.tolerance`.
    ///   - mode: In which mode the loop has to run.
    public func ticks(every interval: Duration, tolerance: Duration = .zero, in mode: Mode = .common) -> Ticks {
        Ticks(loop: self, interval: interval, tolerance: tolerance, mode: mode)
    }

    /// A sequence of a timer's ticks. Made by `Loop.ticks(every:tolerance:in:)`.
    public struct Ticks: AsyncSequence, Sendable {
        /// One tick.
        public struct Tick: Sendable, Equatable {
            /// For tests of what takes ticks.
            public init(scheduledTime: Instant, missed: Int) {
                self.scheduledTime = scheduledTime
                self.missed = missed
            }

            /// The instant that it was due at.
            public let scheduledTime: Instant
            /// How many instants of the grid were passed over since the tick before, because the loop or the task was
            /// busy.
            public fileprivate(set) var missed: Int
        }

        fileprivate let loop: Loop
        fileprivate let interval: Duration
        fileprivate let tolerance: Duration
        fileprivate let mode: Mode

        /// Begins an iteration: its timer is in the loop from now on. On any thread.
        public func makeAsyncIterator() -> Iterator {
            let buffer = SequenceBuffer<Tick>(capacity: 1) { $0.missed += 1 + $1.missed }
            let feed = Feed(buffer)
            let isSingle = interval <= .zero
            let timer = Loop.Timer(after: interval, repeating: isSingle ? nil : interval, tolerance: tolerance) {
                firing in
                feed.put(Tick(scheduledTime: firing.scheduledTime, missed: firing.missed))
            }
            loop.add(timer, in: mode)
            return Iterator(subscription: Subscription(timer, feeds: buffer))
        }

        /// Takes the ticks, one task at a time.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let subscription: Subscription<Tick>

            /// The next tick; nil when the task is cancelled or the loop has ended.
            public nonisolated(nonsending) mutating func next() async -> Tick? { await subscription.next() }

            /// The next tick, without leaving the caller's actor.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Tick? {
                await subscription.next()
            }
        }
    }
}
