import Synchronization

extension Loop {
    /// A version-1 source: reports a Unix signal on a loop's thread, where its handler may do anything. Any thread may
    /// use it. Make it before you start threads.
    ///
    /// ```swift
    /// // First in main, before any thread is started.
    /// let interrupt = try Loop.SignalSource(SIGINT) { _, _ in Loop.main.stop() }
    /// Loop.main.add(interrupt, in: .common)
    /// ```
    ///
    /// **Before you start threads.** A signal reaches a source (through a signalfd) only if every thread blocks it.
    /// Making a source blocks its signal on the calling thread, and threads inherit that. A thread that does not block
    /// the signal receives it by default, which for most signals ends the process. So the initializer throws an error
    /// that names such a thread. More in <doc:SignalsThreadsForkCancellation#Signals>.
    ///
    /// **Masks:**
    ///
    /// - When the last source for a signal made on a thread is invalidated or deallocated, that thread unblocks the
    ///   signal, unless it was blocked before. If another thread invalidates it, the thread that made the source
    ///   unblocks the signal when its loop next runs.
    /// - A pending signal is then delivered normally. One that the source has read, but not passed to its handler, is
    ///   dropped.
    /// - New processes inherit blocked signals: <doc:SignalsThreadsForkCancellation#What-a-child-inherits>.
    ///
    /// **Two sources for one signal** both receive it, whichever of them reads it:
    ///
    /// - While no loop runs with a source in its mode, signals wait in the kernel.
    /// - If another source reads a signal first, the library keeps an ordinary one once, as the kernel does. It keeps
    ///   as many real-time signals as `RLIMIT_SIGPENDING` allowed when the source was made. Later ones are lost for
    ///   that source only.
    /// - While a source exists, `sigaction` handlers for its signal are not called. An ignored signal is reported
    ///   nevertheless.
    ///
    /// **Order.** The kernel keeps no order of different signals that wait together. They are handled in the order in
    /// which their sources were added to the mode. So add the source of SIGTERM last, or let its handler do what every
    /// earlier signal would have asked for.
    ///
    /// **What cannot be caught.** SIGKILL and SIGSTOP. SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP and SIGSYS are reported
    /// only if a process sent them; an actual fault ends the process. A signal sent to one thread (`pthread_kill`)
    /// reaches a source only if that thread runs its loop.
    ///
    /// **Modes and loops.** A source can be in several modes of one loop, whichever thread made it, and keeps runs in
    /// them going. It has two descriptors until it is deallocated.
    ///
    /// CF: none. Dispatch: `DispatchSource.makeSignalSource`, not beside a source for the same signal. No `signal(…,
    /// SIG_IGN)` is needed here.
    public final class SignalSource: Item, Source1, @unchecked Sendable {
        /// One signal, as the kernel reports it; see `signalfd(2)` and `sigaction(2)`.
        public struct Arrival: Equatable, Sendable {
            /// The signal's number.
            public let signal: Int32

            /// The process that sent it; 0 if that is unknown or the kernel did.
            public let senderProcess: Int32

            /// The user of the sending process.
            public let senderUser: UInt32

            /// The reason (`si_code`): `SI_USER` (0) for `kill`, `SI_QUEUE` (-1) for `sigqueue`, `SI_KERNEL` (128) for
            /// the kernel, such as for Ctrl-C, and others, such as those for SIGCHLD.
            public let code: Int32

            /// The value that `sigqueue` sent with it.
            public let value: Int32

            init(_ info: System.SignalInfo) { (signal, senderProcess, senderUser, code, value) = info }
        }

        /// The type of the handler.
        public typealias Handler = @Sendable (_ source: SignalSource, _ arrivals: [Arrival]) -> Void

        /// The signal's number.
        public let signal: Int32

        private let inbox: SignalHub.Inbox

        /// The thread whose mask was changed, and that thread's own loop: a loop in virtual time that runs there now
        /// may never run again.
        private let thread: ThreadID
        @LightWeak private var loopOfThread: Loop?
        private let hasPutMaskBack = Atomic<Bool>(false)

