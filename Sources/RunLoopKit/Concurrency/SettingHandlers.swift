// Handlers that an item gets after it was made, isolated to an actor or to the main actor. The mechanisms are those of
// IsolatedHandlers.swift and MainActorHandlers.swift.

extension Loop.Timer {
    /// Sets a handler that is isolated to an actor on the loop, and may touch its state, as
    /// ``setHandler(_:)`` sets another one. ``Loop/Item`` has the rules.
    ///
    /// - Returns: Whether the timer is valid, and has the handler.
    @discardableResult
    public func setHandler<A: Actor>(
        isolation actor: A, _ handler: @escaping @Sendable (_ actor: isolated A, _ firing: Firing) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: self, handler)
        return set({ isolated.call($0) }, .actor)
    }

    /// Sets a handler of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the timer has the handler. False if it is invalid; and if its loop is neither
    ///   ``Loop/main`` nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setHandler(
        isolation mainActor: MainActor, _ handler: @escaping @MainActor (_ firing: Firing) -> Void
    ) -> Bool {
        set(unsafeBitCast(handler, to: (@Sendable (Firing) -> Void).self), .mainActor)
    }
}

extension Loop.Source0 {
    /// Sets a handler that is isolated to an actor on the loop, and may touch its state, as
    /// ``setHandler(_:)`` sets another one. ``Loop/Item`` has the rules.
    ///
    /// - Returns: Whether the source is valid, and has the handler.
    @discardableResult
    public func setHandler<A: Actor>(
        isolation actor: A, _ handler: @escaping @Sendable (_ actor: isolated A) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: self) { (actor: isolated A, _: Void) in handler(actor) }
        return set({ isolated.call(()) }, .actor)
    }

    /// Sets a handler of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the source has the handler. False if it is invalid; and if its loop is neither
    ///   ``Loop/main`` nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setHandler(
        isolation mainActor: MainActor, _ handler: @escaping @MainActor () -> Void
    ) -> Bool {
        set(unsafeBitCast(handler, to: (@Sendable () -> Void).self), .mainActor)
    }
}

extension Loop.PortSource {
    /// Sets a handler that is isolated to an actor on the loop, and may touch its state, as
    /// ``setHandler(_:)`` sets another one. ``Loop/Item`` has the rules.
    ///
    /// - Returns: Whether the port is valid, and has the handler.
    @discardableResult
    public func setHandler<A: Actor>(
        isolation actor: A, _ handler: @escaping @Sendable (_ actor: isolated A, _ count: Int) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: self, handler)
        return set({ isolated.call($0) }, .actor)
    }

    /// Sets a handler of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the port has the handler. False if it is invalid; and if its loop is neither
    ///   ``Loop/main`` nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setHandler(
        isolation mainActor: MainActor, _ handler: @escaping @MainActor (_ count: Int) -> Void
    ) -> Bool {
        set(unsafeBitCast(handler, to: (@Sendable (Int) -> Void).self), .mainActor)
    }
}

extension Loop.Observer {
    /// Sets a handler that is isolated to an actor on the loop, and may touch its state, as
    /// ``setHandler(_:)`` sets another one. ``Loop/Item`` has the rules.
    ///
    /// - Returns: Whether the observer is valid, and has the handler.
    @discardableResult
    public func setHandler<A: Actor>(
        isolation actor: A,
        _ handler:
            @escaping @Sendable (_ actor: isolated A, _ observer: Loop.Observer, _ activity: Loop.Activity) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: self, handler)
        return set({ isolated.call(($0, $1)) }, .actor)
    }

    /// Sets a handler of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the observer has the handler. False if it is invalid; and if its loop is neither
    ///   ``Loop/main`` nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setHandler(
        isolation mainActor: MainActor,
        _ handler: @escaping @MainActor (_ observer: Loop.Observer, _ activity: Loop.Activity) -> Void
    ) -> Bool {
        set(unsafeBitCast(handler, to: (@Sendable (Loop.Observer, Loop.Activity) -> Void).self), .mainActor)
    }
}

extension Loop.FileDescriptorSource {
    /// Sets a handler that is isolated to an actor on the loop, and may touch its state, as
    /// ``setHandler(_:)`` sets another one. ``Loop/Item`` has the rules.
    ///
    /// - Returns: Whether the source is valid, and has the handler.
    @discardableResult
    public func setHandler<A: Actor>(
        isolation actor: A,
        _ handler:
            @escaping @Sendable (_ actor: isolated A, _ source: Loop.FileDescriptorSource, _ ready: Readiness) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: self, handler)
        return set({ isolated.call(($0, $1)) }, .actor)
    }

    /// Sets a handler of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the source has the handler. False if it is invalid; and if its loop is neither
    ///   ``Loop/main`` nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setHandler(
        isolation mainActor: MainActor,
        _ handler: @escaping @MainActor (_ source: Loop.FileDescriptorSource, _ ready: Readiness) -> Void
    ) -> Bool {
        set(unsafeBitCast(handler, to: Handler.self), .mainActor)
    }
}

