extension Loop {
    /// Has a handler called when the loop ends: once, on its thread, when its items have left it and the blocks that it
    /// had accepted have run or been dropped. The loop refuses everything by then.
    ///
    /// From any thread. It is not an item: it belongs to no mode and keeps no run going. Handlers are called in the
    /// order in which they were registered. Those of a main loop whose thread has been given away are called on the
    /// thread that finds this out. When a loop made with `Loop(clock:)` goes with its last reference, they are
    /// not called, as cancel handlers are not. CF: the cancel handler of a source that is there for nothing else.
    ///
    /// ```swift
    /// let handler = worker.loop.onEnd { print("the worker has done its last work") }
    /// ```
    ///
    /// - Parameter handler: Released after the call, and when it is cancelled.
    /// - Returns: What to cancel it with; dropping it changes nothing. Nil when the loop has ended, or its `LoopThread`
    ///   was stopped: the handler is never called then.
    @discardableResult
    public func onEnd(_ handler: @escaping @Sendable () -> Void) -> EndHandler? {
        guard isOfThisProcess else { return nil }
        let registered = EndHandler(handler, of: self)
        let isAccepted = lock.withLock {
            if isOpen { endHandlers[ObjectIdentifier(registered)] = registered }
            return isOpen
        }
        if !isAccepted { complainIfMainIsGone() }
        return isAccepted ? registered : nil
    }

    /// A handler that waits for a loop's end. Made by `Loop.onEnd(_:)`.
    public final class EndHandler: @unchecked Sendable {
        /// Its place in the order of registrations.
        let turn = Turn.next()

        private weak let loop: Loop?
        private let lock = Lock(.leaf)
        /// Guarded by `lock`.
        private var body: (@Sendable () -> Void)?

        init(_ body: @escaping @Sendable () -> Void, of loop: Loop) {
            self.body = body
            self.loop = loop
        }

        /// Takes the handler back and releases it. From any thread; does nothing when it has been called, or was
        /// cancelled before. One that is being called goes on.
        public func cancel() {
            loop?.forget(self)
            _ = take()
        }

        /// What is to be called, once.
        func take() -> (@Sendable () -> Void)? {
            lock.withLock {
                defer { body = nil }
                return body
            }
        }
    }

    private func forget(_ handler: EndHandler) {
        let forgotten = lock.withLock { endHandlers.removeValue(forKey: ObjectIdentifier(handler)) }
        withExtendedLifetime(forgotten) {}
    }
}
