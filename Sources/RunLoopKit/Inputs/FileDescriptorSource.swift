extension Loop {
    /// A version-1 source: a descriptor of any kind that can be waited for, such as a pipe, socket, terminal, eventfd,
    /// inotify or another epoll set; but not one that watches this very loop, which is a circle and traps.
    ///
    /// Use it to read and write without waiting: the handler is called when the descriptor is ready, and told for what.
    ///
    /// ```swift
    /// var ends: [Int32] = [-1, -1]
    /// guard pipe(&ends) == 0 else { … }
    /// let source = try Loop.FileDescriptorSource(owning: ends[0]) { source, ready in
    ///     var bytes = [UInt8](repeating: 0, count: 4096)
    ///     let count = read(source.descriptor, &bytes, bytes.count)
    ///     // At the end, or broken; but not if there is nothing to read after all, or a signal came.
    ///     if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { source.invalidate() }
    /// }
    /// Loop.current.add(source, in: .default)
    /// ```
    ///
    /// **Level-triggered** unless asked otherwise: the handler is called again in every pass for as long as the
    /// descriptor is ready. Reading a part is enough; but a handler that neither reads, nor gives up the interest, nor
    /// invalidates the source after a hang-up, keeps its loop busy. A run nested in the handler calls it too, if the
    /// descriptor is still ready.
    ///
    /// **Whose descriptor.** A borrowed one is watched through a duplicate of its number, so it may be watched by any
    /// number of sources at the same time, such as one for reading and one for writing; and if its number is closed or
    /// given to another file behind the source's back, nobody is woken for the wrong one. It costs a second descriptor
    /// for each source, and it keeps the file open until the source is invalidated: invalidate before closing, or the
    /// other end of a connection will not notice. An owned one (`init(owning:…)`) needs no duplicate, and is closed by
    /// the source. When a duplicate is closed the process loses its POSIX locks (`fcntl`) on the file, if it has any;
    /// those of `flock` stay. The descriptor's flags are left alone: whether reading can block is for you to say.
    ///
    /// **Threads and lifetime.** A source can be in several modes, but only in one loop at a time. Everything may be
    /// called from any thread. Having it in its mode keeps a loop alive, also while it is disarmed.
    ///
    /// CF: `CFFileDescriptor` and the source made for it, which reports once and then has to be enabled again; that is
    /// `isOneShot` here.
    public final class FileDescriptorSource: Item, Source1, @unchecked Sendable {
        /// What the handler of a source is given.
        public typealias Handler = @Sendable (_ source: FileDescriptorSource, _ ready: Readiness) -> Void

        /// When a source reports.
        public enum Trigger: Sendable {
            /// In every pass in which the descriptor is ready.
            case level

            /// When the descriptor becomes ready, or more ready than before, and once when the source is added, rearmed
            /// or its interest changes. For handlers that read or write until there is nothing left to be had
            /// (`EAGAIN`), which needs a non-blocking descriptor.
            case edge
        }

        /// When the source reports.
        public let trigger: Trigger

        /// Whether each report disarms the source, before the handler is called.
        public let isOneShot: Bool

        /// The descriptor's number as given, for the description of a loop.
        private let number: Descriptor

        // Guarded by the item's lock.

        private var wanted: Interest
        private var armed = true

        /// Nil once the source is invalid.
        private var handler: Handler?

        /// What the poller watches: the descriptor itself if it is owned, a duplicate otherwise; -1 once closed.
        private var watched: Descriptor
        private let isOwning: Bool

        /// Calls of the handler that are going on, on the loop's thread; more than one when runs nest. An owned
        /// descriptor is not closed under their feet.
        private var activeCalls = 0

        // MARK: Making one

        /// Makes a source for a descriptor that stays the caller's, who closes it after the source has been
        /// invalidated.
        ///
        /// - Parameters:
        ///   - descriptor: Watched from the moment the source is added to a loop.
        ///   - interest: What to wait for.
        ///   - trigger: When to report.
        ///   - isOneShot: Whether to report once only, until `rearm()`.
        ///   - handler: Called on the loop's thread with what the descriptor is ready for, never empty.
        /// - Throws: `LoopError`: `EBADF` when the descriptor is not open, `EPERM` when it is of a kind that is always
        ///   ready (a regular file, a directory, `/dev/null`), which the kernel does not watch; read or write it
        ///   directly. `EMFILE` when the process has no descriptor left: it takes one.
        public convenience init(
            _ descriptor: Int32, interest: Interest = .read, trigger: Trigger = .level, isOneShot: Bool = false,
            handler: @escaping Handler
        ) throws(LoopError) {
            // Before there is a duplicate: to close one gives up the process's POSIX locks on the file.
            try System.checkCanBeWatched(descriptor)
            let duplicate = try System.duplicate(descriptor)
            self.init(descriptor, watched: duplicate, interest, trigger, isOneShot, handler)
        }

        /// Makes a source that owns its descriptor: it is closed when the source is invalidated (after its handler, if
        /// that is being called) or when the last reference to it goes. Nobody else may close it.
        ///
        /// - Parameters:
        ///   - descriptor: Watched from the moment the source is added to a loop.
        ///   - interest: What to wait for.
        ///   - trigger: When to report.
        ///   - isOneShot: Whether to report once only, until `rearm()`.
        ///   - handler: Called on the loop's thread with what the descriptor is ready for, never empty.
        /// - Throws: `LoopError`, as `init(_:interest:trigger:isOneShot:handler:)` does. The descriptor is left open
        ///   then, and is the caller's.
        public convenience init(
            owning descriptor: Int32, interest: Interest = .read, trigger: Trigger = .level, isOneShot: Bool = false,
            handler: @escaping Handler
        ) throws(LoopError) {
            try System.checkCanBeWatched(descriptor)
            self.init(descriptor, watched: descriptor, interest, trigger, isOneShot, handler)
        }

        private init(
            _ number: Descriptor, watched: Descriptor, _ interest: Interest, _ trigger: Trigger, _ isOneShot: Bool,
            _ handler: @escaping Handler
        ) {
            self.number = number
            self.watched = watched
            self.isOwning = number == watched
            self.wanted = interest
            self.trigger = trigger
            self.isOneShot = isOneShot
            self.handler = handler
        }

        deinit { if watched >= 0 { System.close(watched) } }

        // MARK: Asking and changing

        /// The descriptor the source was made with; -1 once a source that owns it has closed it.
        public var descriptor: Int32 { itemLock.withLock { isOwning ? watched : number } }

        /// What the source waits for. May be changed at any time, also while a loop sleeps on it. With no interest only
        /// hang-ups and errors are reported.
        ///
        /// A report that a loop is about to make goes by the new interest, unless the handler's call has begun.
        public var interest: Interest {
            get { itemLock.withLock { wanted } }
            set { change { wanted = newValue } }
        }

        /// Whether the source reports. True at first; made false by `disarm()`, and by each report if it is one-shot.
        public var isArmed: Bool { itemLock.withLock { armed } }

        /// Makes the source report again. If the descriptor is ready, it does so in the next pass; edge-triggered ones
        /// do too, whether they were disarmed or not. CF: `CFFileDescriptorEnableCallBacks`.
        public func rearm() { change { armed = true } }

        /// Keeps the source from reporting anything, also hang-ups and errors, until `rearm()`: for a handler whose
        /// consumer cannot keep up. CF: `CFFileDescriptorDisableCallBacks`.
        public func disarm() { change { armed = false } }

        private func change(_ body: () -> Void) {
            itemLock.withLock(body)
            watchesChanged()
        }

        // MARK: Source1

        /// While disarmed nothing is watched: epoll would report hang-ups and errors even if nothing were asked for.
        var watches: [Watch] {
            itemLock.withLock {
                var events = PollEvents(wanted)
                if trigger == .edge { events.insert(.edge) }
                return [Watch(descriptor: watched, events: armed ? events : nil)]
            }
        }

        var summary: String {
            let (interest, isArmed) = itemLock.withLock { (wanted, armed) }
            return "descriptor \(number): \(interest), \(trigger)-triggered" + (isOneShot ? ", one-shot" : "")
                + (isArmed ? "" : ", disarmed")
        }

        /// What the kernel reported before other handlers were called is asked for once more: they may have read it.
        ///
        /// Except for exceptional conditions: for some files (`/proc/mounts`) to ask is to consume them.
        func workBehind(_ events: PollEvents, isFresh: Bool) -> PollEvents? {
            itemLock.withLock {
                guard armed else { return nil }
                var found = events
                if !isFresh {
                    found = System.readiness(of: watched, for: PollEvents(wanted))
                    if events.contains(.priority) { found.formUnion(events.intersection([.priority, .error])) }
                }
                found = wantedOnly(found)
                return found.isEmpty ? nil : found
            }
        }

        func perform(_ events: PollEvents, in mode: ModeState) -> Bool {
            guard let (handler, wantedEvents) = beginCall(events) else { return false }
            if isOneShot { watchesChanged() }
            handler(self, Readiness(wantedEvents))
            endCall()
            return true
        }

        /// Nil when the source was disarmed or invalidated, or its interest changed, at the last moment.
        private func beginCall(_ events: PollEvents) -> (Handler, PollEvents)? {
            itemLock.withLock {
                let found = wantedOnly(events)
                guard armed, !found.isEmpty, let handler else { return nil }
                if isOneShot { armed = false }
                activeCalls += 1
                return (handler, found)
            }
        }

        /// The item's lock is held.
        private func wantedOnly(_ events: PollEvents) -> PollEvents {
            events.intersection(PollEvents(wanted).union([.error, .hangUp]))
        }

        private func endCall() {
            itemLock.withLock { activeCalls -= 1 }
            closeIfUnused()
        }

        private func closeIfUnused() {
            let unused = itemLock.withLock { () -> Descriptor in
                guard handler == nil, activeCalls == 0 else { return -1 }
                defer { watched = -1 }
                return watched
            }
            if unused >= 0 { System.close(unused) }
        }

        // MARK: Item

        override var canBeInManyLoops: Bool { false }
        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func releaseHandlers() {
            letGo { handler.take() }
            closeIfUnused()
        }
    }
}
