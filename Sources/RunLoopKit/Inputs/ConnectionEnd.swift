extension Loop.Connection {
    /// Ends the connection in order, as ``end()`` does, but after a period at the latest. From any thread.
    ///
    /// If it is not over by then, it is closed: ``Event/closed(_:)`` reports `ETIMEDOUT`, and its error's text says how
    /// many bytes were dropped, or that only the peer's end is missing. What the kernel has taken over it still sends,
    /// unless the peer has sent something that was not read: then TCP resets the connection.
    ///
    /// - *The period* is counted by a timer on the clock of the connection's loop, in the modes that the connection is
    ///   in at this call. Zero, or less: it is over at once.
    /// - *A pipe to which the connection only writes* has no peer's end to wait for: it is over as soon as the kernel
    ///   has taken all, even while the pipe is full.
    /// - *A period beyond* ``Loop/Instant/distantFuture``, such as `.seconds(Int64.max)`, has no end.
    /// - *A second call:* of the two periods the one counts that ends first.
    /// - *Without a handler* nothing is reported. A connection that has left its loop is closed without a report, too.
    ///
    /// - Parameter period: How long to wait.
    /// - Returns: Whether the connection is in a loop. If false, it ends as by ``end()``, without a limit: add it
    ///   first.
    @discardableResult
    public func end(within period: Duration) -> Bool {
        end()
        let modes = currentModes
        guard let loop = modes.first?.loop else { return false }
        let period = isFinished ? 0 : max(0, period.wholeNanoseconds)
        guard period < Loop.Instant.distantFuture.nanoseconds else { return true }
        var isNew = false
        let timer = itemLock.withLock {
            if let endTimer { return endTimer }
            isNew = true
            let id = ObjectIdentifier(loop)
            let timer = Loop.Timer(after: .nanoseconds(period), label: "end of the \(kind)") { [weak self] _ in
                self?.periodIsOver(in: id)
            }
            endTimer = timer
            return timer
        }
        if isNew {
            for mode in modes { loop.insert(timer, in: mode.mode) }
            // It may have become invalid meanwhile.
            if !isValid { timer.retire() }
        } else {
            timer.shorten(to: period, evenOutsideOfModes: false)
        }
        return true
    }

    /// - Parameter loop: That whose timer was called.
    private func periodIsOver(in loop: ObjectIdentifier) {
        let isHere = currentModes.contains { $0.loop.map { ObjectIdentifier($0) } == loop }
        if let error = expire(), isHere, close(error) > 0 { return }
        invalidate()
    }
}
