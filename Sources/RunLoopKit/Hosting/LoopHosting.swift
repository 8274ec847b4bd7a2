extension Loop {
    /// The result of a hosted pass.
    public enum HostedResult: Sendable, Hashable {
        /// Nothing is left to do until the descriptor becomes readable.
        case idle
        /// More is ready, and the descriptor is readable, for an edge-triggered host newly so: the host need do nothing
        /// special.
        case more
        /// ``Loop/stop()`` was called. The host decides what that means, and may continue. A pass in which
        /// ``Loop/HostFunctions/end()`` was called returns this, too: ``Loop/HostFunctions/isActive`` is false then.
        case stopped
        /// As `idle`; in addition, the mode has nothing to wait for.
        case finished
    }

    /// For hosts: lets a foreign loop run this one, as ``Loop/HostFunctions/begin(in:)`` describes.
    @inlinable public var hosting: HostFunctions { HostFunctions(loop: self) }

    /// The functions with which a foreign loop hosts a loop: ``Loop/hosting``.
    public struct HostFunctions: Sendable {
        @usableFromInline let loop: Loop
        @inlinable init(loop: Loop) { self.loop = loop }
    }
}

extension Loop.HostFunctions {
    /// Lets a foreign loop run this one: that of GLib, SDL, libuv or Android, or a `poll` of your own. On the loop's
    /// own thread. See <doc:Hosting>.
    ///
    /// The host watches one descriptor for readability, level- or edge-triggered, and calls
    /// ``Loop/HostFunctions/pass()`` when it is readable. Everything that the loop serves makes it readable; after a
    /// pass that leaves nothing to do it is not.
    ///
    /// ```swift
    /// let descriptor = try Loop.main.hosting.begin()
    /// let id = g_unix_fd_add(descriptor, G_IO_IN, { _, _, _ in
    ///     Loop.main.hosting.pass() == .stopped ? 0 : 1  // After a stop, watch no more.
    /// }, nil)
    /// // Otherwise GLib does not serve the loop while one of its handlers iterates the context, as a dialog does.
    /// g_source_set_can_recurse(g_main_context_find_source_by_id(nil, id), 1)
    /// ```
    ///
    /// Hosting is one long run in which the host does the sleeping:
    ///
    /// - *Observers:* this method calls those of entry, ``Loop/HostFunctions/end()`` those of exit. A pass that leaves
    ///   nothing to do calls the beforeWaiting observers; the next pass, a run or the end calls the afterWaiting ones.
    /// - *Between passes* ``Loop/isWaiting`` is true, and a ``Loop/stop()`` is not lost. ``Loop/currentMode`` is the
    ///   hosted mode.
    /// - *A handler* may run the loop nested, or the host (<doc:Hosting#A-dialog-inside-a-handler>). A stop is for the
    ///   innermost of these. Virtual time does not advance while a handler runs the host.
    ///
    /// CF: `_CFRunLoopGetWakeUpPort`, and `CFRunLoopRunInMode` with a timeout of zero, which hosts must make do with.
    ///
    /// - Parameter mode: The mode that passes run in. To change it, end hosting and begin again.
    /// - Returns: The mode's own descriptor, valid for the lifetime of the loop. Only watch it: never read or close it.
    ///   It is readable at once, so that the host makes a first pass.
    /// - Throws: ``LoopError`` from `eventfd`, `timerfd_create`, `epoll_create1` or `epoll_ctl`, usually because the
    ///   process has no descriptor left. The loop is then not hosted.
    /// - Precondition: Called on the loop's own thread, outside its runs, for a mode other than `common` of a loop that
    ///   has not ended and is not hosted; traps otherwise.
    public func begin(in mode: Loop.Mode = .default) throws(LoopError) -> Int32 { try loop.startHosting(in: mode) }

    /// Makes one pass that does not wait. As in a run, it serves at most one version-1 source.
    ///
    /// The host calls this when the descriptor is readable; other calls are harmless. C callbacks, which capture
    /// nothing, call it on ``Loop/main`` or ``Loop/current``.
    ///
    /// - Precondition: Called on the loop's own thread, while the loop is hosted; traps otherwise.
    @discardableResult
    public func pass() -> Loop.HostedResult { loop.makePasses(until: nil, in: loop.requireHosted("hosting.pass")) }

    /// Makes passes that do not wait, until nothing is left to do or the time is up: for hosts that draw frames.
    ///
    /// What was not served when the time is up is ready for the next call. Handlers are not interrupted: the time is
    /// checked after each. A pass that has begun still calls one handler of each of its steps: a block, a signalled
    /// source, and what is ready. It first finds all timers that are due, or sources that are signalled, whatever the
    /// budget: 0.2 ms for a thousand timers. The next calls go on with those.
    ///
    /// ```swift
    /// while drawsFrames {
    ///     pollEvents()
    ///     draw()
    ///     if Loop.main.hosting.pass(for: .milliseconds(4)) == .stopped { drawsFrames = false }
    /// }
    /// ```
    ///
    /// - Parameter budget: How long to continue, on the loop's clock. If zero or less, makes one pass, cut short after
    ///   one handler of each kind.
    /// - Returns: As ``Loop/HostFunctions/pass()``; `more` if the time was up first.
    /// - Precondition: As for ``Loop/HostFunctions/pass()``.
    @discardableResult
    public func pass(for budget: Duration) -> Loop.HostedResult {
        let hosting = loop.requireHosted("hosting.pass")
        let end = loop.clock.nanoseconds.addingSaturating(max(0, budget.wholeNanoseconds))
        return loop.makePasses(until: end, in: hosting)
    }

