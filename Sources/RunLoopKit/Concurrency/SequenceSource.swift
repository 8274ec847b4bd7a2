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
    /// - *A separate task* iterates, from the moment when the source first joins a mode.
    /// - *Buffering:* at most `limit` elements wait for the loop. Then the task requests no more until the loop has
    ///   taken some, so no element is lost. One pass performs all waiting elements.
    /// - *The end:* after the last element the source calls `onEnd` and is invalid, so it keeps no run alive.
    /// - *Invalidating the source,* or dropping one that is in no loop, cancels the task; `perform` and `onEnd` are no
    ///   longer called. A source that has left its loop waits until it is added to another. In two loops at once, two
    ///   threads would perform elements beside each other.
    ///
    /// - Parameters:
    ///   - sequence: Iterated once, by one task.
    ///   - order: Its place among the sources performed in one pass: lower is earlier.
    ///   - limit: The maximum number of waiting elements; less than 1 counts as 1.
    ///   - priority: The task's priority; nil means the caller's.
    ///   - perform: Called on the loop's thread with each element.
    ///   - onEnd: Called on the loop's thread when the sequence has ended: with the error that it threw, or nil.
    public convenience init<Elements: AsyncSequence & Sendable>(
        delivering sequence: Elements, order: Int = 0, bufferingAtMost limit: Int = 64, priority: TaskPriority? = nil,
        perform: @escaping @Sendable (Elements.Element) -> Void,
        onEnd: @escaping @Sendable (_ error: (any Error)?) -> Void = { _ in }
    ) where Elements.Element: Sendable {
        let buffer = BoundedBuffer<Elements.Element>(limit: limit)
        let delivery = Delivery(buffer, priority)
        delivery.iterate = { [weak delivery] in
            do {
                for try await element in sequence {
                    buffer.put(element)
                    delivery?.source?.signal()
                    guard await buffer.waitForRoom() else { return }
                }
                buffer.end(nil)
            } catch {
                buffer.end(error)
            }
            delivery?.source?.signal()
        }
        self.init(
            order: order, schedule: { _, _ in delivery.start() },
            perform: { delivery.deliver(perform, onEnd) })
        delivery.source = self
    }
}

/// What the source's handlers hold. It cancels the task when they are released.
private final class Delivery<Element: Sendable>: @unchecked Sendable {
    /// Set once, before the source is shared.
    weak var source: Loop.Source0?

    private let buffer: BoundedBuffer<Element>
    private let priority: TaskPriority?
    private let lock = Lock(.leaf)

    // Guarded by `lock` once the source is shared.
    /// What the task runs. Does not retain this object, whose end cancels the task.
    var iterate: (@Sendable () async -> Void)?
    private var task: Task<Void, Never>?

    init(_ buffer: BoundedBuffer<Element>, _ priority: TaskPriority?) {
        self.buffer = buffer
        self.priority = priority
    }

    deinit {
        task?.cancel()
        buffer.close()
    }

    func start() {
        guard let iterate = lock.withLock({ iterate.take() }) else { return }
        // Without the lock: the program may have an executor of its own, which is called here. The task may have ended
        // when this returns, and this be the last reference to the sequence.
        let new = Task.detached(priority: priority ?? Task.currentPriority, operation: iterate)
        lock.withLock { task = new }
    }

    /// Performs the waiting elements. A handler that invalidates the source, or removes it from the loop, ends that.
    /// Elements are taken one at a time, so that a run nested in a handler continues with the next.
    func deliver(_ perform: (Element) -> Void, _ onEnd: ((any Error)?) -> Void) {
        guard let source else { return }
        let loop = Loop.current
        for _ in 0..<buffer.count {
            guard source.isValid, let element = buffer.takeFirst() else { break }
            perform(element)
            // The next loop that gets it performs the rest: another one may have it already.
            guard source.currentModes.contains(where: { $0.loop === loop }) else { return source.signal() }
        }
        guard source.isValid, let ending = buffer.takeEnding() else { return }
        source.invalidate()
        onEnd(ending.error)
    }
}
