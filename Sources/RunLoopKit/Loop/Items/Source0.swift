import Synchronization

extension Loop {
    /// A version-0 source: work that the program signals, and a loop performs in its next source step. Any thread may
    /// use it; the work runs on the loop's thread.
    ///
    /// Signals until then are coalesced into one call. That may be in the pass that is under way: a pass performs its
    /// version-0 sources after its first block step. A source can be in several modes and loops: the first loop that
    /// finds it signalled performs it. CF: `CFRunLoopSource` with a `CFRunLoopSourceContext` of version 0.
    ///
    /// ```swift
    /// let source = Loop.Source0 { print("performed") }
    /// Loop.current.add(source, in: .default)
    /// source.signal()
    /// Loop.current.run(mode: .default, for: .zero)  // performed
    /// ```
    public final class Source0: Item, @unchecked Sendable {
        /// Sources of lower order are performed earlier in a pass; those of equal order in the order of their signals.
        public let order: Int

        // Nil once the source is invalid. Guarded by the item's lock.
        @exclusivity(unchecked) private var performHandler: (@Sendable () -> Void)?
        @exclusivity(unchecked) private var scheduleHandler: (@Sendable (Loop, Mode) -> Void)?
        @exclusivity(unchecked) private var cancelHandler: (@Sendable (Loop, Mode) -> Void)?

        /// The sequence number of the signal, or 0. A second signal does not change its place.
        private let signalTime = Atomic<UInt64>(0)

        /// Whether the pending signal wakes loops. Guarded by the item's lock.
        @exclusivity(unchecked) private var wakes = false

        /// Guarded by the item's lock.
        @exclusivity(unchecked) private var arrivalPlaces = ArrivalPlaces()

        /// Makes a source.
        ///
        /// - Parameters:
        ///   - order: Its place among the sources performed in one pass: lower is earlier.
        ///   - schedule: Called whenever the source joins a mode, on the thread that adds it.
        ///   - cancel: Called whenever the source leaves a mode, on the thread that removes it; and when the loop's
        ///     thread ends.
        ///   - label: What diagnostics call the source; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the source, for diagnostics.
        ///   - line: The line in that file.
        ///   - perform: Called on the loop's thread, by the pass that finds the source signalled. Nil to set it later:
        ///     ``setHandler(_:)``.
        public init(
            order: Int = 0, schedule: (@Sendable (Loop, Mode) -> Void)? = nil,
            cancel: (@Sendable (Loop, Mode) -> Void)? = nil, label: String? = nil, file: StaticString = #fileID,
            line: UInt = #line,
            perform: (@Sendable () -> Void)?
        ) {
            self.order = order
            self.performHandler = perform
            self.scheduleHandler = schedule
            self.cancelHandler = cancel
            // Most sources have neither handler. Notifying them of nothing would take a third of the time of adding and
            // invalidating one.
            super.init(Place(file, line), label, isNotifiedOfModes: schedule != nil || cancel != nil)
            if perform == nil { waitForHandler() }
        }

        /// Makes a source without a handler, which ``setHandler(_:)`` gives it later.
        ///
        /// The parameters are those of ``init(order:schedule:cancel:label:file:line:perform:)``. This takes no closure:
        /// a trailing one would be `schedule`.
        public convenience init(
            order: Int = 0, label: String? = nil, file: StaticString = #fileID, line: UInt = #line
        ) {
            self.init(order: order, label: label, file: file, line: line, perform: nil)
        }

        /// Sets what a loop calls when it finds the source signalled. A source that was signalled before stays
        /// signalled until then. ``Loop/Item`` has the rules: a call that runs finishes with the old handler.
        ///
        /// - Parameter perform: Called on the loop's thread.
        /// - Returns: Whether the source is valid, and has the handler.
        @discardableResult
        public func setHandler(_ perform: @escaping @Sendable () -> Void) -> Bool { set(perform, .nothing) }

        func set(_ perform: @escaping @Sendable () -> Void, _ isolation: Isolation) -> Bool {
            var perform: (@Sendable () -> Void)? = perform
            return replaceHandler(isolation) { swap(&performHandler, &perform) }
        }

        /// Whether the source has been signalled and not yet performed.
        public var isSignalled: Bool { signalTime.load(ordering: .acquiring) != 0 }