    /// Says that the host is about to sleep, and asks whether it may. A host *need not* say so, but one that does saves
    /// most system calls of hosting.
    ///
    /// It is for hosts that call a function of yours before *each* sleep, such as GLib (a source's `prepare`), libuv
    /// (`uv_prepare_t`) or Qt (`aboutToBlock`):
    ///
    /// ```swift
    /// var requests = [pollfd(fd: try loop.hosting.begin(), events: Int16(POLLIN), revents: 0)]
    /// while true {
    ///     let maySleep = loop.hosting.willSleep()
    ///     poll(&requests, nfds_t(requests.count), maySleep ? -1 : 0)
    ///     loop.hosting.didWake()
    ///     if !maySleep || requests[0].revents != 0 { loop.hosting.pass() }
    ///     // … what else the host serves …
    /// }
    /// ```
    ///
    /// From the first call on, the descriptor shows work only while the host sleeps: between a call that returned true
    /// and ``Loop/HostFunctions/didWake()`` or the next pass. The next call finds what comes at other times. So a post
    /// makes no system call while the host is busy, and a pass asks the kernel only for what it alone knows. During a
    /// sleep without this call, such as that of a dialog's own loop, work may wait.
    ///
    /// - Returns: Whether the host may sleep until the descriptor is readable. If false, it must not sleep, and call
    ///   ``Loop/HostFunctions/pass()``.
    /// - Precondition: As for ``Loop/HostFunctions/pass()``.
    public func willSleep() -> Bool { loop.requireHosted("hosting.willSleep").hostWillSleep(loop) }

    /// Says that the host is awake, whether or not it has slept. Until the next ``Loop/HostFunctions/willSleep()`` no
    /// thread makes a system call to wake it.
    ///
    /// At other times it is harmless, and without effect if the host never says that it sleeps. A host that leaves it
    /// out loses nothing: a pass says the same.
    ///
    /// - Precondition: As for ``Loop/HostFunctions/pass()``.
    public func didWake() { loop.requireHosted("hosting.didWake").hostDidWake(loop) }

    /// How long the host may sleep at most: zero if something is ready, nil for no limit. For hosts that sleep with a
    /// timeout instead of watching a descriptor.
    ///
    /// - Posts from other threads do not end that sleep. Keep the timeout short; or let a ``LoopThread`` watch the
    ///   descriptor, and wake the host by what ends its sleep, as <doc:Hosting#SDL> does.
    /// - A host that sleeps in milliseconds rounds up, or it comes too early.
    ///
    /// - Precondition: As for ``Loop/HostFunctions/pass()``.
    public var timeout: Duration? {
        let hosting = loop.requireHosted("hosting.timeout")
        if hosting.mustMakePass(loop) { return .zero }
        let next = loop.lock.withLock { loop.earliestWakeUp(in: hosting.mode) }
        return next == TimerHeap.never ? nil : max(.zero, loop.now.duration(to: Loop.Instant(nanoseconds: next)))
    }

    /// Whether the loop is hosted. On the loop's own thread; traps elsewhere.
    public var isActive: Bool {
        loop.requireOwnThread("hosting.isActive")
        return loop.own.host != nil
    }

    /// Ends hosting: calls the exit observers. The loop may then be run, or hosted again. Stop watching the descriptor
    /// first.
    ///
    /// Inside a pass, the call takes effect when the pass returns, with the result `stopped`; inside a run between two
    /// passes, when the run returns.
    ///
    /// - Precondition: As for ``Loop/HostFunctions/pass()``.
    public func end() {
        let hosting = loop.requireHosted("hosting.end")
        ThreadLoops.current.running(loop) { hosting.end(loop) }
    }
}

extension Loop {
    fileprivate func startHosting(in mode: Mode) throws(LoopError) -> Int32 {
        requireOwnThread("hosting.begin")
        guard !mode.namesCommonModes, currentMode == nil, !lock.withLock({ hasEnded }) else {
            fatalError(
                "RunLoopKit: Loop.hosting.begin(in: \(mode)): a loop cannot be hosted in the mode 'common', inside one "
                    + "of its runs, twice, or after its end. Call it before the host begins to run, and hosting.end() "
                    + "before beginning again."
            )
        }
        try prepare(mode)
        let state = lock.withLock { self.state(for: mode) }
        own.host = Hosting(self, in: state)
        _ = ThreadLoops.current.running(self) { notify(.entry, in: state) }
        return state.pollDescriptor
    }

    fileprivate func makePasses(until budgetEnd: Int64?, in hosting: Hosting) -> HostedResult {
        let changesCurrentLoop = ThreadLoops.beginRunning(self)
        let result = hosting.makePasses(of: self, until: budgetEnd)
        if changesCurrentLoop { ThreadLoops.endRunning() }
        return result
    }

    fileprivate func requireHosted(_ call: StaticString) -> Hosting {
        requireOwnThread(call)
        guard let host = own.host else {
            fatalError(
                "RunLoopKit: Loop.\(call) was called on a loop that is not hosted. Call hosting.begin(in:) first.")
        }
        return unsafeDowncast(host, to: Hosting.self)  // There is no other kind of host.
    }
}
