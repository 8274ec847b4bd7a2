extension Loop {
    /// What a message port answers to a message that it is offered.
    public enum SendAnswer: Sendable, Hashable {
        /// The message is in the queue.
        case accepted

        /// The queue holds as many messages as the port's capacity allows. The message was not sent.
        case full

        /// The port is invalid, or the loop that it was in has ended and no other has it. The message was not sent.
        case closed
    }

    /// What is thrown to a sender whose message a port did not accept, because the port is invalid or its loop has
    /// ended.
    public struct PortClosed: Error, Hashable, Sendable, CustomStringConvertible {
        /// For tests of what senders do about it.
        public init() {}

        /// What has happened, and that the message was not sent.
        public var description: String {
            "the message port is invalid, or the loop that it was in has ended: the message was not sent"
        }
    }
}

extension Loop.MessagePort {
    /// Puts a message into the queue, and wakes the loop if it sleeps. Never waits.
    ///
    /// It costs a system call only if the loop sleeps, the queue was empty and the port is armed: otherwise the loop is
    /// on its way to it, or need not come.
    ///
    /// - Returns: Whether the message was accepted. False when the port is full, or closed: `trySend(_:)` says which of
    ///   them, and its answer cannot be overlooked. Messages that were accepted before their loop ended wait in the
    ///   port for another loop.
    @discardableResult
    public func send(_ message: Message) -> Bool { trySend(message) == .accepted }

    /// Puts a message into the queue, as `send(_:)` does, and says why if it cannot.
    ///
    /// A port without a capacity is never `full`. One with a capacity is full also as long as calls of
    /// `send(whenRoom:)` wait, so nothing overtakes them.
    ///
    /// Go: `select` with a `default`; Tokio and crossbeam: `try_send`.
    public func trySend(_ message: Message) -> Loop.SendAnswer {
        switch offer(message, waiting: false) {
        case .accepted: .accepted
        case .closed: .closed
        case .full, .waits: .full
        }
    }

    /// Puts a message into the queue as soon as there is room for it, and suspends until then. Where there is room
    /// already, or no capacity, it does not suspend.
    ///
    /// **Order.** A call enters the line on the caller's executor, before it suspends for the first time: calls of one
    /// actor, or of one task, are accepted in the order in which they were made, and those that wait before all that
    /// come later.
    ///
    /// **The end.** Every call that waits gets an answer: it returns when its message is in the queue, and throws when
    /// the port is invalidated, when its loop ends, and when its task is cancelled. A message is in the queue or its
    /// call throws, never both. Taking a port out of its loop is no end: calls go on waiting until it is in a loop
    /// again. A task that waits keeps the port alive. One that has to handle the messages itself, by iterating
    /// `makeMessages(on:in:capacity:)`, would wait for itself.
    ///
    /// ```swift
    /// let port = Loop.MessagePort<String>(capacity: 100) { line in print(line) }
    /// worker.loop.add(port, in: .common)
    /// for try await line in file.lines { try await port.send(whenRoom: line) }  // no faster than they are printed
    /// ```
    ///
    /// - Throws: `Loop.PortClosed`; `CancellationError`, also when the task was cancelled before the call.
    ///
    /// Go: `channel <- message`; Tokio: `Sender::send`.
    nonisolated(nonsending) public func send(whenRoom message: Message) async throws {
        try Task.checkCancellation()
        switch offer(message, waiting: true) {
        case .accepted: return
        case .closed, .full: throw Loop.PortClosed()
        case .waits(let sender):
            // The call is in the line. Now, and not before, it may suspend.
            try await sender.answer.value { self.withdraw(sender) }
        }
    }
}
