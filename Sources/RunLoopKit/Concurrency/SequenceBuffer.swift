/// A buffer between a loop that produces elements and a task that awaits them. It keeps the newest ones.
///
/// When it is full it drops the oldest element and merges the loss into the next one, so that no loss is silent.
///
/// The library's generic code runs unspecialized in programs, where each use of `Element?` as a type costs a look-up.
/// So a continuation carries no element: the task takes it from the buffer.
final class SequenceBuffer<Element: Sendable>: @unchecked Sendable {
    private let lock = Lock(.leaf)
    private let capacity: Int
    private let absorb: @Sendable (_ next: inout Element, _ lost: Element) -> Void

    // Guarded by `lock`, and therefore without checks of exclusivity.

    @exclusivity(unchecked) private var elements = RingQueue<Element>()
    /// The task, while it waits. Unchecked: whatever takes it out resumes it.
    @exclusivity(unchecked) private var waiter: UnsafeContinuation<Void, Never>?
    @exclusivity(unchecked) private var isFinished = false
    /// Whether the task was woken since it last waited.
    @exclusivity(unchecked) private var isWoken = false

    /// - Parameters:
    ///   - capacity: At least 1; `.max` for all of them.
    ///   - absorb: Merges a lost element into the one after it. Library code only, since the lock is held.
    init(capacity: Int, absorb: @escaping @Sendable (_ next: inout Element, _ lost: Element) -> Void) {
        self.capacity = max(1, capacity)
        self.absorb = absorb
    }

    // MARK: For the loop

    func put(_ element: Element) {
        lock.lock()
        guard !isFinished else { return lock.unlock() }
        elements.append(element)
        // The loss is merged into the oldest element left, which may be the new one.
        if elements.count > capacity {
            let lost = elements.removeFirst()
            elements.changeFirst { absorb(&$0, lost) }
        }
        let waiting = waiter.take()
        lock.unlock()
        waiting?.resume()
    }

    /// Ends the task's present wait, or the next one if it does not wait: it may find an element elsewhere.
    func wake() {
        lock.lock()
        isWoken = true
        let waiting = waiter.take()
        lock.unlock()
        waiting?.resume()
    }

    /// Ends the sequence after the elements that are in the buffer.
    func finish() {
        lock.lock()
        isFinished = true
        let waiting = waiter.take()
        lock.unlock()
        waiting?.resume()
    }

    // MARK: For the task

    /// Whether there is an element, or none comes any more.
    var isReady: Bool { lock.withLock { isReadyWhileLocked } }

    private var isReadyWhileLocked: Bool { !elements.isEmpty || isFinished }

    /// The first element. Nil if there is none: at the end, if the caller has waited.
    func takeFirst() -> Element? {
        lock.lock()
        defer { lock.unlock() }
        guard !elements.isEmpty else { return nil }
        return elements.removeFirst()
    }

    /// Waits until `isReady`, or until the task is woken. Cancelling the task ends the sequence.
    nonisolated(nonsending) func wait() async {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                lock.lock()
                require(
                    waiter == nil,
                    "two tasks wait for the next element of one iterator of a loop's sequence. Make an iterator for "
                        + "each task.")
                let mustWait = !isReadyWhileLocked && !isWoken
                if mustWait { waiter = continuation }
                lock.unlock()
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            finish()
        }
        lock.withLock { isWoken = false }
    }
}
