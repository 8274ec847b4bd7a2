extension Loop {
    /// A version-1 source: reports Unix signals on a loop's thread, where its handler may do anything. Any thread may
    /// make and use it, at any time.
    ///
    /// ```swift
    /// let ends = try Loop.SignalSource([SIGTERM, SIGINT]) { _, _ in Loop.main.stop() }
    /// Loop.main.add(ends, in: .common)
    /// ```
    ///
    /// A handler of `sigaction`, which only writes what arrived into a pipe of the source, stands behind it. So:
    ///
    /// - Threads and children need no care: a child begins with no signal blocked, and with the default effect of the
    ///   signals that have sources.
    /// - It is installed when a loop gets the source for the first time. Until then a signal has its old effect: a
    ///   source that is kept and never added leaves Ctrl-C alone.
    /// - It replaces the one that the program had (``Loop/SignalSource/replacedHandler``), and an ignored signal is
    ///   reported too. The last source that is invalidated or deallocated puts back what was there, unless the program
    ///   has installed another one meanwhile.
    /// - A call that the signal interrupts is restarted (`SA_RESTART`). `signal(7)` lists those that are not, such as
    ///   `poll` and `nanosleep`, which fail with `EINTR` on the interrupted thread.
    /// - The handler runs on the thread that the kernel chooses, on its alternate stack if it has one.
    ///
    /// **Arrivals** wait in the source until a run serves it, even while it is in no mode, from the moment when it was
    /// first added:
    ///
    /// - Several sources for one signal each get all arrivals, on whichever loops they are.
    /// - A real-time signal is reported each time, with its value. The source holds 4,096 of them (a pipe of 64 KiB);
    ///   what comes on top is a ``Loop/Mistake/lostSignals(source:count:)``.
    /// - Of an ordinary signal that came several times before the loop served the source, only the first is reported.
    /// - The signals of one source are reported together, and sources of different signals are served, in the order in
    ///   which the signals arrived.
    /// - What waits when a source is invalidated is dropped. Later signals have their old effect.
    ///
    /// **Who else takes the signal.** A thread in `sigwait` takes a signal that all other threads block. If another
    /// thread does not block it, either may get it; Linux prefers the initial thread. A signalfd gets it while all
    /// threads block it. So if every thread does, as in a program that was started by a thread with blocked signals,
    /// adding the source unblocks it on the calling thread, unless a thread sleeps in `sigwait` then. A `sigaction` of
    /// another library replaces the source's handler: take one way for each signal.
    ///
    /// **What cannot be caught.** SIGKILL and SIGSTOP. SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP and SIGSYS are reported
    /// only if a process sent them; an actual fault has its old effect.
    ///
    /// **Modes and loops.** A source can be in several modes of one loop, whichever thread made it, and keeps runs in
    /// them going. It has two descriptors. In a child of `fork` the parent's sources hear nothing, loops refuse them
    /// (``Loop/Mistake/Refusal/itemIsOfParent``), and signals have their old effect; the child may make sources of its
    /// own.
    ///
    /// CF: none. Dispatch: `DispatchSource.makeSignalSource`, which needs `signal(…, SIG_IGN)` first; libuv:
    /// `uv_signal_t`; GLib: `g_unix_signal_add`. All have one for each signal.
    public final class SignalSource: Item, Source1, @unchecked Sendable {
        /// One signal, as the kernel reports it; see `sigaction(2)`.
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

            init(_ arrival: SignalEntry.Arrival) {
                (signal, senderProcess, senderUser, code, value) = arrival
            }
        }

        /// The type of the handler.
        public typealias Handler = @Sendable (_ source: SignalSource, _ arrivals: [Arrival]) -> Void

        /// The signal's number; of several, the first in ``signals``.
        public var signal: Int32 { signals[0] }

        /// The signals' numbers, in the order in which they were given, each once.
        public let signals: [Int32]

        let listener: SignalListener

        /// Nil before it is set, and once the source is invalid. Guarded by the item's lock.
        private var handler: Handler?

        /// Makes a source, which hears its signal once it has been added to a loop.
        ///
        /// - Parameters:
        ///   - signal: A signal such as `SIGINT`, or a real-time signal.
        ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the source, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread with all signals that have arrived since its last call, in order;
        ///     at least one. Nil to set it later: ``setHandler(_:)``.
        /// - Throws: ``LoopError``; nothing has changed then.
        ///   - `EINVAL` if the number is not a signal that can be caught (SIGKILL, SIGSTOP, or one that the C library
        ///     reserves).
        ///   - `EMFILE` if the process has no descriptor left.
        public convenience init(
            _ signal: Int32, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
            handler: Handler? = nil
        ) throws(LoopError) {
            try self.init([signal], label: label, file: file, line: line, handler: handler)
        }

        /// Makes a source for several signals, which hears them once it has been added to a loop. Each
        /// ``Arrival/signal`` says which one came.
        ///
        /// - Parameters:
        ///   - signals: At least one, such as `[SIGTERM, SIGINT]`; doubles count once. A real-time signal, of which
        ///     thousands may wait, comes alone.
        ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the source, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread with all signals that have arrived since its last call, in order;
        ///     at least one. Nil to set it later: ``setHandler(_:)``.
        /// - Throws: ``LoopError``, as `init(_:label:file:line:handler:)` for one signal does. `EINVAL`, too, without
        ///   any signal, and for a real-time signal among several.
        public init(
            _ signals: [Int32], label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
            handler: Handler? = nil
        ) throws(LoopError) {
            self.signals = signals.enumerated().filter { !signals[..<$0].contains($1) }.map(\.element)
            listener = try SignalListener(self.signals)
            self.handler = handler
            super.init(Place(file, line), label, isNotifiedOfModes: true, belongsToProcess: true)
            if handler == nil { waitForHandler() }
        }

        /// Sets what the loop calls, from the next call on. Signals without a handler wait, as if no loop ran with the
        /// source in its mode. ``Loop/Item`` has the rules: a call that runs finishes with the old handler.
        ///
        /// - Parameter handler: Called on the loop's thread with all signals that have arrived since its last call.
        /// - Returns: Whether the source is valid, and has the handler.
        @discardableResult
        public func setHandler(_ handler: @escaping Handler) -> Bool { set(handler, .nothing) }

        func set(_ handler: @escaping Handler, _ isolation: Isolation) -> Bool {
            var new: Handler? = handler
            return replaceHandler(isolation) { swap(&self.handler, &new) }
        }

        /// The handler of `sigaction` that the program had installed before the first source for the signal, as
        /// `function in file`; of several signals, that of the first which had one. It is not called meanwhile. Nil if
        /// there was none, and before the source is added. A description of the loop names it, too. Reads files for
        /// that.
        public var replacedHandler: String? { listener.replacedHandler }

        // MARK: Source1

        /// Edge-triggered, since the kernel keeps a level-triggered descriptor listed until it is asked again: a source
        /// that was just served would come before those whose signals arrive earlier than its next one.
        var watches: [Watch] { [Watch(descriptor: listener.descriptor, events: [.read, .edge])] }

        /// Asks the kernel again: a nested run may have served the source since the report. The listener counts reads
        /// that yield nothing.
        func workBehind(_ report: Report) -> PollEvents? {
            report.age == .fresh || System.mayBeReadable(listener.descriptor) ? report.events : nil
        }

        func perform(_ report: Report, in mode: ModeState) -> Int {
            guard holds(report), let handler = itemLock.withLock({ handler }) else { return 0 }
            let arrivals = listener.takeArrivals().map { Arrival($0) }
            guard !arrivals.isEmpty else { return 0 }
            if System.isRealTime(signal) { reportLost() }
            handler(self, arrivals)
            return 1
        }

        private func reportLost() {
            let count = listener.takeLostCount()
            if count > 0 { Mistakes.shared.report(.lostSignals(source: name, count: count)) }
        }

        // MARK: Item

        override var kind: String { "signal source" }

        override var status: ItemStatus {
            .waits(
                (signals.count == 1 ? "signal " : "signals ") + signals.map { "\($0)" }.joined(separator: ", ")
                    + (replacedHandler.map { ", instead of the handler \($0)" } ?? "") + laterEffects)
        }

        /// The signals that other code has taken from the library, in words.
        private var laterEffects: String {
            let effects = listener.laterEffects
            if effects.isEmpty { return "" }
            let words = effects.map { signal, effect in signals.count == 1 ? effect : "\(signal) \(effect)" }
            return (signals.count == 1 ? ", which " : ", of which ") + words.joined(separator: ", ")
                + ": other code has set that since the source was added"
        }

        override var wasMadeByParent: Bool { listener.isOfParent }
        override func didJoin(_ mode: Mode, of loop: Loop) { listener.begin() }
        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func hasGotHandler() { beginBeingWatched() }
        override func releaseHandlers() {
            listener.stop()
            releaseUnlocked { handler.take() }
        }
    }
}