        /// Signals the source, and wakes its loops. A loop that has it performs it when it next comes to its sources.
        /// From any thread.
        ///
        /// Does nothing if the source is invalid. CF: `CFRunLoopSourceSignal`, followed by `CFRunLoopWakeUp` for every
        /// loop.
        ///
        /// - Parameter wake: Whether to wake the source's loops. If `false`, as in CF, sleeping loops stay asleep.
        public func signal(wake: Bool = true) {
            let held = itemLock.hold()
            guard canBeCalled else { return signalWithoutHandler(wake, unlocking: held) }
            guard isInOneModeWhileLocked else { return signalModes(wake, unlocking: held) }
            let mustWake = withFirstModeWhileLocked { mode in
                noteSignal(wake, mode.nextTurn())
                mode.list(self, &arrivalPlaces)
                return wake && !mode.wakeIfAwake()
            }
            if mustWake { wakeFirstMode(unlocking: held) } else { itemLock.unlock(held) }
        }

        /// Wakes a loop that may sleep. Not with the lock held: a thread that wakes on the same processor takes it at
        /// once.
        @inline(never)
        private func wakeFirstMode(unlocking held: consuming Lock.Held) {
            let mode = firstModeWhileLocked
            itemLock.unlock(held)
            mode?.wake()
        }

        /// `signal(wake:)` of an invalid source, or of one whose signal waits for a handler.
        @inline(never)
        private func signalWithoutHandler(_ wake: Bool, unlocking held: consuming Lock.Held) {
            if isValid { noteSignal(wake, nextTurnWhileLocked()) }
            itemLock.unlock(held)
        }

        /// The rest of `signal(wake:)` for a source that is not in one mode only.
        @inline(never)
        private func signalModes(_ wake: Bool, unlocking held: consuming Lock.Held) {
            let modes = modesWhileLocked
            noteSignal(wake, nextTurnWhileLocked())
            for mode in modes { mode.signals.insert(self, &arrivalPlaces) }
            itemLock.unlock(held)
            if wake { for mode in modes { mode.waker.wake() } }
        }

        /// Marks the source signalled. The item's lock is held, so that no other thread signals. A loop that takes an
        /// earlier signal at this moment waits for the lock before it calls the handler, and so sees what the caller
        /// did before.
        @inline(__always)
        private func noteSignal(_ wake: Bool, _ turn: @autoclosure () -> UInt64) {
            guard pendingSignal == 0 else { return wakes = wake || wakes }
            wakes = wake
            let number = turn()
            // Release: the performing thread sees what the caller did before.
            signalTime.store(number, ordering: .releasing)
            if Monitors.areAttached {
                let modes = modesWhileLocked
                Monitors.notify(of: Handover(of: self, .source0, number), toModes: modes.count) { modes[$0].waker }
            }
        }

        // MARK: For the pass

        /// The sequence number of the pending signal, or 0.
        var pendingSignal: UInt64 { signalTime.load(ordering: .relaxed) }

        /// Lists the source in a mode that it is in, if it is signalled.
        func announceSignal(in mode: ModeState) {
            itemLock.withLock {
                guard isSignalled, hasHandler, isInWhileLocked(mode) else { return }
                // It may be of another loop.
                mode.waker.turns.raise(to: pendingSignal)
                mode.signals.insert(self, &arrivalPlaces)
            }
        }

        /// Clears the signal, and returns its sequence number. Returns 0 if there is none: the source was invalidated,
        /// or another loop took it. Acquire: the performing thread sees what the signalling thread did before.
        func takeSignal() -> UInt64 {
            let number = signalTime.exchange(0, ordering: .acquiring)
            return isValid ? number : 0
        }

        func perform() { currentHandler?() }

        /// Not by `withLock`: see `Observer.currentHandler`.
        private var currentHandler: (@Sendable () -> Void)? {
            itemLock.lock()
            defer { itemLock.unlock() }
            return performHandler
        }

        // MARK: Item

        override var canBeInManyLoops: Bool { true }

        override var kind: String { "source 0" }

        override var status: ItemStatus {
            isSignalled ? .ready("order \(order), signalled") : .waits("order \(order), not signalled")
        }

        private var mayWake: Bool { itemLock.withLock { isSignalled && hasHandler && wakes } }

        override func wakeIfReady(_ waker: Waker) { if mayWake { waker.wake() } }

        override func hasGotHandler() {
            let modes = currentModes
            for mode in modes { announceSignal(in: mode) }
            if mayWake { for mode in modes { mode.wake() } }
        }

        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func hasLeftWhileLocked(_ mode: ModeState) { mode.signals.remove(self, &arrivalPlaces) }
        override func didJoin(_ mode: Mode, of loop: Loop) {
            itemLock.withLock { scheduleHandler }?(loop, mode)
        }

        override func didLeave(_ mode: Mode, of loop: Loop) { itemLock.withLock { cancelHandler }?(loop, mode) }
        override func releaseHandlers() {
            signalTime.store(0, ordering: .relaxed)
            releaseUnlocked { (performHandler.take(), scheduleHandler.take(), cancelHandler.take()) }
        }
    }
}
