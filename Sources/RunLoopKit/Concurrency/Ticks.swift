extension Loop {
    /// The ticks of a repeating timer, for tasks to iterate.
    ///
    /// ```swift
    /// for await tick in worker.loop.ticks(every: .seconds(1)) {
    ///     print("due at \(tick.scheduledTime), \(tick.missed) missed")
    /// }
    /// ```
    ///
    /// - *An iteration* has its own timer, which is in the loop until the iteration ends: by cancellation, by leaving
    ///   the `for` loop, or by the end of the loop, which ends the sequence.
    /// - *Buffering:* only the newest tick. A tick that the task has not taken when the next is due counts as missed in
    ///   that one, so every instant of the grid is either a tick or counted.
    ///
    /// - Parameters:
    ///   - interval: The interval between two ticks, and before the first. Zero or less means a single tick.
    ///   - tolerance: How much later than due a tick may come; see ``Loop/Timer/tolerance``.
    ///   - mode: The mode in which the loop must run.
    public func ticks(every interval: Duration, tolerance: Duration = .zero, in mode: Mode = .common) -> Ticks {
        Ticks(loop: self, interval: interval, tolerance: tolerance, mode: mode)
    }

    /// A sequence of a timer's ticks. Made by ``Loop/ticks(every:tolerance:in:)``.
    public struct Ticks: AsyncSequence, Sendable {
        /// One tick.
        public struct Tick: Sendable, Equatable {
            /// For tests of code that takes ticks.
            public init(scheduledTime: Instant, missed: Int) {
                self.scheduledTime = scheduledTime
                self.missed = missed
            }

            /// The instant at which it was due.
            public let scheduledTime: Instant
            /// The number of instants of the grid missed since the previous tick, because the loop or the task was
            /// busy.
            public fileprivate(set) var missed: Int
        }

        fileprivate let loop: Loop
        fileprivate let interval: Duration
        fileprivate let tolerance: Duration
        fileprivate let mode: Mode

        /// Begins an iteration, and adds its timer to the loop. On any thread.
        public func makeAsyncIterator() -> Iterator {
            let buffer = SequenceBuffer<Tick>(capacity: 1) { $0.missed += 1 + $1.missed }
            let feed = Feed(buffer)
            let isSingle = interval <= .zero
            let timer = Loop.Timer(
                after: interval, repeating: isSingle ? nil : interval, tolerance: tolerance, file: "ticks of a task",
                line: 0
            ) { firing in
                feed.put(Tick(scheduledTime: firing.scheduledTime, missed: firing.missed))
            }
            loop.insert(timer, in: mode)
            return Iterator(subscription: Subscription(timer, feeds: buffer))
        }

        /// Takes the ticks, one task at a time.
        public typealias Iterator = Loop.InputSequence<Tick>.Iterator
    }
}
