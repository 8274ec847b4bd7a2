extension Loop {
    /// Registers a handler that is called once when the loop ends, on its thread. From any thread. CF: the cancel
    /// handler of a source that exists only for it.
    ///
    /// By then the loop's items have left it, the blocks that it accepted have run or been dropped, and it refuses
    /// everything. Handlers are called in the order of registration. An end handler belongs to no mode and keeps no run
    /// going.
    ///
    /// ```swift
    /// let handler = worker.loop.onEnd { print("the worker has done its last work") }
    /// ```
    ///
    /// - If the main loop's thread has been given away, the thread that finds this out calls the handlers.
    /// - If a loop made with ``Loop/init(clock:)`` ends because its last reference is released, they are not called.
    ///
    /// - Parameter handler: Released after the call, or when it is cancelled.
    /// - Returns: An object that cancels the handler; releasing it changes nothing. Nil if the loop has ended, or its
    ///   ``LoopThread`` was stopped: the handler is then never called.
    @discardableResult
    public func onEnd(_ handler: @escaping @Sendable () -> Void) -> EndHandler? {
        register(EndHandler(handler, of: self))
    }

    /// Registers a handler for an object that may lose something at the end. The handler makes the object known to the
    /// loop.
    func onEnd(for object: any LosingAtEnd, _ handler: @escaping @Sendable () -> Void) -> EndHandler? {
        register(EndHandler(handler, of: self, for: object))
    }

    /// Registers a handler that is called once the loop's descriptors are closed, after all end handlers. Accepted
    /// until then.
    func afterEnd(_ handler: @escaping @Sendable () -> Void) -> EndHandler? {
        register(EndHandler(handler, of: self, isLast: true))
    }

    private func register(_ handler: EndHandler) -> EndHandler? {
        guard isOfThisProcess else { return nil }
        let isAccepted = lock.withLock {
            let isAccepted = handler.isLast ? lifecycle.load(ordering: .relaxed) < .over : isOpen
            if isAccepted { endHandlers[ObjectIdentifier(handler)] = handler }
            return isAccepted
        }
        if !isAccepted { complainIfMainIsGone() }
        return isAccepted ? handler : nil
    }

    /// The objects that may lose something at the end, in the order in which they were registered.
    var objectsThatMayLose: [any LosingAtEnd] {
        let handlers = lock.withLock { endHandlers.values.sorted { $0.turn < $1.turn } }
        return handlers.compactMap(\.object)
    }

    /// A handler that a loop calls when it ends. Made by ``Loop/onEnd(_:)``.
    public final class EndHandler: @unchecked Sendable {
        /// Orders the handlers by registration.
        let turn: UInt64

        /// Whether the handler is called last, when the loop's descriptors are closed.
        let isLast: Bool

        @LightWeak private var loop: Loop?
        private let lock = Lock(.leaf)

        // Guarded by `lock`.
        private var body: (@Sendable () -> Void)?
        private var objectOfBody: (any LosingAtEnd)?

        fileprivate init(
            _ body: @escaping @Sendable () -> Void, of loop: Loop, for object: (any LosingAtEnd)? = nil,
            isLast: Bool = false
        ) {
            self.body = body
            self.loop = loop
            turn = loop.waker.turns.next()
            self.isLast = isLast
            objectOfBody = object
        }

        /// The object that the handler belongs to, if any; nil once the handler was called or cancelled.
        var object: (any LosingAtEnd)? { lock.withLock { objectOfBody } }

        /// Cancels the handler and releases it. From any thread. Does nothing if the handler was called or cancelled
        /// before. A call that has begun continues.
        public func cancel() { _ = withdraw() }

        /// Cancels the handler. Returns false if it was called or cancelled before.
        func withdraw() -> Bool {
            loop?.forget(self)
            return take() != nil
        }

        /// Takes the handler out, so that it is called at most once.
        func take() -> (@Sendable () -> Void)? {
            // The object is released without the lock: its deinit may release the user's objects.
            let (body, object) = lock.withLock {
                (exchange(&self.body, with: nil), exchange(&objectOfBody, with: nil))
            }
            withExtendedLifetime(object) {}
            return body
        }
    }

    private func forget(_ handler: EndHandler) {
        let forgotten = lock.withLock { endHandlers.removeValue(forKey: ObjectIdentifier(handler)) }
        withExtendedLifetime(forgotten) {}
    }
}

/// An object on a loop that may lose something when the loop ends, such as a limiter with a pending call.
protocol LosingAtEnd: AnyObject, Sendable {
    /// Reports what is lost, since the loop's `LoopThread` is dropped. Called on any thread, before the loop closes.
    func threadIsDropped()
}
