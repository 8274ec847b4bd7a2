extension Loop.Connection {
    /// Ends the connection in order, as ``end()`` does, but after a period at the latest. From any thread.
    ///
    /// If it is not over by then, it is closed: ``Event/closed(_:)`` reports `ETIMEDOUT`, and its error's text says how
    /// many bytes were dropped, or that only the peer's end is missing. ``LoopError/isOwnLimit`` tells it from a
    /// failure. What the kernel has taken over it still sends, unless the peer has sent something that was not read:
    /// then TCP resets the connection.
    ///
    /// - *The period* is counted by a timer on the clock of the connection's loop, in the modes that the connection is
    ///   in at this call. Zero, or less: the loop closes it when it comes around, and until then it is valid.
    /// - *A pipe to which the connection only writes* has no peer's end to wait for: it is over as soon as the kernel
    ///   has taken all, even while the pipe is full.
    /// - *A period beyond* ``Loop/Instant/distantFuture``, such as `.seconds(Int64.max)`, has no end.
    /// - *Reading first,* the handler gets what has arrived by this call, even while ``isReceiving`` is false, and can
    ///   answer it: only then is the peer told that nothing more comes. If the peer had finished, that is reported,
    ///   too. A handler that has got bytes is waited for, so it must not wait for the end. A call that does not read
    ///   first ends the reading, and so does the end of the period.
    /// - *What arrives later* is dropped and counted: ``ignoredByteCount``. A peer that goes on sending does not learn
    ///   of it before the connection is closed. To receive on until it finishes: ``finishSending(within:)``.
    /// - *A second call:* of the two periods the one counts that ends first. If the connection has moved to a loop with
    ///   another clock, or the first loop has ended, only the second counts.
    /// - *Without a handler* nothing is reported. A connection that has left its loop is closed without a report, too.
    ///
    /// A ``Loop/ConnectionSet`` ends many, reading first, and says when the last is closed.
    ///
    /// - Parameters:
    ///   - period: How long to wait.
    ///   - readingFirst: Whether to receive first what has arrived and was not read.
    /// - Returns: Whether the connection is in a loop. If false, it ends as by ``end()``, without a limit: add it
    ///   first.
    @discardableResult
    public func end(within period: Duration, readingFirst: Bool = false) -> Bool {
        if readingFirst { endAfterReading() } else { end() }
        return limitEnd(to: period)
    }

    /// Tells the peer that nothing more comes, and receives until the peer has finished. From any thread.
    ///
    /// A peer that stops when it sees the end loses nothing. Answers cannot be sent any more.
    ///
    /// - *After the period* the handler gets what has arrived by then, in one go, and the connection is closed: without
    ///   an error if the peer had finished, otherwise by `ETIMEDOUT`, even if all was received.
    ///   ``end(within:readingFirst:)`` has the rules of the period. Zero, or less: all this when the loop comes around.
    /// - *Over a Unix socket* nothing is lost that the peer's `send` has accepted. Once the period is over, that fails
    ///   by `EPIPE`, and what it has accepted before is received.
    /// - *Over TCP, or by a pipe,* a peer that goes on loses what arrives after the period, or is on its way then. What
    ///   waits when the connection is closed is counted: ``ignoredByteCount``. What comes later is not, so a protocol
    ///   that is to lose nothing needs an acknowledgement.
    /// - *A paused connection* receives nothing, not even the peer's end. At the end of the period it loses what waits,
    ///   which is counted: set ``isReceiving`` to true before. The same holds without a handler.
    ///
    /// - Parameter period: How long to wait for the peer.
    /// - Returns: Whether the connection is in a loop. If false, nothing limits the end.
    @discardableResult
    public func finishSending(within period: Duration) -> Bool {
        finishSending()
        return limitEnd(to: period)
    }

    /// Closes the connection after the period, unless it is over before.
    private func limitEnd(to period: Duration) -> Bool {
        let modes = currentModes
        guard let loop = modes.first?.loop else { return false }
        let period = isFinished ? 0 : max(0, period.wholeNanoseconds)
        guard period < Loop.Instant.distantFuture.nanoseconds else { return true }
        let (timer, replaced) = itemLock.withLock { endingTimer(after: period, in: ObjectIdentifier(loop)) }
        let rest = replaced.flatMap { timeLeft(of: $0, on: loop) } ?? period
        replaced?.retire()
        // The connection itself keeps runs going, unless it is of the background.
        timer.keepsRunsGoing = false
        timer.shorten(to: min(period, rest), evenOutsideOfModes: true)
        // An older one may lack a mode that the connection has joined meanwhile.
        for mode in modes { loop.insert(timer, in: mode.mode, isReported: false) }
        // It may have become invalid meanwhile.
        if !isValid { timer.retire() }
        return true
    }

    /// What is left of a period that another loop counts; nil if its clock is another one.
    private func timeLeft(of timer: Loop.Timer, on loop: Loop) -> Int64? {
        guard let old = timer.firstPlace?.loop, old.clock.isSame(as: loop.clock) else { return nil }
        return timer.nextFireTime.map { max(0, old.now.duration(to: $0).wholeNanoseconds) }
    }

    /// The timer of the period, and one that belonged to another loop, in which it would end nothing. The lock is held.
    private func endingTimer(
        after period: Int64, in loop: ObjectIdentifier
    ) -> (timer: Loop.Timer, replaced: Loop.Timer?) {
        let ending = makeEnding()
        if let timer = ending.timer, ending.loop == loop { return (timer, nil) }
        let timer = Loop.Timer(after: .nanoseconds(period), label: "end of the \(kind)") { [weak self] _ in
            self?.periodIsOver(in: loop)
        }
        ending.loop = loop
        return (timer, exchange(&ending.timer, with: timer))
    }

    /// - Parameter loop: That whose timer was called.
    private func periodIsOver(in loop: ObjectIdentifier) {
        receiveLast { isIn(loop) }
        if let error = expire(), isIn(loop), close(error) > 0 { return }
        invalidate()
    }

    private func isIn(_ loop: ObjectIdentifier) -> Bool {
        currentModes.contains { $0.loop.map { ObjectIdentifier($0) } == loop }
    }

    // MARK: Sets

    /// What the end of a connection concerns besides its handler. Guarded by the connection's lock.
    final class Ending {
        /// Ends the period of `end(within:)`.
        @exclusivity(unchecked) fileprivate(set) var timer: Loop.Timer?
        /// The loop whose clock counts the period.
        @exclusivity(unchecked) fileprivate var loop: ObjectIdentifier?

        /// See ``Loop/Connection/idleLimit``.
        @exclusivity(unchecked) var idleLimit: Duration?
        /// Counts `idleLimit`. It follows the connection.
        @exclusivity(unchecked) var idleTimer: Loop.Timer?

        /// In the sets that have the connection.
        @exclusivity(unchecked) fileprivate var stays: [ConnectionStay] = []

        /// Takes out the stays, for the caller to end without the lock.
        func takeStays() -> EndingStays? {
            stays.isEmpty ? nil : EndingStays(exchange(&stays, with: []))
        }

        /// The connection is invalid, and its handler is released.
        func end() {
            retireTimers()
            stays = []
        }

        func retireTimers() {
            timer?.retire()
            idleTimer?.retire()
        }
    }

    /// Called with the lock held.
    func makeEnding() -> Ending {
        itemLock.assertHeld()
        if let ending { return ending }
        let new = Ending()
        ending = new
        return new
    }

    /// What has come of an insertion into a set.
    enum Joining {
        case joined
        /// The connection is invalid.
        case isOver
        /// The set is ending.
        case isLate
    }

    /// Joins a set, which it leaves when it is closed.
    func join(_ members: ConnectionMembers) -> Joining {
        itemLock.withLock {
            guard isValid else { return .isOver }
            if let ending, ending.stays.contains(where: { $0.members === members }) {
                return members.isEnding ? .isLate : .joined
            }
            guard let stay = members.insert(self) else { return .isLate }
            makeEnding().stays.append(stay)
            return .joined
        }
    }

    /// Ends the connection as its set ends. One that is in no loop is invalidated, since no loop would end it.
    func endOrInvalidate(_ manner: ConnectionMembers.Manner, within period: Duration) {
        let isInLoop =
            manner == .receiving ? finishSending(within: period) : end(within: period, readingFirst: true)
        if !isInLoop { invalidate() }
    }

    /// Its loop has ended: no set keeps it open any more, and one that is ending closes it.
    func leaveSets() {
        let stays = itemLock.withLock { isInModeWhileLocked ? nil : ending?.takeStays() }
        guard let stays else { return }
        if stays.areEnding { invalidate() }
        stays.end()
    }
}
