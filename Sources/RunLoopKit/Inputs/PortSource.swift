import Synchronization

extension Loop {
    /// A version-1 source: a port backed by an eventfd. A send wakes its loops, from any thread, even in a Unix signal
    /// handler.
    ///
    /// Sends are counted: those before the loop serves the port are coalesced into one call of the handler, which
    /// receives their number. A port keeps runs in its modes going: ``Loop/run()`` waits for it instead of finishing.
    /// It can be in several modes and several loops; each send is handled once. It has one descriptor until it is
    /// deallocated. CF: `CFRunLoopSource` of version 1.
    ///
    /// ```swift
    /// let port = try Loop.PortSource { count in print("\(count) sends") }
    /// Loop.current.add(port, in: .default)
    /// port.send()
    /// Loop.current.run(mode: .default, for: .zero)  // 1 sends
    /// ```
    public final class PortSource: Item, Source1, @unchecked Sendable {
        /// Nil before it is set, and once the port is invalid. Guarded by the item's lock.
        @exclusivity(unchecked) private var handler: (@Sendable (Int) -> Void)?
        private let eventFD: EventFD

        /// The number of sends not yet passed to a handler. The count is here and not in the eventfd, which is never
        /// read: the eventfd only makes edges, at least one each time that the count leaves zero.
        private let sends = Atomic<UInt64>(0)

        // The word, from its lowest bit: whether a sender has written in this round, the sends of this round, and the
        // number of the round, which changes when the loop takes the sends.
        private static let written: UInt64 = 1
        private static let oneSend: UInt64 = 2
        private static let oneRound: UInt64 = 1 << 40

        /// The sequence number taken when the count last left zero in a loop; before that, the port's insertion counts.
        /// Relaxed, since it publishes nothing.
        private let turn = Atomic<UInt64>(TurnCounter.beforeAll)

        /// Of each mode that the port is in: a send takes no lock. Changed with the item's lock held.
        let notes = SharedList<EdgeNote>()

        /// Makes a port.
        ///
        /// - Parameters:
        ///   - label: What diagnostics call the port; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the port, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread with the number of sends since its last call, at least 1. Nil to
        ///     set it later: ``setHandler(_:)``.
        /// - Throws: ``LoopError`` from `eventfd`, if the process has no descriptor left.
        public init(
            label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
            handler: (@Sendable (_ count: Int) -> Void)? = nil
        ) throws(LoopError) {
            self.handler = handler
            self.eventFD = try EventFD()
            super.init(Place(file, line), label, belongsToProcess: true)
            // Initializes both, which must not happen in a signal handler.
            TurnCounter.prepare()
            _ = Monitors.areAttached
            if handler == nil { waitForHandler() }
        }

        /// Sets what the loop calls, from the next call on. Sends without a handler are counted, and wait for it.
        /// ``Loop/Item`` has the rules: a call that runs finishes with the old handler.
        ///
        /// - Parameter handler: Called on the loop's thread with the number of sends since the last call, at least 1.
        /// - Returns: Whether the port is valid, and has the handler.
        @discardableResult
        public func setHandler(_ handler: @escaping @Sendable (_ count: Int) -> Void) -> Bool {
            set(handler, .nothing)
        }

        func set(_ handler: @escaping @Sendable (Int) -> Void, _ isolation: Isolation) -> Bool {
            var new: (@Sendable (Int) -> Void)? = handler
            return replaceHandler(isolation) { swap(&self.handler, &new) }
        }

        /// Makes the port ready in every loop that has it, and wakes those loops. From any thread, even in a Unix
        /// signal handler: it takes no lock, allocates nothing and keeps errno.
        ///
        /// Sends to a port that is in no loop wait for the first loop that it is added to. Sends to an invalid port do
        /// nothing.
        public func send() {
            guard isValid else { return }
            // Release: the handler sees what the caller did before. Once a write is made, every loop has an edge, and
            // another one would be needless.
            let found = sends.wrappingAdd(PortSource.oneSend, ordering: .releasing).oldValue
            if found & PortSource.written == 0 { write(inRoundOf: found) }
        }