extension Loop.MessagePort {
    /// Sets a handler that is isolated to an actor on the loop, and may touch its state, as
    /// ``setHandler(_:)`` sets another one. ``Loop/Item`` has the rules.
    ///
    /// - Returns: Whether the port is valid, and has the handler.
    @discardableResult
    public func setHandler<A: Actor>(
        isolation actor: A, _ handler: @escaping @Sendable (_ actor: isolated A, _ message: Message) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: self, handler)
        return set({ isolated.call($0) }, .actor)
    }

    /// Sets a handler of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the port has the handler. False if it is invalid; and if its loop is neither
    ///   ``Loop/main`` nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setHandler(
        isolation mainActor: MainActor, _ handler: @escaping @MainActor (_ message: Message) -> Void
    ) -> Bool {
        set(unsafeBitCast(handler, to: (@Sendable (Message) -> Void).self), .mainActor)
    }
}

extension Loop.SignalSource {
    /// Sets a handler that is isolated to an actor on the loop, and may touch its state, as
    /// ``setHandler(_:)`` sets another one. ``Loop/Item`` has the rules.
    ///
    /// - Returns: Whether the source is valid, and has the handler.
    @discardableResult
    public func setHandler<A: Actor>(
        isolation actor: A,
        _ handler: @escaping @Sendable (_ actor: isolated A, _ source: Loop.SignalSource, _ arrivals: [Arrival]) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: self, handler)
        return set({ isolated.call(($0, $1)) }, .actor)
    }

    /// Sets a handler of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the source has the handler. False if it is invalid; and if its loop is neither
    ///   ``Loop/main`` nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setHandler(
        isolation mainActor: MainActor,
        _ handler: @escaping @MainActor (_ source: Loop.SignalSource, _ arrivals: [Arrival]) -> Void
    ) -> Bool {
        set(unsafeBitCast(handler, to: Handler.self), .mainActor)
    }
}

extension Loop.ProcessSource {
    /// Sets a handler that is isolated to an actor on the loop, and may touch its state, as
    /// ``setHandler(_:)`` sets another one. ``Loop/Item`` has the rules.
    ///
    /// - Returns: Whether the source is valid, and has the handler.
    @discardableResult
    public func setHandler<A: Actor>(
        isolation actor: A,
        _ handler: @escaping @Sendable (_ actor: isolated A, _ source: Loop.ProcessSource, _ exit: Exit) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: self, handler)
        return set({ isolated.call(($0, $1)) }, .actor)
    }

    /// Sets a handler of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the source has the handler. False if it is invalid; and if its loop is neither
    ///   ``Loop/main`` nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setHandler(
        isolation mainActor: MainActor,
        _ handler: @escaping @MainActor (_ source: Loop.ProcessSource, _ exit: Exit) -> Void
    ) -> Bool {
        set(unsafeBitCast(handler, to: Handler.self), .mainActor)
    }
}

extension Loop.FolderSource {
    /// Sets a handler that is isolated to an actor on the loop, and may touch its state, as
    /// ``setHandler(_:)`` sets another one. ``Loop/Item`` has the rules.
    ///
    /// - Returns: Whether the source is valid, and has the handler.
    @discardableResult
    public func setHandler<A: Actor>(
        isolation actor: A,
        _ handler: @escaping @Sendable (_ actor: isolated A, _ source: Loop.FolderSource, _ events: [Event]) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: self, handler)
        return set({ isolated.call(($0, $1)) }, .actor)
    }

    /// Sets a handler of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the source has the handler. False if it is invalid; and if its loop is neither
    ///   ``Loop/main`` nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setHandler(
        isolation mainActor: MainActor,
        _ handler: @escaping @MainActor (_ source: Loop.FolderSource, _ events: [Event]) -> Void
    ) -> Bool {
        set(unsafeBitCast(handler, to: Handler.self), .mainActor)
    }
}

extension Loop.ChildProcess {
    /// Sets a handler that is isolated to an actor on the loop, and may touch its state, as
    /// ``setHandler(_:)`` sets another one. ``Loop/Item`` has the rules.
    ///
    /// - Returns: Whether the child is valid, and has the handler.
    @discardableResult
    public func setHandler<A: Actor>(
        isolation actor: A,
        _ handler: @escaping @Sendable (_ actor: isolated A, _ child: Loop.ChildProcess, _ exit: Exit) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: self, handler)
        return set({ isolated.call(($0, $1)) }, .actor)
    }

    /// Sets a handler of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the child has the handler. False if it is invalid; and if its loop is neither
    ///   ``Loop/main`` nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setHandler(
        isolation mainActor: MainActor,
        _ handler: @escaping @MainActor (_ child: Loop.ChildProcess, _ exit: Exit) -> Void
    ) -> Bool {
        set(unsafeBitCast(handler, to: Handler.self), .mainActor)
    }
}
