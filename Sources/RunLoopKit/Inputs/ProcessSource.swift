extension Loop {
    /// A version-1 source: reports once how a process ended. Any thread may use it; the handler runs on the loop's
    /// thread.
    ///
    /// ```swift
    /// let source = try Loop.ProcessSource(child) { source, exit in
    ///     print("\(source.process) \(exit)")  // 4711 exited with 0
    /// }
    /// Loop.current.add(source, in: .default)
    /// ```
    ///
    /// The source reports the end of a child even if it came before the source was made. But the child must not have
    /// been reaped: until its parent waits for it, it remains as a zombie. Of other processes the source reports only
    /// that they have ended.
    ///
    /// **Reaping.** By default the source reaps its child; the number may then be given to another process.
    ///
    /// - If other code waits for the child, as Foundation's `Process` does, set `reaping` to false. Otherwise the two
    ///   race for the exit status.
    /// - A source that is invalidated before it has reported the exit reaps nothing.
    /// - While a debugger traces the child, the exit is reported once it has detached.
    ///
    /// **Signalling the child.** The source does not reap its child before its handler's call. Until then, if nothing
    /// else reaps the child, `kill` on the loop's thread reaches the child or its zombie, never another process.
    ///
    /// **The child's signals.** A child inherits the signals that its starting thread blocks, and keeps them blocked
    /// after exec. A ``Loop/SignalSource`` blocks none. If the program does, or is started so, start the child with an
    /// empty mask: <doc:SignalsThreadsForkCancellation#Child-processes> has the lines.
    ///
    /// The source becomes invalid right before the handler is called. Its pidfd refers to the process itself, so it
    /// never reports another process with the same number. It has this one descriptor until it is deallocated. It can
    /// be in several modes of one loop, and keeps runs in them going.
    ///
    /// CF: none. Dispatch: `DispatchSource.makeProcessSource` with `exit`; GLib: `g_child_watch`.
    public final class ProcessSource: Item, Source1, @unchecked Sendable {
        /// How a process ended.
        public enum Exit: Equatable, Sendable, CustomStringConvertible {
            /// The process exited, with an exit code.
            case exited(_ code: Int32)

            /// A signal ended the process.
            case signalled(_ signal: Int32, coreDumped: Bool)

            /// The process has ended, and its exit status is unavailable. It is not a child of this process, other code
            /// has reaped it, or SIGCHLD is ignored, which makes the kernel reap all children.
            case unknown

            /// A description such as `exited with 0` or `ended by signal 9`.
            public var description: String {
                switch self {
                case .exited(let code): "exited with \(code)"
                case .signalled(let signal, let coreDumped):
                    "ended by signal \(signal)" + (coreDumped ? ", core dumped" : "")
                case .unknown: "ended, status unknown"
                }
            }
        }

        /// The type of the handler.
        public typealias Handler = @Sendable (_ source: ProcessSource, _ exit: Exit) -> Void

        /// The process's number.
        public let process: Int32

        /// Whether the source reaps its process.
        public let isReaping: Bool

        private let processFD: Descriptor

        /// Nil before it is set, once it has been called, and once the source is invalid. Guarded by the item's lock.
        private var handler: Handler?

        /// Makes a source.
        ///
        /// - Parameters:
        ///   - process: The number of a process, which may have ended but must not have been reaped.
        ///   - reaping: Whether to reap a child when its exit is reported.
        ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the source, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called once, on the loop's thread. Nil to set it later: ``setHandler(_:)``.
        /// - Throws: ``LoopError`` from `pidfd_open`:
        ///   - `ESRCH` if there is no such process.
        ///   - `EINVAL` if the number is zero, negative or a thread's.
        ///   - `EMFILE` if the process has no descriptor left.
        ///   - `ENOSYS` before Linux 5.4.
        public init(
            _ process: Int32, reaping: Bool = true, label: String? = nil, file: StaticString = #fileID,
            line: UInt = #line,
            handler: Handler? = nil
        ) throws(LoopError) {
            self.process = process
            self.isReaping = reaping
            self.handler = handler
            processFD = try System.makeProcessFD(process)
            super.init(Place(file, line), label)
            if handler == nil { waitForHandler() }
        }

        /// Sets what the loop calls when the process has ended. An end before that is reported then, and the source
        /// does not reap its child earlier. ``Loop/Item`` has the rules.
        ///
        /// - Parameter handler: Called once, on the loop's thread.
        /// - Returns: Whether the source is valid, and has the handler.
        @discardableResult
        public func setHandler(_ handler: @escaping Handler) -> Bool { set(handler, .nothing) }

        func set(_ handler: @escaping Handler, _ isolation: Isolation) -> Bool {
            var new: Handler? = handler
            return replaceHandler(isolation) { swap(&self.handler, &new) }
        }

        deinit { System.close(processFD) }

        // MARK: Source1

        /// Edge-triggered: a child that another process traces has ended, and so is readable, before its exit is
        /// reported to this process. That raises another edge.
        var watches: [Watch] { [Watch(descriptor: processFD, events: [.read, .edge])] }

        func workBehind(_ report: Report) -> PollEvents? { exit(reaping: false) == nil ? nil : report.events }

        /// How the process has ended; nil if it has not.
        private func exit(reaping: Bool) -> Exit? {
            switch System.wait(forProcess: processFD, reaping: reaping) {
            case .running: nil
            case .exited(let code): .exited(code)
            case .killed(let signal, let coreDumped): .signalled(signal, coreDumped: coreDumped)
            // A pidfd is readable only once its process has ended. Without an answer it has: an edge was reported.
            case .unknown: System.mayBeReadable(processFD) ? .unknown : nil
            }
        }

        func perform(_ report: Report, in mode: ModeState) -> Int {
            guard holds(report) else { return 0 }
            // In one step: a handler that is set later finds the source invalid.
            var end: (handler: Handler, exit: Exit)?
            let isTaken = invalidate {
                guard let handler = self.handler, let exit = exit(reaping: isReaping) else { return false }
                end = (handler, exit)
                self.handler = nil
                return true
            }
            guard isTaken, let (handler, exit) = end else { return 0 }
            handler(self, exit)
            return 1
        }

        // MARK: Item

        override var kind: String { "process source" }

        override var status: ItemStatus { .waits("process \(process)" + (isReaping ? "" : ", not reaping")) }

        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func hasGotHandler() { beginBeingWatched() }
        override func releaseHandlers() { releaseUnlocked { handler.take() } }
    }
}