        /// Writes, and says so if nothing has been taken meanwhile. Until then other senders write as well: this thread
        /// may be stopped here for long.
        private func write(inRoundOf found: UInt64) {
            notes.read { notes in
                if !notes.isEmpty { takeTurn(in: notes) }
                eventFD.signal()
            } then: { notes in
                // A mode that the port joins later finds the eventfd written. By indices: see `Monitors.notify`.
                var index = 0
                while index < notes.count {
                    notes[index].set()
                    index += 1
                }
            }
            var now = found + PortSource.oneSend
            // Relaxed: it publishes nothing. Who takes a send has it from this word, in the order of its changes.
            while now / PortSource.oneRound == found / PortSource.oneRound {
                let change = sends.weakCompareExchange(
                    expected: now, desired: now | PortSource.written, ordering: .relaxed)
                if change.exchanged { return }
                now = change.original
            }
        }

        private func takeTurn(in notes: [EdgeNote]) {
            let number = TurnCounter.next(in: notes)
            turn.store(number, ordering: .relaxed)
            if Monitors.areAttached {
                Monitors.notify(of: Handover(of: self, .source1, number), toModes: notes.count) { notes[$0].waker }
            }
        }

        // MARK: Source1

        var watches: [Watch] { [Watch(descriptor: eventFD.descriptor, events: [.read, .edge])] }

        var isPort: Bool { true }

        private var hasWork: Bool { waitingSends > 0 }

        private var waitingSends: Int { PortSource.count(sends.load(ordering: .relaxed)) }

        private static func count(_ word: UInt64) -> Int { Int(word % oneRound / oneSend) }

        func workBehind(_ report: Report) -> PollEvents? { hasWork ? report.events : nil }

        var knowsTurn: Bool { true }

        var readyTurn: UInt64? { hasWork ? turn.load(ordering: .relaxed) : 0 }

        func perform(_ report: Report, in mode: ModeState) -> Int {
            let count = takeSends()
            guard count > 0 else { return 0 }
            currentHandler?(count)
            return 1
        }

        /// Begins another round. A later send finds no write, and makes a new edge.
        private func takeSends() -> Int {
            var found = sends.load(ordering: .relaxed)
            while PortSource.count(found) > 0 {
                // Acquire: see send().
                let change = sends.weakCompareExchange(
                    expected: found, desired: (found / PortSource.oneRound &+ 1) &* PortSource.oneRound,
                    successOrdering: .acquiring, failureOrdering: .relaxed)
                if change.exchanged { return PortSource.count(found) }
                found = change.original
            }
            return 0
        }

        /// Not by `withLock`: see `Observer.currentHandler`.
        private var currentHandler: (@Sendable (Int) -> Void)? {
            itemLock.lock()
            defer { itemLock.unlock() }
            return handler
        }

        // MARK: Item

        override var canBeInManyLoops: Bool { true }

        override var kind: String { "port source" }

        override var status: ItemStatus {
            let words = "\(waitingSends) sends waiting"
            return hasWork ? .ready(words) : .waits(words)
        }

        override func insert(into mode: ModeState) {
            itemLock.withLock { notes.change { $0.append(mode.edgeNote) } }
            mode.insert(self)
        }

        override func remove(from mode: ModeState) { mode.remove(self) }

        /// Here, since a loop that ends does not call `remove(from:)`.
        override func hasLeftWhileLocked(_ mode: ModeState) {
            guard !mode.mode.namesCommonModes else { return }
            notes.change { notes in notes.removeAll { $0 === mode.edgeNote } }
        }

        override var wasMadeByParent: Bool { eventFD.isOfParent() }
        override func hasGotHandler() { beginBeingWatched() }
        override func releaseHandlers() { releaseUnlocked { handler.take() } }
    }
}
