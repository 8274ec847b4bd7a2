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
    /// - A thread that the library has not made ends its loop when it calls `exit` outside a run (not with Musl). In
    ///   all other threads `exit` calls no handler.
    /// - If a loop made with ``Loop/init(clock:)`` ends because its last reference is released, they are not called.
    ///
    /// - Parameter handler: Released after the call, or when it is cancelled.
    /// - Returns: An object that cancels the handler; releasing it changes nothing. Nil if the loop has ended, or its
    ///   ``LoopThread`` was stopped: the handler is then never called.
    @discardableResult
    public func onEnd(_ handler: @escaping @Sendable () -> Void) -> EndHandler? {
        register(EndHandler(handler, of: self))
    }

    /// Registers a handler that is called last, when the loop's thread calls nothing of the program's any more. The
    /// handler must not call the program either. Accepted until then.
    func afterEnd(_ handler: @escaping @Sendable () -> Void) -> EndHandler? {
        register(EndHandler(handler, of: self, at: .farewell))
    }

    private func register(_ handler: EndHandler) -> EndHandler? {
        guard isOfThisProcess else { return nil }
        let isAccepted = lock.withLock {
            let isAccepted = accepts(handlersAt: handler.moment)
            if isAccepted { endHandlers[ObjectIdentifier(handler)] = handler }
            return isAccepted
        }
        if !isAccepted { complainIfMainIsGone() }
        return isAccepted ? handler : nil
    }

    private func accepts(handlersAt moment: EndHandler.Moment) -> Bool {
        lock.assertHeld()
        let stage = lifecycle.load(ordering: .relaxed)
        return switch moment {
        case .end: stage == .open
        case .farewell: stage < .silent
        }
    }

    /// A handler that a loop calls when it ends. Made by ``Loop/onEnd(_:)``.
    public final class EndHandler: @unchecked Sendable {
        /// When a handler is called. The handlers of one moment are called in the order of their registration.
        enum Moment {
            /// When the loop is empty.
            case end
            /// When the loop's thread calls nothing of the program's any more.
            case farewell
        }

        /// Orders the handlers by registration.
        let turn: UInt64

        let moment: Moment

        @LightWeak private var loop: Loop?
        private let lock = Lock(.leaf)

        /// Guarded by `lock`.
        private var body: (@Sendable () -> Void)?

        fileprivate init(_ body: @escaping @Sendable () -> Void, of loop: Loop, at moment: Moment = .end) {
            self.body = body
            self.loop = loop
            turn = loop.waker.turns.next()
            self.moment = moment
        }

        /// Cancels the handler and releases it. From any thread. Does nothing if the handler was called or cancelled
        /// before. A call that has begun continues.
        public func cancel() { _ = withdraw() }

        /// Cancels the handler. Returns false if it was called or cancelled before.
        func withdraw() -> Bool {
            loop?.forget(self)
            return take() != nil
        }

        /// Takes the handler out, so that it is called at most once.
        func take() -> (@Sendable () -> Void)? { lock.withLock { exchange(&body, with: nil) } }
    }

    private func forget(_ handler: EndHandler) {
        let forgotten = lock.withLock { endHandlers.removeValue(forKey: ObjectIdentifier(handler)) }
        withExtendedLifetime(forgotten) {}
    }
}
