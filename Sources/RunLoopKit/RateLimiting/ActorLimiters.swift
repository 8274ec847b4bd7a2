// Actions that a limiter gets after it was made, isolated to an actor on its loop or to the main actor. An actor makes
// its limiters without an action in its `init`, and sets there what captures it.

extension Limiter {
    /// Sets an action that is isolated to an actor on the limiter's loop, and may touch its state, as
    /// ``setHandler(_:)`` sets another one.
    ///
    /// ```swift
    /// actor Store {
    ///     private let thread: LoopThread
    ///     nonisolated var unownedExecutor: UnownedSerialExecutor { thread.loop.asUnownedSerialExecutor() }
    ///     private let save: Debounce<String>
    ///
    ///     init() throws {
    ///         thread = try LoopThread(name: "store")
    ///         save = Debounce(interval: .seconds(2), on: thread.loop)
    ///         save.setHandler(isolation: self) { store, text in store.write(text) }
    ///     }
    ///
    ///     func edit(_ text: String) { save(text) }
    ///     private func write(_ text: String) { print("saves \(text)") }
    /// }
    /// ```
    ///
    /// The actor is not retained: once it is deallocated, the limiter invalidates itself instead of acting.
    ///
    /// - Parameters:
    ///   - actor: Its executor is the limiter's loop, or another one of the same thread. Otherwise the first action
    ///     traps, and names the actor.
    ///   - handler: Called on the loop's thread, with no lock held.
    /// - Returns: Whether the limiter has the action. False if it was invalidated, or its loop has ended.
    @discardableResult
    public final func setHandler<A: Actor>(
        isolation actor: A, _ handler: @escaping @Sendable (_ actor: isolated A, _ input: Input) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: core, handler)
        return core.setHandler(of: isolated) { isolated.call($0) }
    }

    /// Sets an action that gets all inputs since the last action, isolated to an actor: ``setHandler(collecting:)``
    /// with the isolation of `setHandler(isolation:_:)`.
    @_disfavoredOverload @discardableResult
    public final func setHandler<A: Actor>(
        isolation actor: A, collecting handler: @escaping @Sendable (_ actor: isolated A, _ inputs: [Input]) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: core, handler)
        return core.setHandler(of: isolated, collecting: { isolated.call($0) })
    }

    /// Sets an action of the main actor that gets all inputs since the last action: ``setHandler(collecting:)`` with
    /// the isolation of `setHandler(isolation:_:)`.
    @_disfavoredOverload @discardableResult
    public final func setHandler(
        isolation mainActor: MainActor, collecting handler: @escaping @MainActor (_ inputs: [Input]) -> Void
    ) -> Bool {
        core.mayBelongToMainActor()
            && core.setHandler(collecting: core.ofMainActor(handler))
    }
}

extension KeyedLimiter {
    /// Sets the action of all keys, isolated to an actor on the limiter's loop, as `setHandler(isolation:_:)` of
    /// ``Limiter`` does for one.
    ///
    /// - Returns: Whether the limiter has the action. False if it was invalidated, or its loop has ended.
    @discardableResult
    public final func setHandler<A: Actor>(
        isolation actor: A, _ handler: @escaping @Sendable (_ actor: isolated A, _ key: Key, _ input: Input) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: core, handler)
        return core.setHandler(of: isolated) { isolated.call(($0, $1)) }
    }

    /// Sets an action that gets all inputs of a key, isolated to an actor: ``setHandler(collecting:)`` with the
    /// isolation of `setHandler(isolation:_:)`.
    @_disfavoredOverload @discardableResult
    public final func setHandler<A: Actor>(
        isolation actor: A,
        collecting handler: @escaping @Sendable (_ actor: isolated A, _ key: Key, _ inputs: [Input]) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: core, handler)
        return core.setHandler(of: isolated, collecting: { isolated.call(($0, $1)) })
    }

    /// Sets an action of the main actor that gets all inputs of a key: ``setHandler(collecting:)`` with the isolation
    /// of `setHandler(isolation:_:)`.
    @_disfavoredOverload @discardableResult
    public final func setHandler(
        isolation mainActor: MainActor,
        collecting handler: @escaping @MainActor (_ key: Key, _ inputs: [Input]) -> Void
    ) -> Bool {
        core.mayBelongToMainActor()
            && core.setHandler(collecting: core.ofMainActor(handler))
    }
}

extension PacedQueue {
    /// Sets an action that is isolated to an actor on the queue's loop, and may touch its state, as
    /// `setHandler(isolation:_:)` of ``Limiter`` does.
    ///
    /// - Returns: Whether the queue has the action. False if it was invalidated, or its loop has ended.
    @discardableResult
    public func setHandler<A: Actor>(
        isolation actor: A, _ handler: @escaping @Sendable (_ actor: isolated A, _ input: Input) -> Void
    ) -> Bool {
        let isolated = IsolatedHandler(actor, for: core, handler)
        return core.setHandler(of: isolated) { isolated.call($0) }
    }
}

extension LimiterBase: HandlerOwner {
    final var callingLoop: Loop? { loop }
}