        /// Nil once the source is invalid. Guarded by the item's lock.
        private var handler: Handler?

        /// Makes a source, and blocks its signal on the calling thread.
        ///
        /// - Parameters:
        ///   - signal: A signal such as `SIGINT`, or a real-time signal.
        ///   - checkingThreads: Whether to check that all other threads block the signal (in `/proc`, if there is one).
        ///     Pass `false` if they block it later, or are known to end.
        ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the source, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread with all signals that have arrived since its last call, in order;
        ///     at least one. Each real-time signal is reported, with its value. Of an ordinary signal that was sent
        ///     several times before the loop served the source, only the first is.
        /// - Throws: ``LoopError``; the masks are then unchanged.
        ///   - `EINVAL` if the number is not a signal that can be caught (SIGKILL, SIGSTOP, or one that the C library
        ///     reserves).
        ///   - `EBUSY` if another thread does not block it.
        ///   - `EMFILE` if the process has no descriptor left.
        public init(
            _ signal: Int32, checkingThreads: Bool = true, label: String? = nil, file: StaticString = #fileID,
            line: UInt = #line,
            handler: @escaping Handler
        ) throws(LoopError) {
            self.signal = signal
            inbox = try SignalHub.Inbox(signal)
            self.handler = handler
            thread = ThreadLoops.currentID
            loopOfThread = ThreadLoops.current.loopOfItsOwn
            try SignalHub.shared.block(signal)
            if checkingThreads { StartingThreads.shared.wait() }
            if checkingThreads, let other = ThreadStatus.all.first(where: { !$0.blocks(signal) }) {
                SignalHub.shared.unblock(signal)
                throw SignalSource.taken(signal, by: other)
            }
            super.init(Place(file, line), label)
            SignalHub.shared.add(inbox)
        }

        deinit { end() }

        private static func taken(_ signal: Int32, by thread: ThreadStatus) -> LoopError {
            LoopError(
                call: "SignalSource(\(signal))", code: System.busy,
                advice:
                    "the thread \"\(thread.name)\" (\(thread.number)) does not block the signal, and would take it "
                    + "instead; make the source before that thread is started, or block the signal there "
                    + "(pthread_sigmask)")
        }

        /// Stops receiving the signal. May be called twice.
        private func end() {
            SignalHub.shared.remove(inbox)
            // Relaxed: the first caller does all of it.
            guard !hasPutMaskBack.exchange(true, ordering: .relaxed) else { return }
            let (signal, thread) = (signal, thread)
            if thread == ThreadLoops.currentID { return SignalHub.shared.unblock(signal) }
            let willBe = loopOfThread?.perform(in: .common) { SignalHub.shared.unblock(signal) } ?? false
            if !willBe { SignalHub.shared.forgetMask(signal, of: thread) }
        }

        // MARK: Source1

        /// The signalfd is level-triggered, since the thread that finds it ready takes all pending signals. The eventfd
        /// raises an edge when the inbox becomes non-empty, whichever source has read the signal.
        var reportsSignals: Bool { true }

        var watches: [Watch] {
            [
                Watch(descriptor: inbox.signalFD, events: .read),
                Watch(descriptor: inbox.eventFD.descriptor, events: [.read, .edge]),
            ]
        }

        func workBehind(_ events: PollEvents, isFresh: Bool) -> PollEvents? {
            SignalHub.shared.collect(for: inbox) ? events : nil
        }

        func perform(_ events: PollEvents, in mode: ModeState) -> Int {
            let arrivals = SignalHub.shared.takeArrivals(of: inbox)
            guard !arrivals.isEmpty, let handler = itemLock.withLock({ handler }) else { return 0 }
            handler(self, arrivals)
            return 1
        }

        // MARK: Item

        override var kind: String { "signal source" }

        override var status: ItemStatus { .waits("signal \(signal)") }

        override var canBeInManyLoops: Bool { false }
        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func releaseHandlers() {
            end()
            releaseUnlocked { handler.take() }
        }
    }
}
