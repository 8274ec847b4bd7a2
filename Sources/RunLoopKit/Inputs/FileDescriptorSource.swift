extension Loop {
    /// A version-1 source: calls its handler with what a descriptor is ready for, so that reads and writes need not
    /// block. Any thread may use it; the handler runs on the loop's thread.
    ///
    /// The descriptor is one that the kernel can poll: a pipe, socket, terminal, eventfd, inotify or epoll set. An
    /// epoll set that watches this loop forms a cycle, and traps.
    ///
    /// ```swift
    /// var ends: [Int32] = [-1, -1]
    /// guard pipe(&ends) == 0 else { … }
    /// let source = try Loop.FileDescriptorSource(owning: ends[0]) { source, ready in
    ///     var bytes = [UInt8](repeating: 0, count: 4096)
    ///     let count = read(source.descriptor, &bytes, bytes.count)
    ///     // At the end of the data, or on an error; not if the readiness was spurious, or a signal came.
    ///     if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { source.invalidate() }
    /// }
    /// Loop.current.add(source, in: .default)
    /// ```
    ///
    /// **Level-triggered** by default: the loop calls the handler for as long as the descriptor is ready, in turn with
    /// other inputs, and in nested runs too. Reading a part is enough. The loop spins unless the handler reads, or
    /// changes the interest, or, after a hang-up, invalidates the source.
    ///
    /// **Edge-triggered** with `trigger: .edge`: read or write until the call fails with `EAGAIN`. What is left is
    /// reported when more comes, or after ``Loop/FileDescriptorSource/rearm()``. Each mode of the source reports an
    /// edge once, if the descriptor is still ready.
    ///
    /// **Hang-ups and errors** are reported besides the interest, again and again:
    ///
    /// - ``Readiness/readHangUp`` (EPOLLRDHUP): the peer of a stream socket has finished writing, or has closed. Only
    ///   with ``Interest/read`` or ``Interest/readHangUp``. <doc:WhichInput#Descriptors> says how to write the rest.
    /// - ``Readiness/hangUp`` (EPOLLHUP) and ``Readiness/error`` (EPOLLERR): with any interest, even with none.
    ///
    /// **A borrowed descriptor.** The source watches a duplicate:
    ///
    /// - Any number of sources can watch it. If its number is closed or reused, no source reports the wrong file.
    /// - The duplicate is a second descriptor, and keeps the file open. Invalidate the source first, and then close,
    ///   both on the loop's thread: <doc:WhichInput#Descriptors>.
    /// - Before it calls the handler, the loop may ask the kernel again, since another handler may have read. It need
    ///   not ask for a descriptor that had `O_NONBLOCK` when the source was made. If another handler has read that
    ///   after the kernel's report, the handler is called, and its read fails with `EAGAIN`.
    /// - When a duplicate is closed, the process loses its POSIX locks (`fcntl`) on the file; `flock` locks stay.
    ///
    /// **An owned descriptor** (`init(owning:…)`) has no duplicate. The source closes it when none of its handlers
    /// runs. No other handler may read from it. So the loop asks again only if the descriptor is reported writable, or
    /// if this handler has been called since the report.
    ///
    /// The source does not change the descriptor's flags: <doc:WhichInput#Descriptors> says when to set `O_NONBLOCK`.
    /// It can be in several modes of one loop, and keeps runs in them going, even while it is disarmed.
    ///
    /// CF: `CFFileDescriptor` and its source, which reports once and must then be enabled again, like a source with
    /// ``Loop/FileDescriptorSource/isOneShot``.
    public final class FileDescriptorSource: Item, Source1, @unchecked Sendable {
        /// The type of the handler.
        public typealias Handler = @Sendable (_ source: FileDescriptorSource, _ ready: Readiness) -> Void

        /// When a source reports.
        public enum Trigger: Sendable {
            /// Repeatedly for as long as the descriptor is ready, in turn with other inputs.
            case level

            /// When the descriptor becomes ready, or more ready than before; and once when the source is added or
            /// rearmed, or its interest changes. The handler reads or writes until the call fails with `EAGAIN`, which
            /// needs a non-blocking descriptor.
            case edge
        }

        /// When the source reports.
        public let trigger: Trigger

        /// Whether each report disarms the source before the handler is called.
        public let isOneShot: Bool

        /// The descriptor's number at initialization, for the description of a loop.
        private let number: Descriptor

        // Guarded by the item's lock, so exclusivity is unchecked.

        @exclusivity(unchecked) private var wanted: Interest
        /// The events of `wanted`.
        @exclusivity(unchecked) private var wantedEvents: PollEvents
        @exclusivity(unchecked) private var armed = true

        /// Nil before it is set, and once the source is invalid.
        @exclusivity(unchecked) private var handler: Handler?

        /// What the poller watches: the descriptor itself if it is owned, otherwise a duplicate; -1 once closed.
        @exclusivity(unchecked) private var watched: Descriptor
        private let isOwning: Bool

        /// Whether a handler that finds nothing to read does not block.
        private let isNonBlocking: Bool

        /// Guarded by the item's lock. An owned descriptor is not closed during a call.
        @exclusivity(unchecked) private var calls = ReadingCalls()

        /// See `sourceSlot`. Guarded by the lock of the loop.
        @exclusivity(unchecked) private var slot = -1

        @exclusivity(unchecked) private var suspicion = SpinSuspicion()

        // MARK: Making one

        /// Makes a source for a descriptor that the caller owns, and closes after it has invalidated the source.
        ///
        /// - Parameters:
        ///   - descriptor: Watched from the moment the source is added to a loop.
        ///   - interest: What to wait for.
        ///   - trigger: When to report.
        ///   - isOneShot: Whether to report once only, until ``Loop/FileDescriptorSource/rearm()``.
        ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the source, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread with what the descriptor is ready for, never empty. Nil to set it
        ///     later: ``setHandler(_:)``.
        /// - Throws: ``LoopError``:
        ///   - `EBADF` if the descriptor is not open.
        ///   - `EPERM` if it is always ready (a regular file, a directory, `/dev/null`): the kernel does not watch it.
        ///     Read or write it directly: <doc:TerminalsFilesAndSockets#An-input-that-may-be-a-file>.
        ///   - `EMFILE` if the process has no descriptor left for the duplicate.
        public convenience init(
            _ descriptor: Int32, interest: Interest = .read, trigger: Trigger = .level, isOneShot: Bool = false,
            label: String? = nil, file: StaticString = #fileID, line: UInt = #line, handler: Handler? = nil
        ) throws(LoopError) {
            // Before the duplicate is made: closing it would release the process's POSIX locks on the file.
            try System.checkCanBeWatched(descriptor)
            let duplicate = try System.duplicate(descriptor)
            self.init(descriptor, watched: duplicate, interest, trigger, isOneShot, Place(file, line), label, handler)
        }

        /// Makes a source that owns its descriptor, and closes it. Do not close it elsewhere, nor let a second source
        /// own it.
        ///
        /// The source closes it when it is invalidated (after its handler returns, if that is running), or when its
        /// last reference is released. The parameters are those of
        /// ``Loop/FileDescriptorSource/init(_:interest:trigger:isOneShot:label:file:line:handler:)``.
        ///
        /// - Throws: ``LoopError``, as that initializer does. The caller then still owns the descriptor, which stays
        ///   open. `EMFILE` only for a descriptor that is neither a socket nor a pipe, which needs a spare one for a
        ///   moment.
        public convenience init(
            owning descriptor: Int32, interest: Interest = .read, trigger: Trigger = .level, isOneShot: Bool = false,
            label: String? = nil, file: StaticString = #fileID, line: UInt = #line, handler: Handler? = nil
        ) throws(LoopError) {
            try System.checkCanBeWatched(descriptor)
            self.init(descriptor, watched: descriptor, interest, trigger, isOneShot, Place(file, line), label, handler)
        }

        private init(
            _ number: Descriptor, watched: Descriptor, _ interest: Interest, _ trigger: Trigger, _ isOneShot: Bool,
            _ place: Place, _ label: String?, _ handler: Handler?
        ) {
            self.number = number
            self.watched = watched
            self.isOwning = number == watched
            self.isNonBlocking = System.isNonBlocking(watched)
            self.wanted = interest
            self.wantedEvents = PollEvents(interest)
            self.trigger = trigger
            self.isOneShot = isOneShot
            self.handler = handler
            super.init(place, label)
            if handler == nil { waitForHandler() }
        }

        /// Sets what the loop calls, from the next report on. The descriptor is not watched without a handler: what it
        /// is ready for then, is reported as soon as there is one. ``Loop/Item`` has the rules: a call that runs
        /// finishes with the old handler.
        ///
        /// - Parameter handler: Called on the loop's thread with what the descriptor is ready for, never empty.
        /// - Returns: Whether the source is valid, and has the handler.
        @discardableResult
        public func setHandler(_ handler: @escaping Handler) -> Bool { set(handler, .nothing) }

        func set(_ handler: @escaping Handler, _ isolation: Isolation) -> Bool {
            var new: Handler? = handler
            return replaceHandler(isolation) { swap(&self.handler, &new) }
        }

        deinit { if watched >= 0 { System.close(watched) } }

        // MARK: Asking and changing

        /// The descriptor that the source was made with; -1 once a source that owns it has closed it.
        public var descriptor: Int32 { itemLock.withLock { isOwning ? watched : number } }

        /// What the source waits for. May be changed at any time, even while a loop sleeps on it. With no interest, the
        /// source reports only hang-ups and errors.
        ///
        /// A pending report uses the new interest, unless the handler's call has begun. A change costs one system call
        /// for each mode that has run. Setting the present interest costs none, and reports nothing again.
        public var interest: Interest {
            get { itemLock.withLock { wanted } }
            set {
                let hasChanged = itemLock.withLock {
                    guard exchange(&wanted, with: newValue) != newValue else { return false }
                    wantedEvents = PollEvents(newValue)
                    calls.distrustReports()
                    return true
                }
                if hasChanged { watchesChanged(areWatched: true) }
            }
        }

        /// Whether the source reports. Initially true; each report of a one-shot source, and
        /// ``Loop/FileDescriptorSource/disarm()``, make it false.
        public var isArmed: Bool { itemLock.withLock { armed } }

        /// Makes the source report again, when the loop looks next, if the descriptor is ready. An edge-triggered
        /// source does so even if it was armed. CF: `CFFileDescriptorEnableCallBacks`.
        public func rearm() {
            let wasArmed = itemLock.withLock { exchange(&armed, with: true) }
            watchesChanged(areWatched: wasArmed)
        }

        /// Keeps the source from reporting anything, even hang-ups and errors, until
        /// ``Loop/FileDescriptorSource/rearm()``. Use it when the handler's consumer cannot keep up. CF:
        /// `CFFileDescriptorDisableCallBacks`.
        public func disarm() {
            itemLock.withLock { armed = false }
            watchesChanged()
        }

        // MARK: Source1

        /// A disarmed source watches nothing: epoll reports hang-ups and errors even with no events requested.
        ///
        /// Inlined, so that the array is on the caller's stack: allocating it took 370 instructions.
        var watches: [Watch] {
            @inline(__always) get {
                itemLock.withLock {
                    [Watch(descriptor: watched, events: armed ? watchedEvents : nil, mayBeMissing: true)]
                }
            }
        }

        private var watchedEvents: PollEvents {
            var events = wantedEvents
            if trigger == .edge { events.insert(.edge) }
            // The kernel permits it with nothing else.
            if wanted.contains(.exclusive), wanted.isDisjoint(with: [.priority, .readHangUp]) {
                events.remove(.readHangUp)
                events.insert(.exclusive)
            }
            return events
        }

        func workBehind(_ report: Report) -> PollEvents? { itemLock.withLock { workWhileLocked(behind: report) } }

        /// If other handlers have been called since the report, asks the kernel again, since they may have read the
        /// descriptor. Two kinds are not asked, unless a call of this handler is active, or has ended since:
        ///
        /// - An owned descriptor that is not reported writable: no other handler reads it, but one may write to it.
        /// - One that does not block, as long as the report is recent: a handler that finds nothing goes on. Asking
        ///   takes 450 ns, as long as half of the rest.
        ///
        /// Exceptional conditions are not asked for again: for some files (`/proc/mounts`) asking consumes them.
        private func workWhileLocked(behind report: Report) -> PollEvents? {
            itemLock.assertHeld()
            guard armed else { return nil }
            var found = report.events
            let isTrusted = isOwning && !found.contains(.write) || isNonBlocking && report.age == .recent
            if report.age != .fresh, !(isTrusted && calls.areOver(before: report)) {
                let unanswered = trigger == .edge ? found : []
                found = System.openReadiness(of: watched, for: wantedEvents) ?? unanswered
                if report.events.contains(.priority) {
                    found.formUnion(report.events.intersection([.priority, .error]))
                }
            }
            found = found.intersection(wantedEvents.union([.error, .hangUp]))
            return found.isEmpty ? nil : found
        }

        func perform(_ report: Report, in mode: ModeState) -> Int {
            guard let (handler, events, isLookedAt) = beginCall(report, in: mode) else { return 0 }
            if isOneShot { watchesChanged() }
            if isLookedAt {
                callAndLook(handler, Readiness(events))
            } else {
                handler(self, Readiness(events))
            }
            endCall(in: mode)
            return 1
        }

        /// Calls the handler, and reports it if the loop spins because of it.
        @inline(never)
        private func callAndLook(_ handler: Handler, _ ready: Readiness) {
            let (descriptor, watchesPeer) = itemLock.withLock { (watched, suspicion.watchesPeer) }
            let peer = watchesPeer ? try? PeerActivity(of: descriptor) : nil
            let start = System.monotonicNanoseconds()
            let before = System.waitingBytes(in: descriptor)
            let called = System.monotonicNanoseconds()
            handler(self, ready)
            let times = (call: System.monotonicNanoseconds() - called, look: called - start)
            let isSpinning = itemLock.withLock {
                guard watched == descriptor, armed, self.handler != nil else { return false }
                let after = System.waitingBytes(in: descriptor)
                // Without a descriptor for the watch, nothing is known.
                let peerActed = watchesPeer && peer?.take() != false
                return suspicion.compare(
                    before, after, times, hasHungUp: ready.contains(.hangUp), peerActed: peerActed, of: descriptor)
            }
            if isSpinning { Mistakes.shared.report(.descriptorLeftReady(source: name, ready: "\(ready)")) }
        }

        /// Nil if the source has nothing to handle: it was disarmed or invalidated, or its interest changed, at the
        /// last moment.
        @inline(__always)
        private func beginCall(_ report: Report, in mode: ModeState) -> (Handler, PollEvents, isLookedAt: Bool)? {
            // Not by `withLock`: see `Observer.currentHandler`.
            itemLock.lock()
            defer { itemLock.unlock() }
            guard let found = workWhileLocked(behind: report), let handler else { return nil }
            if isOneShot { armed = false }
            calls.begin(in: mode)
            return (handler, found, suspicion.countCall() && trigger == .level)
        }

        @inline(__always)
        private func endCall(in mode: ModeState) {
            itemLock.lock()
            calls.end(in: mode, stays: isInWhileLocked(mode))
            let isUnused = isUnused
            itemLock.unlock()
            if isUnused { closeIfUnused() }
        }

        /// Whether no handler uses the descriptor any more. The item's lock is held.
        private var isUnused: Bool { handler == nil && calls.active == 0 }

        @inline(never)
        private func closeIfUnused() {
            let unused = itemLock.withLock { isUnused ? exchange(&watched, with: -1) : -1 }
            if unused >= 0 { System.close(unused) }
        }

        // MARK: Item

        override var kind: String { "descriptor \(number)" }

        override var status: ItemStatus {
            let (interest, isArmed) = itemLock.withLock { (wanted, armed) }
            let words = "\(interest), \(trigger)-triggered" + (isOneShot ? ", one-shot" : "")
            return isArmed ? .waits(words) : .disarmed(words + ", disarmed")
        }

        /// Remembered: a source that is rearmed after each report needs it each time.
        override var sourceSlot: Int {
            get { slot }
            set { slot = newValue }
        }

        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func hasGotHandler() { beginBeingWatched() }
        override func releaseHandlers() {
            releaseUnlocked { handler.take() }
            closeIfUnused()
        }
    }
}
