extension Loop {
    /// The answer of a message port, or of a ``PacedQueue``, to what it is offered.
    public enum SendAnswer: Sendable, Hashable {
        /// The message is in the queue.
        case accepted

        /// The queue is at its capacity. The message was not sent.
        case full

        /// The port or queue is invalid; the port is finished; or its loop has ended and the port has been added to no
        /// other. The message was not sent.
        case closed
    }

    /// The error thrown to a sender if the port is invalid or finished, or its loop has ended.
    public struct PortClosed: Error, Hashable, Sendable, CustomStringConvertible {
        /// Makes the error, for tests of senders.
        public init() {}

        /// The reason, and that the message was not sent.
        public var description: String {
            "the message port is invalid or finished, or the loop that it was in has ended: the message was not sent"
        }
    }
}

extension Loop.MessagePort {
    /// Puts a message into the queue, and wakes the loop if it sleeps. Never blocks.
    ///
    /// It makes a system call only if the loop sleeps, the queue was empty and the port is armed. Otherwise the loop
    /// already knows of the port, or need not serve it.
    ///
    /// It is meant for ports without a capacity, which are never full. On a port with a capacity, the first message
    /// that is refused for lack of room is reported as ``Loop/Mistake/refusedMessage(port:capacity:)``. A sender that
    /// drops messages on purpose when there are too many calls ``Loop/MessagePort/trySend(_:)``; one that must not lose
    /// any, ``Loop/MessagePort/send(whenRoom:)``.
    ///
    /// - Returns: Whether the message was accepted. False if the port is full or closed:
    ///   ``Loop/MessagePort/trySend(_:)`` distinguishes the two, and its result cannot be ignored. Messages that were
    ///   accepted before their loop ended wait in the port for another loop.
    @discardableResult
    public func send(_ message: Message) -> Bool {
        let answer = trySend(message)
        if answer == .full { reportRefusal() }
        return answer == .accepted
    }

    /// Puts a message into the queue, as ``Loop/MessagePort/send(_:)`` does, and returns the reason if it cannot. It
    /// does not report a full port. From any thread.
    ///
    /// A port without a capacity is never `full`. One with a capacity is `full` while calls of
    /// ``Loop/MessagePort/send(whenRoom:)`` wait, too, so that no message overtakes theirs.
    ///
    /// Go: `select` with a `default`; Tokio and crossbeam: `try_send`.
    public func trySend(_ message: Message) -> Loop.SendAnswer {
        switch offer(message, waiting: false) {
        case .accepted: .accepted
        case .closed: .closed
        case .full, .waits: .full
        }
    }

    /// Puts a message into the queue as soon as there is room, and suspends until then. With room, or without a
    /// capacity, it does not suspend. In any task. Go: `channel <- message`; Tokio: `Sender::send`.
    ///
    /// ```swift
    /// let port = Loop.MessagePort<String>(capacity: 100) { line in print(line) }
    /// worker.loop.add(port, in: .common)
    /// for try await line in file.lines { try await port.send(whenRoom: line) }  // no faster than they are printed
    /// ```
    ///
    /// - *Order:* a call takes its place on the caller's executor, before it first suspends. So the port accepts the
    ///   messages of one actor, or of one task, in the order of the calls, and waiting messages before all later ones.
    /// - *The end:* a call returns when its message is in the queue. If it throws, the message is not in the queue.
    ///   Removing the port from its loop ends no call. A waiting task keeps the port alive.
    /// - *Deadlock:* a task that iterates the port's messages (``Loop/MessagePort/makeMessages(on:in:capacity:)``) must
    ///   not wait for room itself.
    ///
    /// - Throws: ``Loop/PortClosed`` if the port is invalid or finished, or is invalidated, or its loop ends;
    ///   `CancellationError`, even if the task was cancelled before the call.
    nonisolated(nonsending) public func send(whenRoom message: Message) async throws {
        try Task.checkCancellation()
        switch offer(message, waiting: true) {
        case .accepted: return
        case .closed, .full: throw Loop.PortClosed()
        case .waits(let sender):
            // The call has its place. Only now may it suspend.
            try await sender.answer.value { self.withdraw(sender) }
        }
    }
}
