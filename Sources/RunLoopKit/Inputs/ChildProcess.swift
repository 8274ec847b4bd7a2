extension Loop {
    /// A version-1 source: starts a program, and reports once how it ended. Any thread may use it; the handler runs on
    /// the loop's thread.
    ///
    /// ```swift
    /// let child = try Loop.ChildProcess("sh", ["-c", "exit 3"]) { child, exit in
    ///     print("\(child.process) \(exit)")  // 4711 exited with 3
    /// }
    /// Loop.current.add(child, in: .default)
    /// ```
    ///
    /// The initializer starts the program: in a process group of its own, with no signal blocked or ignored, and with
    /// no descriptor but its standard streams. An end before the child is added is reported then.
    ///
    /// - *Pipes:* a stream that is `.pipe` has a ``Loop/Connection`` in this process, which joins the child's modes:
    ///   `child.outputConnection.setHandler { connection, event in … }`.
    /// - *Ctrl-C* and a hang-up of the terminal reach only this process, not the child's group: ``end(within:)`` the
    ///   child in the handler of a ``Loop/SignalSource``, or it goes on without its parent.
    /// - *Signals:* ``signal(_:)`` and ``end(within:)`` signal the group. The child keeps its number until it is
    ///   reaped, so they never reach another process, unless other code reaps it at that moment.
    /// - *Others in its group,* such as what a shell has started, go on when the child ends by itself, unless
    ///   ``endOthers(within:)`` was called.
    /// - *A time limit:* ``end(after:within:)``. The handler asks ``isOverTimeLimit``.
    /// - *If this process dies* without ending it, the child goes on. The kernel's way to prevent that
    ///   (`PR_SET_PDEATHSIG`) is closed to `posix_spawn`, and counts the thread that starts the child, not the process.
    ///   A child of your own can read its input, if that is `.pipe`: it comes to its end then.
    /// - *A task* may wait for the end, beside a handler or without one: ``waitForEnd()``.
    /// - *Reaping:* the child is reaped right after its handler has returned. ``end(within:)`` has an exception.
    ///   Without a handler its end is kept, and it stays a zombie.
    /// - *Invalidated or released,* the object leaves its child running. A thread then waits for the end, and reaps it.
    ///   An end that was asked for is completed. A program that does not care for the end invalidates the object:
    ///   releasing one that was never added is a mistake.
    /// - *If other code reaps it,* or SIGCHLD is ignored, which makes the kernel reap all children, the exit is
    ///   ``Loop/ProcessSource/Exit/unknown``. After that nothing is signalled.
    /// - *In a forked child of this process* nothing is signalled or reaped.
    ///
    /// The source becomes invalid right before the handler is called. It can be in several modes of one loop, and keeps
    /// runs in them going. It has one descriptor, a pidfd, and one more for each pipe. No thread waits for the child
    /// while the source is valid. <doc:Costs> has the system calls.
    ///
    /// CF: none. Foundation: `Process`; GLib: `g_spawn_async` with `g_child_watch`.
    public final class ChildProcess: Item, Source1, @unchecked Sendable {
        /// How a child ended.
        public typealias Exit = ProcessSource.Exit

        /// The type of the handler.
        public typealias Handler = @Sendable (_ child: ChildProcess, _ exit: Exit) -> Void

        let group: ChildGroup
        let connections: ChildConnections

        // Guarded by the item's lock, and exclusivity is unchecked for that.

        /// Nil before it is set, once it has been called, and once the source is invalid.
        @exclusivity(unchecked) private var handler: Handler?

        /// The tasks that wait for the end; nil while there are none. The others are like a handler that does nothing.
        @exclusivity(unchecked) var waiters: [AwaitedEnd]?

        /// The timer of the grace period: follows the child into its modes, until the child is invalid.
        @exclusivity(unchecked) var graceTimer: Timer?

        /// The modes in which the exit is reported, while the handler runs: the item is invalid, but the child has its
        /// number.
        @exclusivity(unchecked) private(set) var lastModes: ModeList?

        /// Whether the child was in `common` when it became invalid.
        @exclusivity(unchecked) private var wasInCommon = false

        /// The timer of the time limit: as `graceTimer`, until the child has ended.
        @exclusivity(unchecked) var limitTimer: Timer?

        /// Whether the time limit has ended the child.
        @exclusivity(unchecked) var isOverLimit = false

        /// The grace period of the others in its group when it has ended by itself; nil to leave them.
        @exclusivity(unchecked) var othersGrace: Duration?

        /// When the loop found that the child has ended. The exit is reported when that of its group is over.
        @exclusivity(unchecked) private(set) var endTime: Instant?

        /// The shortest grace period that was asked for.
        @exclusivity(unchecked) var graceLength = Int64.max

        /// Starts a program.
        ///
        /// - Parameters:
        ///   - program: A path; or a name without a slash, which is looked up in this process's `PATH`. Its own name
        ///     for itself, too.
        ///   - arguments: What follows the name.
        ///   - environment: All variables of the program; nil for those of this process.
        ///   - folder: The program's working folder, from which a relative path of a program counts; nil for that of
        ///     this process.
        ///   - input: Its standard input.
        ///   - output: Its standard output.
        ///   - error: Its standard error.
        ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the source, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called once, on the loop's thread. Nil to set it later: ``setHandler(_:)``.
        /// - Throws: ``LoopError``, which names the call and the path; the program has not begun:
        ///   - `ENOENT` if there is no such program, or its interpreter is missing; from `chdir`, no such folder.
        ///   - `EACCES` if it may not be executed, `ENOEXEC` if it is of an unknown format. No shell is tried.
        ///   - `E2BIG` if the arguments and the environment are too long.
        ///   - `EAGAIN` if the user may have no more processes, `ENOMEM` without memory.
        ///   - `EMFILE` if the process has no descriptor left. If another thread takes the last one at the same moment,
        ///     the child has begun, and is killed.
        ///   - `EBADF` if a stream's descriptor is not open.
        ///   - `EINVAL` if a string contains a NUL, or a variable's name is empty or contains `=`.
        ///   - `ENOSYS` before Linux 5.4; and for `folder`, if the C library has no
        ///     `posix_spawn_file_actions_addchdir_np`.
        public init(
            _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, folder: String? = nil,
            input: Stream = .null, output: Stream = .inherited, error: ErrorStream = .inherited,
            label: String? = nil, file: StaticString = #fileID, line: UInt = #line, handler: Handler? = nil
        ) throws(LoopError) {
            self.handler = handler
            let pipes = try ChildPipes(input, output, error)
            group = try ChildGroup.start(program, arguments, environment, folder, pipes.streams)
            connections = pipes.connections(Place(file, line), label ?? program)
            // The child's ends are closed now that the child has them.
            withExtendedLifetime(pipes) {}
            super.init(Place(file, line), label, isNotifiedOfModes: true)
            if handler == nil { waitForHandler() }
        }

        deinit {
            connections.mayNeverBeAdded()
            dropTimer(graceTimer)
            limitTimer?.invalidate()
            group.release()
        }

        /// The child's number, and that of its process group. Once the child has been reaped, another process may get
        /// it.
        public var process: Int32 { group.process }

        /// Sets what the loop calls when the child has ended. An end before that is reported then, and the child is not
        /// reaped earlier. ``Loop/Item`` has the rules.
        ///
        /// - Parameter handler: Called once, on the loop's thread.
        /// - Returns: Whether the source is valid, and has the handler.
        @discardableResult
        public func setHandler(_ handler: @escaping Handler) -> Bool { set(handler, .nothing) }

        func set(_ handler: @escaping Handler, _ isolation: Isolation) -> Bool {
            var new: Handler? = handler
            return replaceReceivers(isolation) { swap(&self.handler, &new) }
        }

        /// Replaces the handler, or the waiters, as `replaceHandler` does.
        func replaceReceivers(_ isolation: Isolation? = nil, _ exchange: () -> Void) -> Bool {
            var hadNone = false
            let isReplaced = replaceHandler(isolation) {
                hadNone = hasHandler && handler == nil && waiters == nil
                exchange()
            }
            // The tasks that waited were cancelled, and the child may have ended since. The kernel tells so only once.
            if hadNone { beginBeingWatched() }
            return isReplaced
        }

        // MARK: Source1

        /// Edge-triggered, as in `ProcessSource`.
        var watches: [Watch] { [Watch(descriptor: group.processFD, events: [.read, .edge])] }

        func workBehind(_ report: Report) -> PollEvents? { group.exit == nil ? nil : report.events }

        func perform(_ report: Report, in mode: ModeState) -> Int {
            guard let exit = group.exit else { return 0 }
            let now = mode.loop?.now
            itemLock.withLock { endTime = endTime ?? now }
            guard isGroupOver else { return 0 }
            // In one step: who comes later finds the child invalid.
            var handler: Handler?
            var waiters: [AwaitedEnd]?
            var (graceTimer, limitTimer): (Timer?, Timer?)
            let isTaken = invalidate {
                guard self.handler != nil || self.waiters != nil else { return false }
                lastModes = modesWhileLocked
                (handler, waiters) = (self.handler.take(), self.waiters.take())
                (graceTimer, limitTimer) = (self.graceTimer.take(), self.limitTimer.take())
                return true
            }
            guard isTaken else { return 0 }
            limitTimer?.invalidate()
            // From now on the loop alone keeps it.
            _ = consume graceTimer
            for waiter in waiters ?? [] { waiter.give(exit) }
            handler?(self, exit)
            // A task that has waited may set the handlers now.
            if waiters == nil { connections.reportUnread() }
            // Before the modes are forgotten: an end that is asked for in between has a group, and no loop that counts.
            group.release()
            releaseUnlocked { lastModes.take() }
            return 1
        }

        /// Whether the exit, which has come, may be reported: not while the others in the group have a grace period.
        /// The end of that lets the modes ask again.
        private var isGroupOver: Bool {
            if let grace = itemLock.withLock({ othersGrace }), !group.isEnding, group.hasOthers { end(within: grace) }
            return group.isOver { [weak self] in self?.beginBeingWatched() }
        }

        // MARK: Item

        override var actsWithoutHandler: Bool { true }
        override var kind: String { "child process" }

        override var status: ItemStatus { .waits("process \(process)" + (group.isEnding ? ", asked to end" : "")) }

        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func hasGotHandler() { beginBeingWatched() }

        override func didJoin(_ mode: Mode, of loop: Loop) {
            for connection in connections.all where connection.isValid { loop.insert(connection, in: mode) }
            for timer in timers where timer.isValid { loop.insert(timer, in: mode) }
            group.timerIsCounting()
        }

        /// `didLeave` is not called for `common`, so this notes it.
        override func hasLeftWhileLocked(_ mode: ModeState) {
            if mode.mode.namesCommonModes, !isValid { wasInCommon = true }
        }

        /// The timer of an invalid child stays, to complete the end; and the connections, for what waits. If the child
        /// was in `common`, the timer joins it now, and so modes that become common later.
        override func didLeave(_ mode: Mode, of loop: Loop) {
            guard isValid else {
                if itemLock.withLock({ wasInCommon }), let timer = group.graceTimer { loop.insert(timer, in: .common) }
                return
            }
            for connection in connections.all { loop.remove(connection, in: mode) }
            for timer in timers { leaveBehind(timer, in: mode, of: loop) }
            group.forgetOthers()
            // In the modes that are left.
            group.timerIsCounting()
        }

        /// Those that follow the child into its modes.
        private var timers: [Timer] { itemLock.withLock { [graceTimer, limitTimer].compactMap { $0 } } }

        override func loopHasEnded() { group.finishEnd() }

        override func releaseHandlers() {
            releaseUnlocked { (handler.take(), waiters.take()) }
            dropTimer(itemLock.withLock { graceTimer.take() })
            dropLimit()
            connections.mayNeverBeAdded()
            if itemLock.withLock({ lastModes == nil }) { group.release() }
        }
    }
}
