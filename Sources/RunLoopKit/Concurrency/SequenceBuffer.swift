/// A buffer between a loop that produces elements and a task that awaits them. It keeps the newest ones.
///
/// When it is full it drops the oldest element and merges the loss into the next one, so that no loss is silent.
final class SequenceBuffer<Element: Sendable>: @unchecked Sendable {
    private let lock = Lock(.leaf)
    private let capacity: Int
    private let absorb: @Sendable (_ next: inout Element, _ lost: Element) -> Void

    // Guarded by `lock`.
    private var elements = FirstInFirstOut<Element>()
    private var waiter: CheckedContinuation<Element?, Never>?
    private var isFinished = false

    /// - Parameters:
    ///   - capacity: At least 1; `.max` for all of them.
    ///   - absorb: Merges a lost element into the one after it. Library code only, since the lock is held.
    init(capacity: Int, absorb: @escaping @Sendable (_ next: inout Element, _ lost: Element) -> Void) {
        self.capacity = max(1, capacity)
        self.absorb = absorb
    }

    func put(_ element: Element) {
        let waiting = lock.withLock { () -> CheckedContinuation<Element?, Never>? in
            guard !isFinished else { return nil }
            if let waiter = waiter.take() { return waiter }
            // The loss is merged into the oldest element left, or into the new one if it is the only one.
            var element = element
            if elements.count == capacity, let lost = elements.takeFirst() {
                if var next = elements.first {
                    absorb(&next, lost)
                    elements.replaceFirst(with: next)
                } else {
                    absorb(&element, lost)
                }
            }
            elements.append(element)
            return nil
        }
        waiting?.resume(returning: element)
    }

    /// Ends the sequence after the elements that are in the buffer.
    func finish() {
        let waiting = lock.withLock {
            isFinished = true
            return waiter.take()
        }
        waiting?.resume(returning: nil)
    }

    /// Returns the next element; nil at the end, and for a cancelled task.
    ///
    /// It takes a present element, or calls `ask`, before the task suspends.
    ///
    /// - Parameter ask: Called if there is none and the task is about to wait.
    nonisolated(nonsending) func next(asking ask: () -> Void) async -> Element? {
        if let answer = lock.withLock({ takeAnswer() }) { return answer }
        Lock.assertNoneHeld()  // The loop may put the element in at once.
        ask()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Element?, Never>) in
                let answer = lock.withLock { () -> Element?? in
                    if let answer = takeAnswer() { return answer }
                    waiter = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            finish()
        }
    }

    /// The result, if no wait is needed.
    private func takeAnswer() -> Element?? {
        lock.assertHeld()
        precondition(waiter == nil, "RunLoopKit: two tasks wait for one iterator of a loop's sequence.")
        if Task.isCancelled { return .some(nil) }
        if let element = elements.takeFirst() { return element }
        return isFinished ? .some(nil) : nil
    }
}
