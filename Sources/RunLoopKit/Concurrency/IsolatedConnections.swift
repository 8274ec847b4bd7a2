// Isolated handlers of connections and listeners. The mechanism is in IsolatedHandlers.swift and in
// MainActorHandlers.swift.

extension Loop.Connection {
    /// Makes a connection of a stream that is connected already, with a handler that is isolated to an actor on the
    /// loop, and may touch its state. ``Loop/Item`` has the rules of such handlers.
    ///
    /// The first event after the actor's deallocation is dropped, and invalidates the connection.
    ///
    /// - Parameters:
    ///   - descriptor: Becomes non-blocking and closed on exec.
    ///   - actor: Its executor is the loop that the connection is added to, or another one of the same thread.
    ///   - label: What diagnostics call the connection; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the connection, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the loop's thread with one event at a time.
    /// - Throws: ``LoopError``, as `init(owning:label:file:line:handler:)` does. The descriptor stays open then, and is
    ///   the caller's.
    public convenience init<A: Actor>(
        owning descriptor: Int32, isolation actor: A, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ connection: Loop.Connection, _ event: Event) -> Void
    ) throws(LoopError) {
        let isolated = IsolatedHandler(actor, handler)
        try self.init(owning: descriptor, label: label, file: file, line: line) { isolated.call(($0, $1)) }
        isolated.belongs(to: self)
    }

    /// Begins to connect to an address, with a handler that is isolated to an actor on the loop, and may touch its
    /// state. ``Loop/Item`` has the rules of such handlers.
    ///
    /// The first event after the actor's deallocation is dropped, and invalidates the connection.
    ///
    /// - Parameters:
    ///   - address: The address of a listener.
    ///   - actor: Its executor is the loop that the connection is added to, or another one of the same thread.
    ///   - label: What diagnostics call the connection; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the connection, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the loop's thread with one event at a time.
    /// - Throws: ``LoopError``, as `init(connectingTo:label:file:line:handler:)` does.
    public convenience init<A: Actor>(
        connectingTo address: Loop.SocketAddress, isolation actor: A, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @Sendable (_ actor: isolated A, _ connection: Loop.Connection, _ event: Event) -> Void
    ) throws(LoopError) {
        let isolated = IsolatedHandler(actor, handler)
        try self.init(connectingTo: address, label: label, file: file, line: line) { isolated.call(($0, $1)) }
        isolated.belongs(to: self)
    }

    /// Makes a connection for ``Loop/main`` of a stream that is connected already, with a handler of the main actor,
    /// which may touch its state. Another loop refuses it, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - descriptor: Becomes non-blocking and closed on exec.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the connection; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the connection, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the main thread with one event at a time.
    /// - Throws: ``LoopError``, as `init(owning:label:file:line:handler:)` does. The descriptor stays open then, and is
    ///   the caller's.
    public convenience init(
        owning descriptor: Int32, isolation mainActor: MainActor, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line,
        handler: @escaping @MainActor (_ connection: Loop.Connection, _ event: Event) -> Void
    ) throws(LoopError) {
        try self.init(
            owning: descriptor, label: label, file: file, line: line,
            handler: unsafeBitCast(handler, to: Handler.self))
        isolation = .mainActor
    }

    /// Begins to connect to an address, for ``Loop/main``, with a handler of the main actor, which may touch its state.
    /// Another loop refuses it, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - address: The address of a listener.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the connection; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the connection, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the main thread with one event at a time.
    /// - Throws: ``LoopError``, as `init(connectingTo:label:file:line:handler:)` does.
    public convenience init(
        connectingTo address: Loop.SocketAddress, isolation mainActor: MainActor, label: String? = nil,
        file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ connection: Loop.Connection, _ event: Event) -> Void
    ) throws(LoopError) {
        try self.init(
            connectingTo: address, label: label, file: file, line: line,
            handler: unsafeBitCast(handler, to: Handler.self))
        isolation = .mainActor
    }

    /// Sets a handler that is isolated to an actor on the loop, and may touch its state, as
    /// ``setHandler(_:)`` sets another one. ``Loop/Item`` has the rules.
    ///
    /// - Returns: Whether the connection is valid, and has the handler.
    @discardableResult
    public func setHandler<A: Actor>(
        isolation actor: A,
        _ handler: @escaping @Sendable (_ actor: isolated A, _ connection: Loop.Connection, _ event: Event) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: self, handler)
        return set({ isolated.call(($0, $1)) }, .actor)
    }

    /// Sets a handler of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the connection has the handler. False if it is invalid; and if its loop is neither
    ///   ``Loop/main`` nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setHandler(
        isolation mainActor: MainActor,
        _ handler: @escaping @MainActor (_ connection: Loop.Connection, _ event: Event) -> Void
    ) -> Bool {
        set(unsafeBitCast(handler, to: Handler.self), .mainActor)
    }
}

