/// What lies between a task that brings elements and a loop that takes them: a bounded buffer.
final class BoundedBuffer<Element: Sendable>: @unchecked Sendable {
    struct Ending { let error: (any Error)? }

    private let limit: Int
    private let lock = Lock(.leaf)

    // Guarded by `lock`.
    private var elements = FirstInFirstOut<Element>()
    private var ending: Ending?
    private var isClosed = false
    /// The task, when it waits for room.
    private var waiter: CheckedContinuation<Bool, Never>?

    init(limit: Int) { self.limit = max(1, limit) }

    // MARK: For the task

    func put(_ element: Element) { lock.withLock { elements.append(element) } }

    /// Returns when there is room for another element; false when nobody will take any more.
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
        let (element, waiting) = lock.withLock { () -> (Element?, CheckedContinuation<Bool, Never>?) in
            defer { waiter = nil }
            return (elements.takeFirst(), waiter)
        }
        waiting?.resume(returning: true)
        return element
    }

    /// How it ended, once all elements have been taken. Once.
    func takeEnding() -> Ending? {
        lock.withLock {
            guard elements.isEmpty else { return nil }
            defer { ending = nil }
            return ending
        }
    }

    /// Nobody takes elements any more: the task need not bring any.
    func close() {
        let waiting = lock.withLock { () -> CheckedContinuation<Bool, Never>? in
            isClosed = true
            defer { waiter = nil }
            return waiter
        }
        waiting?.resume(returning: false)
    }
}
