/// A bounded buffer between a task that produces elements and a loop that takes them.
final class BoundedBuffer<Element: Sendable>: @unchecked Sendable {
    struct Ending { let error: (any Error)? }

    private let limit: Int
    private let lock = Lock(.leaf)

    // Guarded by `lock`, and therefore without checks of exclusivity.
    @exclusivity(unchecked) private var elements = RingQueue<Element>()
    @exclusivity(unchecked) private var ending: Ending?
    @exclusivity(unchecked) private var isClosed = false
    /// The task, while it waits for room. Unchecked: whatever takes it out resumes it.
    @exclusivity(unchecked) private var waiter: UnsafeContinuation<Void, Never>?

    init(limit: Int) { self.limit = max(1, limit) }

    // MARK: For the task

    func put(_ element: Element) {
        lock.lock()
        elements.append(element)
        lock.unlock()
    }

    /// Waits until there is room for another element. Returns false if the loop takes no more.
    func waitForRoom() async -> Bool {
        if lock.withLock({ mustWait }) {
            await withUnsafeContinuation { continuation in
                lock.lock()
                let mustWait = mustWait
                if mustWait { waiter = continuation }
                lock.unlock()
                if !mustWait { continuation.resume() }
            }
        }
        return lock.withLock { !isClosed }
    }

    private var mustWait: Bool { !isClosed && elements.count >= limit }

    func end(_ error: (any Error)?) { lock.withLock { ending = Ending(error: error) } }

    // MARK: For the loop

    var count: Int { lock.withLock { elements.count } }

    func takeFirst() -> Element? {
        lock.lock()
        guard !elements.isEmpty else {
            lock.unlock()
            return nil
        }
        let element = elements.removeFirst()
        let waiting = waiter.take()
        lock.unlock()
        waiting?.resume()
        return element
    }

    /// How the sequence ended, once all elements have been taken; nil in later calls.
    func takeEnding() -> Ending? {
        lock.withLock { elements.isEmpty ? ending.take() : nil }
    }

    /// Ends the task's wait: the loop takes no more elements.
    func close() {
        lock.lock()
        isClosed = true
        let waiting = waiter.take()
        lock.unlock()
        waiting?.resume()
    }
}