extension Loop.Listener {
    /// Makes a listener with a handler that is isolated to an actor on the loop, and may touch its state.
    /// ``Loop/Item`` has the rules of such handlers.
    ///
    /// The first connection after the actor's deallocation is closed, and invalidates the listener.
    ///
    /// - Parameters:
    ///   - address: Where to listen.
    ///   - backlog: How many connections may wait in the kernel, which limits it by `net.core.somaxconn`.
    ///   - sharesPort: Whether other sockets of the same user that have this option, too, may listen at the port.
    ///   - actor: Its executor is the loop that the listener is added to, or another one of the same thread.
    ///   - label: What diagnostics call the listener; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the listener, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the loop's thread with each connection.
    /// - Throws: ``LoopError``, as `init(_:backlog:sharesPort:label:file:line:handler:)` does.
    public convenience init<A: Actor>(
        _ address: Loop.SocketAddress, backlog: Int32 = 4096, sharesPort: Bool = false, isolation actor: A,
        label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler:
            @escaping @Sendable (_ actor: isolated A, _ listener: Loop.Listener, _ connection: Loop.Connection) -> Void
    ) throws(LoopError) {
        let isolated = IsolatedHandler(actor, handler)
        try self.init(
            address, backlog: backlog, sharesPort: sharesPort, label: label, file: file, line: line
        ) { isolated.callOrClose($0, $1) }
        isolated.belongs(to: self)
    }

    /// Makes a listener of a socket that listens already, with a handler that is isolated to an actor on the loop. See
    /// `init(_:backlog:sharesPort:isolation:label:file:line:handler:)`.
    ///
    /// - Throws: ``LoopError``, as `init(owning:label:file:line:handler:)` does. The descriptor stays open then, and is
    ///   the caller's.
    public convenience init<A: Actor>(
        owning descriptor: Int32, isolation actor: A, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line,
        handler:
            @escaping @Sendable (_ actor: isolated A, _ listener: Loop.Listener, _ connection: Loop.Connection) -> Void
    ) throws(LoopError) {
        let isolated = IsolatedHandler(actor, handler)
        try self.init(owning: descriptor, label: label, file: file, line: line) { isolated.callOrClose($0, $1) }
        isolated.belongs(to: self)
    }

    /// Makes a listener for ``Loop/main`` with a handler of the main actor, which may touch its state. Another loop
    /// refuses it, unless it is in virtual time.
    ///
    /// - Parameters:
    ///   - address: Where to listen.
    ///   - backlog: How many connections may wait in the kernel, which limits it by `net.core.somaxconn`.
    ///   - sharesPort: Whether other sockets of the same user that have this option, too, may listen at the port.
    ///   - mainActor: `.shared`.
    ///   - label: What diagnostics call the listener; nil to call it by its kind and the place where it was made.
    ///   - file: The source file that makes the listener, for diagnostics.
    ///   - line: The line in that file.
    ///   - handler: Called on the main thread with each connection.
    /// - Throws: ``LoopError``, as `init(_:backlog:sharesPort:label:file:line:handler:)` does.
    public convenience init(
        _ address: Loop.SocketAddress, backlog: Int32 = 4096, sharesPort: Bool = false,
        isolation mainActor: MainActor, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @MainActor (_ listener: Loop.Listener, _ connection: Loop.Connection) -> Void
    ) throws(LoopError) {
        try self.init(
            address, backlog: backlog, sharesPort: sharesPort, label: label, file: file, line: line,
            handler: unsafeBitCast(handler, to: Handler.self))
        isolation = .mainActor
    }

    /// Makes a listener for ``Loop/main`` of a socket that listens already, with a handler of the main actor. See
    /// `init(_:backlog:sharesPort:isolation:label:file:line:handler:)`.
    ///
    /// - Throws: ``LoopError``, as `init(owning:label:file:line:handler:)` does. The descriptor stays open then, and is
    ///   the caller's.
    public convenience init(
        owning descriptor: Int32, isolation mainActor: MainActor, label: String? = nil, file: StaticString = #fileID,
        line: UInt = #line,
        handler: @escaping @MainActor (_ listener: Loop.Listener, _ connection: Loop.Connection) -> Void
    ) throws(LoopError) {
        try self.init(
            owning: descriptor, label: label, file: file, line: line,
            handler: unsafeBitCast(handler, to: Handler.self))
        isolation = .mainActor
    }

    /// Sets a handler that is isolated to an actor on the loop, and may touch its state, as
    /// ``setHandler(_:)`` sets another one. ``Loop/Item`` has the rules.
    ///
    /// - Returns: Whether the listener is valid, and has the handler.
    @discardableResult
    public func setHandler<A: Actor>(
        isolation actor: A,
        _ handler:
            @escaping @Sendable (_ actor: isolated A, _ listener: Loop.Listener, _ connection: Loop.Connection) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: self, handler)
        return set({ isolated.callOrClose($0, $1) }, .actor)
    }

    /// Sets a handler of the main actor, which may touch its state, as ``setHandler(_:)`` sets another one.
    ///
    /// - Returns: Whether the listener has the handler. False if it is invalid; and if its loop is neither
    ///   ``Loop/main`` nor in virtual time, which is reported as ``Loop/Mistake/refusedItem(item:reason:)``.
    @discardableResult
    public func setHandler(
        isolation mainActor: MainActor,
        _ handler: @escaping @MainActor (_ listener: Loop.Listener, _ connection: Loop.Connection) -> Void
    ) -> Bool {
        set(unsafeBitCast(handler, to: Handler.self), .mainActor)
    }
}

extension IsolatedHandler where Input == (Loop.Listener, Loop.Connection) {
    /// Closes the connection if the actor is gone. It invalidates it, since a connection that is only released is
    /// reported as never added.
    fileprivate func callOrClose(_ listener: Loop.Listener, _ connection: Loop.Connection) {
        if !call((listener, connection)) { connection.invalidate() }
    }
}
