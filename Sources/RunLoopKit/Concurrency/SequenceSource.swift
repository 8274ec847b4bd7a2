extension Loop.Source0 {
    /// Makes a source that delivers an asynchronous sequence to a loop: each element is handed to `perform` on the
    /// loop's thread, in order.
    ///
    /// ```swift
    /// let lines = Loop.Source0(delivering: file.lines) { line in
    ///     print(line)
    /// } onEnd: { error in
    ///     print(error.map { "failed: \($0)" } ?? "that was all")
    /// }
    /// loop.add(lines, in: .default)
    /// ```
    ///
    /// A task of its own iterates, from the moment the source first joins a mode.
    ///
    /// *Buffering:* at most `limit` elements wait for the loop. Then the task does not ask the sequence for more until
    /// the loop has taken some: nothing is lost, and memory is bounded. One pass performs all that wait.
    ///
    /// *The end:* after the last element `onEnd` is called, and the source is invalid, so it keeps no run going. Invalidating
    /// the source, or dropping one that is in no loop, cancels the task; `perform` and `onEnd` are not called any more
    /// then. A source that has left its loop waits for the next one it is added to.
    ///
    /// - Parameters:
    ///   - sequence: Iterated once, by one task.
    ///   - order: Its place among the sources performed in one pass: lower is earlier.
    ///   - limit: How many elements wait at most; less than 1 counts as 1.
    ///   - priority: Of the task; nil for that of the caller's.
    ///   - perform: Called on the loop's thread with each element.
    ///   - onEnd: Called on the loop's thread when the sequence has ended: with the error that it threw, or nil.
    public convenience init<Elements: AsyncSequence & Sendable>(
        delivering sequence: Elements, order: Int = 0, bufferingAtMost limit: Int = 64, priority: TaskPriority? = nil,
        perform: @escaping @Sendable (Elements.Element) -> Void,
        onEnd: @escaping @Sendable (_ error: (any Error)?) -> Void = { _ in }
    ) where Elements.Element: Sendable {
        let buffer = BoundedBuffer<Elements.Element>(limit: limit)
        let delivery = Delivery(buffer, priority) { source in
            do {
                for try await element in sequence {
                    buffer.put(element)
                    source()?.signal()
                    guard await buffer.waitForRoom() else { return }
                }
                buffer.end(nil)
            } catch {
                buffer.end(error)
            }
            source()?.signal()
        }
        self.init(
            order: order, schedule: { _, _ in delivery.start() },
            perform: { delivery.deliver(perform, onEnd) })
        delivery.source = self
    }
}

/// What the source's handlers hold: when they go, the task is cancelled.
private final class Delivery<Element: Sendable>: @unchecked Sendable {
    /// Set once, before anybody else has the source.
    weak var source: Loop.Source0?

    private let buffer: BoundedBuffer<Element>
    private let priority: TaskPriority?
    private let lock = Lock(.leaf)

    // Guarded by `lock`.
    private var iterate: (@Sendable (@escaping @Sendable () -> Loop.Source0?) async -> Void)?
    private var task: Task<Void, Never>?

    init(
        _ buffer: BoundedBuffer<Element>, _ priority: TaskPriority?,
        _ iterate: @escaping @Sendable (@escaping @Sendable () -> Loop.Source0?) async -> Void
    ) {
        self.buffer = buffer
        self.priority = priority
        self.iterate = iterate
    }

    deinit {
        task?.cancel()
        buffer.close()
    }

    func start() {
        lock.withLock {
            guard let iterate else { return }
            self.iterate = nil
            let find: @Sendable () -> Loop.Source0? = { [weak source] in source }
            task = Task.detached(priority: priority ?? Task.currentPriority) { await iterate(find) }
        }
    }

    /// Performs what waits now; a handler that invalidates the source stops it. One at a time, so that a run nested in a
    /// handler goes on with the next.
    func deliver(_ perform: (Element) -> Void, _ onEnd: ((any Error)?) -> Void) {
        for _ in 0..<buffer.count {
            guard source?.isValid == true, let element = buffer.takeFirst() else { break }
            perform(element)
        }
        guard let source, source.isValid, let ending = buffer.takeEnding() else { return }
        source.invalidate()
        onEnd(ending.error)
    }
}
