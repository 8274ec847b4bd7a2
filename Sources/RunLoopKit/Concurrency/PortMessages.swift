extension Loop.MessagePort {
    /// Makes a port and the sequence of its messages, for a task to iterate.
    ///
    /// ```swift
    /// let (port, messages) = Loop.MessagePort<String>.makeMessages(on: worker.loop)
    /// port.send("hello")  // from any thread
    /// for await line in messages { print(line) }
    /// ```
    ///
    /// The messages come in the order in which the port's handler would get them, and none is lost, also not at the end of
    /// the loop: what the port has accepted by then, in whichever mode, is still an element, and then the sequence ends.
    ///
    /// The port is in the loop at once. It leaves it when the sequence and its iterator have gone, when the task that
    /// iterates is cancelled, and when the port is invalidated, which ends the sequence; in these cases what waits is dropped,
    /// since nobody asks for it any more. If the loop has ended already, the sequence is empty, and the port invalid.
    ///
    /// *Buffering:* the port's own queue. The port is one-shot and rearmed when the task asks for an element: so no message
    /// is taken out before a task waits for it, `waitingCount` tells senders how far the task is behind, and a `capacity`
    /// holds them up: with one of 10, no sender is more than 10 messages ahead of the task. Without one there is no limit.
    /// The price is a pass of the loop for each message; who needs more uses a handler.
    ///
    /// A call of `send(whenRoom:)` that waits when the sequence ends throws `Loop.PortClosed`; its message is no element.
    ///
    /// - Parameters:
    ///   - loop: The loop that waits for the port.
    ///   - mode: In which mode the loop has to run.
    ///   - capacity: How many messages may wait, at least 1: less counts as 1. Nil for no bound.
    public static func makeMessages(
        on loop: Loop, in mode: Loop.Mode = .common, capacity: Int? = nil
    ) -> (port: Loop.MessagePort<Message>, messages: Messages) {
        // One at a time, but for what is left over at the end.
        let buffer = SequenceBuffer<Message>(capacity: .max) { _, _ in }
        let feed = Feed(buffer)
        let port = Loop.MessagePort<Message>(capacity: capacity, isOneShot: true) { feed.put($0) }
        port.disarm()
        let subscription = Subscription(adding: port, to: loop, in: mode, feeds: buffer) { [weak port] in
            port?.rearm()
        } farewell: {
            for message in port.takeWaiting() { buffer.put(message) }
        }
        return (port, Messages(subscription: subscription))
    }

    /// A sequence of a port's messages. Made by `makeMessages(on:in:capacity:)`. All its iterators share the elements: one task
    /// iterates.
    public struct Messages: AsyncSequence, Sendable {
        fileprivate let subscription: Subscription<Message>

        /// Begins, or goes on with, the iteration.
        public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

        /// Takes the messages, one task at a time.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let subscription: Subscription<Message>

            /// The next message; nil when the task is cancelled, the port is invalid or the loop has ended.
            public nonisolated(nonsending) mutating func next() async -> Message? { await subscription.next() }

            /// The next message, without leaving the caller's actor.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Message? {
                await subscription.next()
            }
        }
    }
}
