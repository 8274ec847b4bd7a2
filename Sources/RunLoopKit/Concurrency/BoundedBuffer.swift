/// A bounded buffer between a task that produces elements and a loop that takes them.
final class BoundedBuffer<Element: Sendable>: @unchecked Sendable {
    struct Ending { let error: (any Error)? }

    private let limit: Int
    private let lock = Lock(.leaf)

    // Guarded by `lock`.
    private var elements = FirstInFirstOut<Element>()
    private var ending: Ending?
    private var isClosed = false
    /// The task, while it waits for room.
    private var waiter: CheckedContinuation<Bool, Never>?

    init(limit: Int) { self.limit = max(1, limit) }

    // MARK: For the task

    func put(_ element: Element) { lock.withLock { elements.append(element) } }

    /// Waits until there is room for another element. Returns false if the loop takes no more.
    func waitForRoom() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = lock.withLock { () -> Bool? in
                if isClosed { return false }
                if elements.count < limit { return true }
                waiter = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    func end(_ error: (any Error)?) { lock.withLock { ending = Ending(error: error) } }

    // MARK: For the loop

    var count: Int { lock.withLock { elements.count } }

    func takeFirst() -> Element? {
        let (element, waiting) = lock.withLock { (elements.takeFirst(), waiter.take()) }
        waiting?.resume(returning: true)
        return element
    }

    /// How the sequence ended, once all elements have been taken; nil in later calls.
    func takeEnding() -> Ending? {
        lock.withLock { elements.isEmpty ? ending.take() : nil }
    }

    /// Ends the task's wait: the loop takes no more elements.
    func close() {
        let waiting = lock.withLock {
            isClosed = true
            return waiter.take()
        }
        waiting?.resume(returning: false)
    }
}
