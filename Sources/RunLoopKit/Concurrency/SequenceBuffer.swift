/// Where a loop puts what a task waits for: a buffer of the newest elements, and one task at most that waits for the
/// next.
///
/// When it is full the oldest element goes, and the next one is told, so that nothing is passed over in silence.
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
    ///   - absorb: Tells an element that the one before it is lost. Library code only: called with the lock held.
    init(capacity: Int, absorb: @escaping @Sendable (_ next: inout Element, _ lost: Element) -> Void) {
        self.capacity = max(1, capacity)
        self.absorb = absorb
    }

    func put(_ element: Element) {
        let waiting = lock.withLock { () -> CheckedContinuation<Element?, Never>? in
            guard !isFinished else { return nil }
            if let waiter {
                self.waiter = nil
                return waiter
            }
            // Told before it lines up; if it is the only one there is room for, it is told itself.
            var element = element
            if elements.count == capacity, let lost = elements.takeFirst() {
                if let next = elements.first {
                    var told = next
                    absorb(&told, lost)
                    elements.replaceFirst(with: told)
                } else {
                    absorb(&element, lost)
                }
            }
            elements.append(element)
            return nil
        }
        waiting?.resume(returning: element)
    }

    /// No element comes any more; those that are there still do.
    func finish() {
        let waiting = lock.withLock { () -> CheckedContinuation<Element?, Never>? in
            isFinished = true
            defer { waiter = nil }
            return waiter
        }
        waiting?.resume(returning: nil)
    }

    /// The next element; nil at the end, and for a cancelled task.
    ///
    /// An element that is there is taken, and `ask` called, before the task suspends.
    ///
    /// - Parameter ask: Called when there is none yet and the task is going to wait.
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

    /// What there is to return without waiting.
    private func takeAnswer() -> Element?? {
        lock.assertHeld()
        precondition(waiter == nil, "RunLoopKit: two tasks wait for one iterator of a loop's sequence.")
        if Task.isCancelled { return .some(nil) }
        if let element = elements.takeFirst() { return element }
        return isFinished ? .some(nil) : nil
    }
}
