extension Loop.MessagePort {
    /// Makes a port, and the sequence of its messages for a task to iterate. On any thread.
    ///
    /// ```swift
    /// let (port, messages) = Loop.MessagePort<String>.makeMessages(on: worker.loop)
    /// port.send("hello")  // from any thread
    /// for await line in messages { print(line) }
    /// ```
    ///
    /// The messages arrive in the order in which the port's handler would get them.
    ///
    /// **The end:**
    ///
    /// - After ``Loop/MessagePort/finish()`` the messages that were sent before are elements; then the sequence ends.
    /// - At the end of the loop every accepted message, in any mode, is an element; then the sequence ends. If the loop
    ///   has ended already, the sequence is empty and the port invalid.
    /// - Cancelling the iterating task, and invalidating the port, end the sequence. Waiting messages are dropped, and
    ///   the port leaves the loop. It leaves the loop, too, when the sequence and its iterator are deallocated.
    /// - A call of ``Loop/MessagePort/send(whenRoom:)`` that waits then throws ``Loop/PortClosed``, and its message is
    ///   no element.
    ///
    /// **Buffering:** the port's own queue. The port is one-shot and rearmed when the task requests an element, so no
    /// message is taken out before a task waits for it. `waitingCount` shows senders how far the task is behind. With a
    /// `capacity` of 10, no sender is more than 10 messages ahead of the task.
    ///
    /// **The loop's part:** it decides when messages arrive, and does not carry them. While its innermost run is in a
    /// mode of the port, the task takes waiting messages from the port, and a sender resumes a waiting task, even if
    /// the loop's thread is busy. Messages sent at other times arrive once the loop runs in such a mode, the first by a
    /// pass of the loop.
    ///
    /// - Parameters:
    ///   - loop: The loop that waits for the port. The port is in it at once.
    ///   - mode: The mode in which the loop must run.
    ///   - capacity: The maximum number of waiting messages; less than 1 counts as 1. Nil means no limit.
    public static func makeMessages(
        on loop: Loop, in mode: Loop.Mode = .common, capacity: Int? = nil
    ) -> (port: Loop.MessagePort<Message>, messages: Messages) {
        // One at a time, except for the rest at the loop's end.
        let buffer = SequenceBuffer<Message>(capacity: .max) { _, _ in }
        let feed = Feed(buffer)
        let port = Loop.MessagePort<Message>(forTaskWithCapacity: capacity, wakeTask: { buffer.wake() }) {
            feed.put($0)
        }
        let subscription = Subscription(
            adding: port, to: loop, in: mode, feeds: buffer, takingFrom: port,
            farewell: {
                // It may have left the loop, which then does not tell it.
                port.loopHasEnded()
                for message in port.takeWaiting() { buffer.put(message) }
            })
        return (port, Messages(subscription: subscription))
    }

    /// The messages of a port. Made by ``Loop/MessagePort/makeMessages(on:in:capacity:)``.
    public typealias Messages = Loop.InputSequence<Message>
}
