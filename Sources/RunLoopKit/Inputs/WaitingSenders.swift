/// A message that waits for room in a port's queue, and the answer to the call that sends it. Or a task that waits for
/// a place of a `ConcurrencyLimit`.
///
/// Guarded by the port's or limit's lock, except the answer.
final class WaitingSender<Message: Sendable>: @unchecked Sendable {
    let answer = Promise<Void>()

    /// Nil once it has been moved to the queue, withdrawn or refused.
    fileprivate var message: Message?

    init(_ message: Message) { self.message = message }
}

/// The senders that wait for room in a port, in the order of their calls. Guarded by the port's lock.
struct WaitingSenders<Message: Sendable>: ~Copyable {
    private var line = RingQueue<WaitingSender<Message>>()

    /// The number of waiting senders. The others in the queue have been withdrawn.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ sender: WaitingSender<Message>) {
        line.append(sender)
        count += 1
    }

    /// Removes and returns the first waiting sender and its message.
    mutating func takeFirst() -> (sender: WaitingSender<Message>, message: Message)? {
        while let sender = line.takeFirst() {
            guard let message = sender.message.take() else { continue }
            count -= 1
            return (sender, message)
        }
        return nil
    }

    /// Withdraws a sender. Returns its message, for the caller to release without the lock; nil if it no longer waits.
    mutating func withdraw(_ sender: WaitingSender<Message>) -> Message? {
        guard let message = sender.message.take() else { return nil }
        count -= 1
        // Withdrawn senders stay in the queue until they come to its head, but never more than those that wait: calls
        // that are cancelled while nothing is handled must not use unbounded memory.
        if line.count > 2 * count + 16 { closeRanks() }
        return message
    }

    private mutating func closeRanks() {
        for _ in 0..<line.count {
            let sender = line.removeFirst()
            if sender.message != nil { line.append(sender) }
        }
    }
}
