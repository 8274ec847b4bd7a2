extension Loop {
    /// A version-1 source: the end of a process, reported once.
    ///
    /// ```swift
    /// let source = try Loop.ProcessSource(child) { source, exit in
    ///     print("\(source.process) \(exit)")  // 4711 exited with 0
    /// }
    /// Loop.current.add(source, in: .default)
    /// ```
    ///
    /// For a child of this process it tells how it ended, also if that was before the source was made, as long as
    /// nobody has waited for it: a process that has ended is kept for its parent, as a zombie, until then. Other
    /// processes can be watched too, without learning more than that they have ended.
    ///
    /// **Who reaps.** The source waits for its child, unless told otherwise, and so takes the zombie away; the number
    /// may then be given to another process. If somebody else waits for the child, as Foundation's `Process` does for
    /// those that it starts, say `reaping: false`, or the two take the exit away from each other. A source that is
    /// invalidated before the exit was reported reaps nothing. While another process traces the child (a debugger), its
    /// exit is reported once that has let go of it.
    ///
    /// Afterwards, right before the handler, the source becomes invalid. A pidfd stands for the process itself, not its
    /// number: a source never reports another process that was given the same number later.
    ///
    /// **Threads.** A source can be in several modes, but only in one loop at a time. Everything may be called from any
    /// thread. Having it in its mode keeps a loop alive. It has one descriptor until it is deallocated.
    ///
    /// CF has none; Dispatch: `DispatchSource.makeProcessSource` with `exit`; GLib: `g_child_watch`.
    public final class ProcessSource: Item, Source1, @unchecked Sendable {
        /// How a process ended.
        public enum Exit: Equatable, Sendable, CustomStringConvertible {
            /// By itself, with an exit code.
            case exited(_ code: Int32)

            /// By a signal.
            case signalled(_ signal: Int32, coreDumped: Bool)

            /// It has ended, and this process cannot know how: it is not its child, or somebody else has waited for it,
            /// or SIGCHLD is ignored, which makes the kernel wait for all children.
            case unknown

            /// Such as `exited with 0` and `ended by signal 9`.
            public var description: String {
                switch self {
                case .exited(let code): "exited with \(code)"
                case .signalled(let signal, let coreDumped):
                    "ended by signal \(signal)" + (coreDumped ? ", core dumped" : "")
                case .unknown: "ended, nobody knows how"
                }
            }
        }

        /// What the handler of a source is given.
        public typealias Handler = @Sendable (_ source: ProcessSource, _ exit: Exit) -> Void

        /// The process's number.
        public let process: Int32

        /// Whether the source waits for its process.
        public let isReaping: Bool

        private let processFD: Descriptor

        /// Nil once it has been called or the source is invalid. Guarded by the item's lock.
        private var handler: Handler?

        /// Makes a source.
        ///
        /// - Parameters:
        ///   - process: The number of a process; one that has ended but not been waited for is one too.
        ///   - reaping: Whether to take the zombie of a child away when its exit is reported.
        ///   - handler: Called once, on the loop's thread.
        /// - Throws: `LoopError` from `pidfd_open`: `ESRCH` when there is no such process (any more), `EINVAL` when the
        ///   number is zero, negative or a thread's, `EMFILE` without descriptors, `ENOSYS` before Linux 5.4.
        public init(_ process: Int32, reaping: Bool = true, handler: @escaping Handler) throws(LoopError) {
            self.process = process
            self.isReaping = reaping
            self.handler = handler
            processFD = try System.makeProcessFD(process)
        }

        deinit { System.close(processFD) }

        // MARK: Source1

        /// Edge-triggered: a child that another process traces has ended, and so is readable, before its exit is told
        /// to us. That comes with an edge of its own.
        var watches: [Watch] { [Watch(descriptor: processFD, events: [.read, .edge])] }

        var summary: String { "process source: process \(process)" + (isReaping ? "" : ", not reaping") }

        func workBehind(_ events: PollEvents, isFresh: Bool) -> PollEvents? {
            exit(reaping: false) == nil ? nil : events
        }

        /// How the process has ended; nil when it has not.
        private func exit(reaping: Bool) -> Exit? {
            switch System.wait(forProcess: processFD, reaping: reaping) {
            case .running: nil
            case .exited(let code): .exited(code)
            case .killed(let signal, let coreDumped): .signalled(signal, coreDumped: coreDumped)
            // A pidfd is readable only once its process has ended.
            case .untold: System.readiness(of: processFD, for: .read).isEmpty ? nil : .unknown
            }
        }

        func perform(_ events: PollEvents, in mode: ModeState) -> Bool {
            let taken = itemLock.withLock { () -> Handler? in
                defer { handler = nil }
                return handler
            }
            guard let taken, let exit = exit(reaping: isReaping) else { return false }
            invalidate()
            taken(self, exit)
            return true
        }

        // MARK: Item

        override var canBeInManyLoops: Bool { false }
        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func releaseHandlers() { letGo { handler.take() } }
    }
}
