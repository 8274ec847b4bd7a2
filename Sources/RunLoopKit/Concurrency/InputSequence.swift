extension Loop {
    /// The elements that an input of a loop delivers, for a task to iterate. Made together with the input, such as by
    /// ``Loop/MessagePort/makeMessages(on:in:capacity:)``.
    ///
    /// All its iterators share the elements, so only one task iterates: a second one that waits at the same time traps.
    public struct InputSequence<Element: Sendable>: AsyncSequence, Sendable {
        let subscription: Subscription<Element>

        /// Begins or continues the iteration.
        public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

        /// Takes the elements, one task at a time.
        public struct Iterator: AsyncIteratorProtocol {
            let subscription: Subscription<Element>

            /// Waits for the next element. Nil if the task is cancelled, the input is invalid or the loop has ended.
            public nonisolated(nonsending) mutating func next() async -> Element? { await subscription.next() }

            /// The same, without leaving the caller's actor.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
                await subscription.next()
            }
        }
    }
}
