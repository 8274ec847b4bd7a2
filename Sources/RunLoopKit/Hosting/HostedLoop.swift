extension Loop {
    /// What a host learns from a pass.
    public enum HostedResult: Sendable, Hashable {
        /// There is nothing to do until the descriptor becomes readable.
        case idle
        /// More is ready. The descriptor is readable, so a host need not do anything about it.
        case more
        /// Somebody called `stop()`. The host decides what that means; it may go on.
        case stopped
        /// As `idle`; besides, nothing is left in the mode that could ever happen by itself.
        case finished
    }

    // MARK: For hosts

    /// Lets a foreign loop run this one: GLib's, SDL's, libuv's, Android's, or a `poll` of your own.
    ///
    /// The host watches one descriptor for readability, level- or edge-triggered as it likes, and calls `hostedPass()`
    /// when it is readable. Nothing else is needed: timers, posts, ports, stops, and on the main loop the main dispatch
    /// queue all make it readable, and after a pass that leaves nothing to do it is not. An idle loop costs the host no
    /// wake-up.
    ///
    /// ```swift
    /// let descriptor = try Loop.main.beginHosting()
    /// g_unix_fd_add(descriptor, G_IO_IN, { _, _, _ in
    ///     Loop.main.hostedPass()
    ///     return 1  // watch on
    /// }, nil)
    /// ```
    ///
    /// Hosting is one long run in which the host does the sleeping. The entry observers are called now, the exit ones
    /// by `endHosting()`; the beforeWaiting ones when a pass leaves nothing to do, and the afterWaiting ones when the
    /// next one, a run, or the end begins. `currentMode` is the hosted mode, `isWaiting` is true between passes, and a
    /// `stop()` is not lost. A handler may run the loop nested, or the host; a stop is for the innermost of these. On a
    /// `VirtualClock` time stands still while a handler runs the host.
    ///
    /// - Parameter mode: The mode that passes run in. To change it, end hosting and begin again.
    /// - Returns: The descriptor: the mode's own, valid as long as the loop. Only watch it: never read or close it. It
    ///   is readable at once, so the first pass comes without being asked for.
    /// - Throws: `LoopError` from `eventfd`, `timerfd_create`, `epoll_create1` or `epoll_ctl`, usually because the
    ///   process has no descriptor left. Nothing has begun then.
    /// - Precondition: Called on the loop's own thread, outside its runs, for a mode other than `common` of a loop that
    ///   has not ended and is not hosted; traps otherwise.
    ///
    /// CF: `_CFRunLoopGetWakeUpPort` and `CFRunLoopRunInMode` with a timeout of zero, by which hosts have to help
    /// themselves.
    public func beginHosting(_ mode: Mode = .default) throws(LoopError) -> Int32 {
        requireOwnThread("beginHosting")
        guard mode != .common, currentMode == nil, !lock.withLock({ hasEnded }) else {
            fatalError(
                "RunLoopKit: Loop.beginHosting(\(mode)): a loop cannot be hosted in the mode 'common', inside one of "
                    + "its runs, twice, or after its end. Call it before the host begins to run, and endHosting() "
                    + "before beginning again."
            )
        }
        try prepare(mode)
        let state = lock.withLock { self.state(for: mode) }
        let hosting = Hosting(self, in: state)
        own.host = hosting
        _ = ThreadLoops.current.running(self) { notify(.entry, in: state) }
        return state.poller!.descriptor
    }

    /// Makes one pass that does not wait: what is ready is served as in a pass of a run, one version-1 source at
    /// most.
    ///
    /// To be called by the host when the descriptor is readable; calling it at other times does no harm. From C
    /// callbacks, which capture nothing, call it on `Loop.main` or `Loop.current`.
    ///
    /// - Precondition: Called on the loop's own thread, between `beginHosting` and `endHosting`; traps otherwise.
    @discardableResult
    public func hostedPass() -> HostedResult { makePasses(until: nil, in: requireHosted("hostedPass")) }

    /// Makes passes that do not wait until there is nothing to do or the time is up: for hosts that draw frames.
    ///
    /// Nothing is lost when the time is up: what was not served is ready for the next call. Handlers are not
    /// interrupted: the time is looked at after each, and at least one of each kind that is ready is called.
    ///
    /// ```swift
    /// while drawsFrames {
    ///     pollEvents()
    ///     draw()
    ///     Loop.main.hostedPass(for: .milliseconds(4))
    /// }
    /// ```
    ///
    /// - Parameter budget: How long to go on, on the loop's clock. Zero or less: one pass, cut short after a handler of
    ///   each kind.
    /// - Returns: As `hostedPass()`; `more` when the time was up first.
    /// - Precondition: As for `hostedPass()`.
    @discardableResult
    public func hostedPass(for budget: Duration) -> HostedResult {
        let hosting = requireHosted("hostedPass")
        return makePasses(until: clock.nanoseconds.addingSaturating(max(0, budget.wholeNanoseconds)), in: hosting)
    }

    /// For how long the host may sleep at most: zero when something is ready, nil for ever.
    ///
    /// For hosts that sleep with a timeout instead of watching a descriptor. They do not hear of posts from other
    /// threads while they sleep: keep the timeout short then, or wake the host.
    ///
    /// - Precondition: As for `hostedPass()`.
    public var hostTimeout: Duration? {
        let mode = requireHosted("hostTimeout").mode
        if System.isReadable(mode.poller!.descriptor) { return .zero }
        let next = lock.withLock {
            let sleep = Sleep(in: mode)
            let continuous = sleep.continuousDeadline
            return min(sleep.deadline, continuous == TimerHeap.never ? continuous : onOwnClock(continuous))
        }
        return next == TimerHeap.never ? nil : max(.zero, now.duration(to: Instant(nanoseconds: next)))
    }

    /// Whether the loop is being hosted. On the loop's own thread; traps elsewhere.
    public var isHosted: Bool {
        requireOwnThread("isHosted")
        return own.host != nil
    }

    /// Ends being hosted: the exit observers are called, and from now on the loop is run as any other. Stop watching
    /// the descriptor first; the loop may run or be hosted again. Called inside a pass, it takes effect when that
    /// returns, which returns `stopped`; inside a run between two passes, when that returns.
    ///
    /// - Precondition: As for `hostedPass()`.
    public func endHosting() {
        let hosting = requireHosted("endHosting")
        ThreadLoops.current.running(self) { hosting.end() }
    }

    private func makePasses(until budgetEnd: Int64?, in hosting: Hosting) -> HostedResult {
        ThreadLoops.current.running(self) { hosting.makePasses(until: budgetEnd) }
    }

    private func requireHosted(_ call: String) -> Hosting {
        requireOwnThread(call)
        guard let host = own.host else {
            fatalError("RunLoopKit: Loop.\(call) was called on a loop that is not hosted. Call beginHosting(_:) first.")
        }
        return unsafeDowncast(host, to: Hosting.self)  // There is no other kind of host.
    }
}
