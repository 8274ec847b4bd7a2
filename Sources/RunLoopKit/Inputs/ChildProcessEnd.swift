extension Loop.ChildProcess {
    /// Sends a signal to the child's process group. From any thread.
    ///
    /// - Returns: Whether it was sent. False if the child has been reaped, if the number is no signal, and if this
    ///   process lacks the permission to signal any process of the group.
    @discardableResult
    public func signal(_ number: Int32) -> Bool { group.signal(number) }

    /// Asks the child to end, and ends it if it does not: sends SIGTERM to its process group, and SIGKILL after the
    /// grace period. From any thread, before the child is added and after it has ended.
    ///
    /// The exit is reported when nothing in the group lives any more, or SIGKILL was sent: so a handler can start
    /// another child, or stop the loop. SIGCONT follows SIGTERM, since a stopped process takes no other signal.
    ///
    /// - *The grace period* is counted by a timer in the child's modes, on the clock of its loop: from this call, or
    ///   from when the child is added. If the loop ends before, or the child is invalid or released and in no loop,
    ///   SIGKILL is sent then. A program whose `main` returns first sends none.
    /// - *Zero, or less:* SIGKILL follows at once. *A period beyond* ``Loop/Instant/distantFuture``, such as
    ///   `.seconds(Int64.max)`: there is no SIGKILL, and the exit is reported as soon as the child has ended.
    /// - *Grandchildren* that are in the group when the child has ended get SIGKILL at the end of the period. Until
    ///   then the child stays a zombie, so that no other process gets its number. When the last of the group has ended,
    ///   the period ends, too; unless `/proc` is missing, or a descriptor.
    /// - *In the child's handler,* of a child that has ended by itself: ends the others in its group, if there are any.
    ///   The timer keeps runs going meanwhile. A program that stops its loop then leaves them running:
    ///   ``endOthers(within:)``.
    /// - *A second call* sends no second SIGTERM. Of the two periods the one counts that ends first.
    /// - *In virtual time* the period is virtual and the child's end is real: a loop that has nothing else to do goes
    ///   to the end of the period at once.
    ///
    /// - Parameter grace: How long to wait before SIGKILL.
    /// - Returns: Whether the child had not been reaped. If false, nothing was done.
    @discardableResult
    public func end(within grace: Duration) -> Bool {
        let grace = max(0, grace.wholeNanoseconds)
        let counts = grace < Loop.Instant.distantFuture.nanoseconds
        // Before SIGTERM: the child's end may be reported before this call returns.
        let modes = modesThatCount
        guard group.beginEnd(counts: counts) else { return false }
        guard counts, group.isCounting else { return true }
        if grace == 0 { group.finishEnd() } else { count(grace, in: modes) }
        return true
    }

    /// Lets nothing in the child's group outlive it: when the child has ended by itself, the others in its group, such
    /// as what a shell has started, are ended as by ``end(within:)``. Then its exit is reported. From any thread.
    ///
    /// A second call replaces the period. Without others, nothing is signalled, and no time passes. A period without
    /// end means SIGTERM alone, and the exit is reported at once.
    ///
    /// systemd: `KillMode=control-group`.
    ///
    /// - Parameter grace: How long to wait before SIGKILL. Zero or less: it follows SIGTERM at once.
    /// - Returns: Whether the child is valid. False after its end was reported.
    @discardableResult
    public func endOthers(within grace: Duration) -> Bool {
        itemLock.withLock {
            if isValid { othersGrace = grace }
            return isValid
        }
    }

    /// As `endOthers(within:)`, unless that was called.
    func endOthersIfNotAsked(within grace: Duration) {
        itemLock.withLock { othersGrace = othersGrace ?? grace }
    }

    /// Limits the time of the child: asks it to end when the time is over, as ``end(within:)`` does, and tells so by
    /// ``isOverTimeLimit``. From any thread.
    ///
    /// ```swift
    /// let child = try Loop.ChildProcess("make") { child, exit in
    ///     print(child.isOverTimeLimit ? "took too long" : "\(exit)")
    /// }
    /// child.end(after: .seconds(60), within: .seconds(5))
    /// Loop.current.add(child)
    /// ```
    ///
    /// - *The limit* is counted by a timer in the child's modes, on the clock of its loop: from this call, or from when
    ///   the child is added.
    /// - *Zero, or less:* the child is asked as soon as the loop comes around, unless it has ended by then.
    /// - *A second call* replaces the limit. One beyond ``Loop/Instant/distantFuture`` removes it.
    /// - *A child that is invalidated or released, or whose loop ends,* is left running, without a limit.
    /// - *In virtual time* the limit is virtual and the child's end is real: a loop that has nothing else to do goes to
    ///   the limit at once.
    ///
    /// Node.js: `timeout` of `child_process`; Python: that of `subprocess`; systemd: `RuntimeMaxSec`.
    ///
    /// - Parameters:
    ///   - limit: How long the child may run.
    ///   - grace: How long to wait then before SIGKILL.
    /// - Returns: Whether the child has the limit. False if it is invalid, as after its end was reported.
    @discardableResult
    public func end(after limit: Duration, within grace: Duration) -> Bool {
        let limit = max(0, limit.wholeNanoseconds)
        let new =
            limit == .max
            ? nil
            : Loop.Timer(after: .nanoseconds(limit), label: "time limit of process \(process)") { [weak self] _ in
                self?.limitIsOver(grace)
            }
        var isLimited = false
        let old = itemLock.withLock { () -> Loop.Timer? in
            guard isValid else { return nil }
            isLimited = true
            return exchange(&limitTimer, with: new)
        }
        old?.invalidate()
        guard isLimited else {
            new?.invalidate()
            return false
        }
        guard let new else { return true }
        // The child itself keeps runs going, unless it is of the background.
        new.keepsRunsGoing = false
        takeAlong(new, to: currentModes)
        // It may have ended meanwhile.
        if !isValid { new.retire() }
        return true
    }

    /// Whether the child was asked to end since its time limit was over: ``end(after:within:)``. From any thread.
    ///
    /// One that ended by itself at that very moment may have been asked, too: its exit says so.
    public var isOverTimeLimit: Bool { itemLock.withLock { isOverLimit } }

    private func limitIsOver(_ grace: Duration) {
        // What has ended by itself is reported as that.
        guard isValid, group.exit == nil else { return }
        itemLock.withLock { isOverLimit = true }
        end(within: grace)
    }

    func dropLimit() { itemLock.withLock { limitTimer.take() }?.invalidate() }

    private var modesThatCount: ModeList { itemLock.withLock { lastModes ?? modesWhileLocked } }

    /// Begins the grace period, or shortens it.
    ///
    /// - Parameter modes: The child's modes when the end was asked for. It may have left them meanwhile, since it has
    ///   ended; but the others in its group have the period.
    private func count(_ grace: Int64, in modes: ModeList) {
        var isNew = false
        var isAttached = false
        var isShorter = false
        // Outlives the lock: if another thread has ended the group meanwhile, it has the last reference.
        var token: Grace?
        defer { withExtendedLifetime(token) {} }
        let timer = itemLock.withLock { () -> Loop.Timer? in
            isShorter = grace < graceLength
            graceLength = min(grace, graceLength)
            if let timer = graceTimer ?? group.graceTimer { return timer }
            guard isValid || lastModes != nil || !modes.isEmpty else { return nil }
            isNew = true
            let new = Grace(of: group)
            token = new
            let timer = Loop.Timer(after: .nanoseconds(grace), label: "grace period of process \(process)") { _ in
                new.isOver()
            }
            isAttached = group.attach(timer)
            // Otherwise the loop alone keeps it: what is invalid drops a timer that is in no mode yet.
            if isValid, lastModes == nil { graceTimer = timer }
            return timer
        }
        guard let timer else { return group.finishEnd() }
        guard isNew else { return timer.shorten(to: grace, evenOutsideOfModes: isShorter) }
        guard isAttached else { return timer.invalidate() }
        let modesNow = modesThatCount
        takeAlong(timer, to: modesNow.isEmpty ? modes : modesNow)
        // The child may have become invalid meanwhile. Then no loop counts.
        if !isValid { dropTimer(timer) }
        group.timerIsCounting()
    }

    /// Lets go of the timer when the child is invalid or released: without a loop it counts no more.
    func dropTimer(_ timer: Loop.Timer?) {
        guard let timer, timer.currentModes.isEmpty else { return }
        timer.invalidate()
    }
}

/// What the handler of a grace period's timer holds. If the timer never fires, since its loop has ended, the period is
/// over when the timer is released.
private final class Grace: Sendable {
    private let group: ChildGroup
    init(of group: ChildGroup) { self.group = group }
    func isOver() { group.finishEnd() }
    deinit { group.finishEnd() }
}
