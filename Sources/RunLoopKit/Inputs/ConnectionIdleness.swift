extension Loop.Connection {
    /// How long the peer may be idle; initially nil, for ever. Then the connection is closed: ``Event/closed(_:)``
    /// reports `ETIMEDOUT`, with ``LoopError/isOwnLimit``, and `idleLimit` as the call. From any thread.
    ///
    /// ```swift
    /// let client = try Loop.Connection(connectingTo: .tcp(.loopback, port: 7007))
    /// client.idleLimit = .seconds(60)
    /// ```
    ///
    /// - *Idle* is a peer that sends nothing, while the connection receives; and that takes nothing, while bytes wait
    ///   for it. A connection that is not made in this time is closed, too; so is one that waits for the peer's end
    ///   after ``end()``.
    /// - *Not idle* is a peer that has sent something which was not read yet, since the loop was busy.
    /// - *The time stands still* while the connection waits for nothing of the peer's: it has no handler; or nothing is
    ///   left to send, and ``isReceiving`` is false, the peer has finished, or a pipe is only written to.
    /// - *It begins anew* after a standstill; when bytes begin to wait, or all are sent; when the connection joins a
    ///   loop or a mode, or its handler returns; and when this is set, even to the same value. A program whose answer
    ///   takes longer sets it to nil meanwhile. What is sent at once does not count, or a client that only listens
    ///   would never be idle.
    /// - *Zero or less* counts as zero: it is idle as soon as nothing is ready. Beyond ``Loop/Instant/distantFuture``:
    ///   never.
    ///
    /// A timer on the loop's clock counts it, in the modes of the connection. What waited is dropped:
    /// ``droppedByteCount``.
    ///
    /// libevent: `bufferevent_set_timeouts`; Node.js: `setTimeout` of a socket; SwiftNIO: `IdleStateHandler`.
    public var idleLimit: Duration? {
        get { itemLock.withLock { ending?.idleLimit } }
        set {
            let timer = newValue.map { limit in
                Loop.Timer(restartableAfter: limit, label: "idle limit of the \(kind)") { [weak self] firing in
                    self?.idleTimeIsOver(firing.timer, after: limit)
                }
            }
            let replaced = itemLock.withLock { replaceIdleTimer(by: timer, after: newValue) }
            replaced?.retire()
            guard let timer else { return }
            // The connection itself keeps runs going, unless it is of the background.
            timer.keepsRunsGoing = false
            takeAlong(timer, to: currentModes)
            // It may have become invalid meanwhile.
            if !isValid { timer.retire() }
        }
    }

    /// Returns the timer that is not needed any more. The lock is held.
    private func replaceIdleTimer(by timer: Loop.Timer?, after limit: Duration?) -> Loop.Timer? {
        guard isValid else { return timer }
        guard timer != nil || ending != nil else { return nil }
        let ending = makeEnding()
        ending.idleLimit = limit
        return exchange(&ending.idleTimer, with: timer)
    }

    private func idleTimeIsOver(_ timer: Loop.Timer, after limit: Duration) {
        // The first handler restarts it.
        guard canBeCalled else { return }
        // The connection has moved to the loop of another thread, and the timer follows it.
        guard firstPlace?.loop.isOnOwnThread == true else { return _ = timer.restart() }
        switch expireIfIdle(for: limit) {
        case .idle(let error): if close(error) == 0 { invalidate() }
        case .active: timer.restart()
        case .paused: break
        }
    }

    /// The peer's time begins anew.
    func restartIdleTimer() { itemLock.withLock { ending?.idleTimer }?.restart() }
}
