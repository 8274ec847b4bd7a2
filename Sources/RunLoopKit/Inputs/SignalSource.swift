import Synchronization

extension Loop {
    /// A version-1 source: a Unix signal, handled on a loop's thread as anything else is, with no restriction on what
    /// the handler may do.
    ///
    /// ```swift
    /// // First thing in main, before any thread is started.
    /// let interrupt = try Loop.SignalSource(SIGINT) { _, _ in Loop.main.stop() }
    /// Loop.main.add(interrupt, in: .common)
    /// ```
    ///
    /// **Make it before you start threads.** A signal reaches a source (through a signalfd) only if every thread blocks
    /// it; a thread that does not would take it the default way, which for most signals ends the process. Making a
    /// source blocks its signal on the calling thread, and threads inherit that from the thread that starts them.
    /// Threads that exist already are looked at, and one that would take the signal is an error that names it.
    ///
    /// **Masks.** When the last source for a signal made on a thread is invalidated or goes, the signal is unblocked
    /// there, unless it was blocked before. If that happens on another thread, the thread's own loop does it as soon as
    /// it runs. A signal that is pending then takes its ordinary way; one that the source has taken from the kernel
    /// already, and not yet told its handler, is dropped. Programs that are started inherit blocked signals too:
    /// unblock them there (`POSIX_SPAWN_SETSIGMASK`).
    ///
    /// **Two sources for one signal** both hear it, whichever of them has read it. Signals that come while no loop runs
    /// with a source in its mode wait in the kernel. What a source hears while its own loop does not get to it, because
    /// another source reads it, is remembered as the kernel does: an ordinary signal once, however often it is sent,
    /// and of a real-time signal as many as `RLIMIT_SIGPENDING` allowed when the source was made. Later ones are lost
    /// for that source only, so one that no run looks at takes no more memory than that. While a source waits,
    /// `sigaction` handlers for its signal are not called, and a signal that is ignored is reported all the same.
    ///
    /// **What cannot be caught.** SIGKILL and SIGSTOP. SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP and SIGSYS come here
    /// only when somebody sent them; an actual fault ends the process, blocked or not. A signal sent to one thread
    /// (`pthread_kill`) reaches a source only if that is its loop's.
    ///
    /// **Threads.** A source can be in several modes, but only in one loop at a time, whichever thread made it.
    /// Everything may be called from any thread. Having it in its mode keeps a loop alive. It has two descriptors until
    /// it is deallocated.
    ///
    /// CF has none; Dispatch: `DispatchSource.makeSignalSource`.
    public final class SignalSource: Item, Source1, @unchecked Sendable {
        /// One signal, as the kernel reports it; see `signalfd(2)` and `sigaction(2)`.
        public struct Arrival: Equatable, Sendable {
            /// The signal's number.
            public let signal: Int32

            /// The process that sent it; 0 when that is not known or the kernel did.
            public let senderProcess: Int32

            /// The user that the sending process belonged to.
            public let senderUser: UInt32

            /// Why it was sent: `SI_USER` (0) by `kill`, `SI_QUEUE` (-1) by `sigqueue`, `SI_KERNEL` (128) by the
            /// kernel, such as for Ctrl-C, and more for SIGCHLD and others.
            public let code: Int32

            /// What `sigqueue` sent along.
            public let value: Int32

            init(_ info: System.SignalInfo) {
                (signal, senderProcess, senderUser, code, value) = info
            }
        }

        /// What the handler of a source is given.
        public typealias Handler = @Sendable (_ source: SignalSource, _ arrivals: [Arrival]) -> Void

        /// The signal's number.
        public let signal: Int32

        private let inbox: SignalHub.Inbox

        /// The thread whose mask was changed, and that thread's own loop: one in virtual time that happens to run there
        /// may never run again.
        private let thread: ThreadID
        private weak let loopOfThread: Loop?
        private let hasPutMaskBack = Atomic<Bool>(false)

        /// Nil once the source is invalid. Guarded by the item's lock.
        private var handler: Handler?

        /// Makes a source, and blocks its signal on the calling thread.
        ///
        /// - Parameters:
        ///   - signal: Such as `SIGINT`; real-time signals too.
        ///   - checkingThreads: Whether to look for threads that would take the signal (in `/proc`, where there is
        ///     one). `false` when they are going to block it, or are known to end.
        ///   - handler: Called on the loop's thread with all that has arrived since its last call, in order; at least
        ///     one. Real-time signals are reported each, with their values; of an ordinary one that was sent several
        ///     times before the source's loop came to it, the first.
        /// - Throws: `LoopError`: `EINVAL` when the number is no signal that can be caught (SIGKILL, SIGSTOP, or one
        ///   that the C library keeps for itself); `EBUSY` when another thread would take it; `EMFILE` when the process
        ///   has no descriptor left. Masks are as before then.
        public init(
            _ signal: Int32, checkingThreads: Bool = true, handler: @escaping Handler
        ) throws(LoopError) {
            self.signal = signal
            inbox = try SignalHub.Inbox(signal)
            self.handler = handler
            thread = ThreadLoops.current.id
            loopOfThread = ThreadLoops.current.loopOfItsOwn
            try SignalHub.shared.block(signal)
            if checkingThreads, let other = ThreadStatus.all.first(where: { !$0.blocks(signal) }) {
                SignalHub.shared.unblock(signal)
                throw SignalSource.taken(signal, by: other)
            }
            super.init()
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

        /// The signal is not heard any more. May be called twice.
        private func end() {
            SignalHub.shared.remove(inbox)
            // Relaxed: whoever is first does all of it.
            guard !hasPutMaskBack.exchange(true, ordering: .relaxed) else { return }
            let (signal, thread) = (signal, thread)
            if thread == ThreadLoops.current.id { return SignalHub.shared.unblock(signal) }
            let willBe = loopOfThread?.perform(in: .common) { SignalHub.shared.unblock(signal) } ?? false
            if !willBe { SignalHub.shared.forgetMask(signal, of: thread) }
        }

        // MARK: Source1

        /// The signalfd level-triggered, since whoever finds it ready takes what is there. The eventfd makes an edge
        /// when there is something in the inbox, whoever has put it there.
        var watches: [Watch] {
            [
                Watch(descriptor: inbox.signalFD, events: .read),
                Watch(descriptor: inbox.eventFD.descriptor, events: [.read, .edge]),
            ]
        }

        var summary: String { "signal source: signal \(signal)" }

        func workBehind(_ events: PollEvents, isFresh: Bool) -> PollEvents? {
            SignalHub.shared.collect(for: inbox) ? events : nil
        }

        func perform(_ events: PollEvents, in mode: ModeState) -> Bool {
            let arrivals = SignalHub.shared.takeArrivals(of: inbox)
            guard !arrivals.isEmpty, let handler = itemLock.withLock({ handler }) else { return false }
            handler(self, arrivals)
            return true
        }

        // MARK: Item

        override var canBeInManyLoops: Bool { false }
        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func releaseHandlers() {
            end()
            letGo { handler.take() }
        }
    }
}
