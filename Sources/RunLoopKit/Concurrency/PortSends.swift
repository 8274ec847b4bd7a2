extension Loop.PortSource {
    /// Makes a port and the sequence of its sends, for a task to iterate.
    ///
    /// ```swift
    /// let (port, sends) = try Loop.PortSource.makeSends(on: worker.loop)
    /// port.send()  // from any thread, also from a signal handler
    /// for await count in sends { print("\(count) sends") }
    /// ```
    ///
    /// The port is in the loop at once. It leaves it when the sequence and its iterator have gone, when the task that
    /// iterates is cancelled, and when the port is invalidated, which ends the sequence; so does the end of the loop. If the
    /// loop has ended already, the sequence is empty.
    ///
    /// *Buffering:* sends that come while the task is busy are one element, with their number: none is lost.
    ///
    /// - Parameters:
    ///   - loop: The loop that waits for the port.
    ///   - mode: In which mode the loop has to run.
    /// - Throws: `LoopError` from `eventfd`, when the process has no descriptor left.
    public static func makeSends(
        on loop: Loop, in mode: Loop.Mode = .common
    ) throws(LoopError) -> (port: Loop.PortSource, sends: Sends) {
        let buffer = SequenceBuffer<Int>(capacity: 1) { $0 += $1 }
        let feed = Feed(buffer)
        let port = try Loop.PortSource { feed.put($0) }
        return (port, Sends(subscription: Subscription(adding: port, to: loop, in: mode, feeds: buffer)))
    }

    /// A sequence of numbers of sends. Made by `makeSends(on:in:)`. All its iterators share the elements: one task
    /// iterates.
    public struct Sends: AsyncSequence, Sendable {
        fileprivate let subscription: Subscription<Int>

        /// Begins, or goes on with, the iteration.
        public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

        /// Takes the numbers of sends, one task at a time.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let subscription: Subscription<Int>

            /// How many sends there were since the last call, at least 1; nil when the task is cancelled, the port is
            /// invalid or the loop has ended.
            public nonisolated(nonsending) mutating func next() async -> Int? { await subscription.next() }

            /// The same, without leaving the caller's actor.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
                await subscription.next()
            }
        }
    }
}
