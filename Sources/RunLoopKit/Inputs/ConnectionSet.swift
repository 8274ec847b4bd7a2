extension Loop {
    /// The connections of a server: to count them, to send to all, and to end them together. Any thread may use it, and
    /// the connections may be in different loops.
    ///
    /// ```swift
    /// let connections = Loop.ConnectionSet()
    /// let listener = try Loop.Listener(.tcp(.loopback, port: 7007)) { _, connection in
    ///     connection.setHandler { connection, event in
    ///         if case .received(let bytes) = event { connection.send(bytes) }
    ///         if event == .peerFinished { connection.end() }
    ///     }
    ///     Loop.current.add(connection, in: .common)
    ///     connections.insert(connection)
    /// }
    /// Loop.current.add(listener, in: .common)
    /// // … and at the end, as in the handler of Ctrl-C:
    /// listener.end()
    /// connections.end(within: .seconds(2)) { Loop.main.stop() }
    /// ```
    ///
    /// A server that only receives ends by ``finishSending(within:then:)``. What that loses of its clients:
    ///
    /// | the client | over a Unix socket | over TCP |
    /// |---|---|---|
    /// | stops when it sees the end, in the period | nothing | nothing |
    /// | goes on | nothing that its `send` has accepted | what arrives after the period, or is on its way then |
    ///
    /// So a protocol over TCP that is to lose nothing needs an acknowledgement. A connection that has no handler, or
    /// whose ``Connection/isReceiving`` is false, loses what waits, over both. ``Connection/ignoredByteCount`` counts
    /// what is dropped, except what comes after the connection is closed.
    ///
    /// The set retains a connection until that leaves it, by itself:
    ///
    /// - *Closed,* it leaves after its handler got ``Connection/Event/closed(_:)``. During that call it still counts.
    /// - *Invalidated,* it leaves before ``Loop/Item/invalidate()`` returns.
    /// - *When its loop ends,* the set no longer retains it. If nothing else does, it is closed then. After
    ///   ``end(within:then:)`` or ``finishSending(within:then:)`` it is closed then, unless it was removed from the
    ///   loop before.
    ///
    /// A set that is released ends nothing: its connections live on as long as their loops, or the program, retain
    /// them. An end that was begun goes on. A connection may be in several sets.
    ///
    /// CF: none. Node.js: `server.close()`; Go: the Shutdown of an HTTP server.
    public final class ConnectionSet: @unchecked Sendable {
        private let members = ConnectionMembers()

        /// Makes an empty set. On any thread.
        public init() {}

        deinit { members.forget() }

        /// Inserts a connection, until that is closed. From any thread. A connection that is in the set already counts
        /// once.
        ///
        /// Add it to its loop first. One that is in no loop may join a loop later, so the set has it until it is closed
        /// or invalidated. That includes one that was removed from its loop, or whose loop ended before this call.
        ///
        /// Once the set ends, it is not taken, and is ended in the same way, with what is left of the period; nothing
        /// waits for it.
        ///
        /// - Returns: Whether the set has the connection. False if it is invalid, and once the set ends.
        @discardableResult
        public func insert(_ connection: Connection) -> Bool {
            switch connection.join(members) {
            case .joined: return true
            case .isOver: return false
            case .isLate:
                let clock = connection.firstPlace?.loop.clock ?? .monotonic
                connection.endOrInvalidate(members.manner, within: members.periodLeft(on: clock))
                return false
            }
        }

        /// How many connections are in the set. From any thread.
        public var count: Int { members.count }

        /// Whether no connection is in the set. From any thread.
        public var isEmpty: Bool { count == 0 }

        /// The connections that are in the set at this moment, in any order. From any thread.
        ///
        /// ```swift
        /// func send(_ line: [UInt8], toAll connections: Loop.ConnectionSet) {
        ///     for connection in connections.connections { connection.send(line) }
        /// }
        /// ```
        public var connections: [Connection] { members.connections }

        /// Ends all connections, each by ``Connection/end(within:readingFirst:)``, and takes no more. From any thread.
        ///
        /// Their handlers first get what has arrived by now, in the period, and can answer it. A connection whose peer
        /// stays connected is closed at the end of the period, by `ETIMEDOUT`.
        ///
        /// End the listeners first, each on its loop's thread: ``Listener/end()``. The loops of the connections must go
        /// on, in modes that the connections are in.
        ///
        /// - *A connection in no loop* is invalidated: nothing would end it.
        /// - *A second call:* of the two periods the one counts that ends first. Both closures are called.
        ///
        /// - Parameters:
        ///   - period: How long to wait before a connection is closed, on the clock of its loop. Zero or less: it is
        ///     closed as soon as its loop comes around, and what was not read is dropped. Beyond
        ///     ``Loop/Instant/distantFuture``: as long as it takes.
        ///   - completion: Called once, when the last connection has left the set: on the thread that closes it, which
        ///     is that of its loop, or invalidates it. If none is left now, a block calls it, on the loop that the
        ///     caller is in: one that runs, ``Loop/main`` if that has run before, or a ``LoopThread``'s. So do not wait
        ///     for it there, nor in a handler of one of the connections, which is to answer first. On other threads it
        ///     is called before this returns. It may outlive the set.
        public func end(within period: Duration, then completion: (@Sendable () -> Void)? = nil) {
            end(.reading, within: period, completion)
        }

        /// Ends all connections as ``end(within:then:)`` does, but each by ``Connection/finishSending(within:)``: the
        /// handlers go on to get what peers send until these finish, and can answer nothing. From any thread.
        ///
        /// When the period is over, the handlers get what has arrived by then, also if it is zero or less. That is
        /// all that a client's `send` has accepted over a Unix socket, and less over TCP: ``ConnectionSet``.
        ///
        /// While ``Connection/isReceiving`` is false, a connection receives nothing, not even the peer's end: set it to
        /// true. After a call of ``end(within:then:)`` this only adds the closure, and shortens the period; and that
        /// call, after this one, ends the receiving.
        public func finishSending(within period: Duration, then completion: (@Sendable () -> Void)? = nil) {
            end(.receiving, within: period, completion)
        }

        private func end(
            _ manner: ConnectionMembers.Manner, within period: Duration, _ completion: (@Sendable () -> Void)?
        ) {
            let (connections, manner) = members.beginEnd(manner, within: period)
            members.noteClocks(of: connections, within: period)
            for connection in connections { connection.endOrInvalidate(manner, within: period) }
            if let completion, !members.keep(completion) { Self.callSoon(completion) }
            members.resumeIfOver()
        }

        /// Not inside the call, where that thread may be between two runs, and a stop would be lost.
        private static func callSoon(_ completion: @escaping @Sendable () -> Void) {
            let call = LastCall(completion)
            guard let loop = ThreadLoops.current.loopThatRuns else { return }
            let modes: Set<Mode> = [.common, loop.currentMode ?? .common]
            // A refused block is released, which makes the call.
            _ = loop.perform(in: modes, Place("end of a connection set", 0)) { call.make() }
        }

        /// Calls a closure once: when it is released, unless before.
        private final class LastCall: @unchecked Sendable {
            private let lock = Lock(.leaf)
            /// Guarded by the lock.
            @exclusivity(unchecked) private var closure: (@Sendable () -> Void)?

            init(_ closure: @escaping @Sendable () -> Void) { self.closure = closure }
            deinit { make() }
            func make() { lock.withLock { closure.take() }?() }
        }

        /// Suspends until the end was begun, as by ``end(within:then:)``, and the set is empty. For any number of
        /// tasks, on any thread, before that call or after it.
        ///
        /// - Throws: `CancellationError` when the task is cancelled before. The set and its connections go on.
        public nonisolated(nonsending) func waitForEnd() async throws {
            try Task.checkCancellation()
            let promise = members.beginWaiting()
            try await promise.value { [members] in members.endWaiting(for: promise) }
        }
    }
}

/// The connections of a set, and who waits for their end. Retained by the set, and by the stays of its connections.
///
/// | the set | then | and |
/// |---|---|---|
/// | is open | `insert`, `remove` | is open |
/// | is open | `beginEnd` | is ending: it takes none |
/// | is ending, and has one connection left | `remove` | is over: closures are called, and tasks resumed |
/// | is released | `forget` | retains no connection, and counts them still |
final class ConnectionMembers: @unchecked Sendable {
    /// How the connections end.
    enum Manner {
        /// They read what has arrived, and can answer it.
        case reading
        /// They receive until the peer finishes.
        case receiving
    }

    /// When the period ends.
    private struct Deadline {
        let clock: LoopTime
        var nanoseconds: Int64
    }

    private typealias Completion = @Sendable () -> Void

    private let lock = Lock(.leaf)

    // Guarded by `lock`, and exclusivity is unchecked for that.

    /// The connections, each in the slot of its stay. Nil in a free slot; once the set is released, in all.
    ///
    /// No reference to a stay: if it were the last one, the deinit of the stay would run with the lock held.
    @exclusivity(unchecked) private var slots: [Loop.Connection?] = []

    /// The slots that stays have left.
    @exclusivity(unchecked) private var freeSlots: [Int] = []

    /// Nil while the set is open.
    @exclusivity(unchecked) private var period: Duration?

    /// How its connections end. No call takes back what another one lets them answer.
    @exclusivity(unchecked) private var endManner = Manner.receiving

    /// On the machine's clock, and on each virtual clock of a connection that was there.
    @exclusivity(unchecked) private var deadlines: [Deadline] = []

    @exclusivity(unchecked) private var completions: [Completion] = []
    @exclusivity(unchecked) private var waiters: [Promise<Void>] = []

    var count: Int { lock.withLock { countWhileLocked } }
    var connections: [Loop.Connection] { lock.withLock { connectionsWhileLocked } }
    var isEnding: Bool { lock.withLock { period != nil } }
    var manner: Manner { lock.withLock { endManner } }

    private var countWhileLocked: Int { slots.count - freeSlots.count }
    private var connectionsWhileLocked: [Loop.Connection] { slots.compactMap(\.self) }

    // MARK: Members

    /// The lock of the connection is held. Returns nil if the set takes none.
    func insert(_ connection: Loop.Connection) -> ConnectionStay? {
        connection.itemLock.assertHeld()
        return lock.withLock {
            guard period == nil else { return nil }
            guard let slot = freeSlots.popLast() else {
                slots.append(connection)
                return ConnectionStay(in: self, at: slots.count - 1)
            }
            slots[slot] = connection
            return ConnectionStay(in: self, at: slot)
        }
    }

    /// Called by the deinit of the stay.
    fileprivate func remove(at slot: Int) {
        let connection = lock.withLock {
            freeSlots.append(slot)
            let connection = slots[slot].take()
            // Or each use of the set would pass through as many slots as there ever were.
            if countWhileLocked == 0 { (slots, freeSlots) = ([], []) }
            return connection
        }
        // Without the lock: it may be the last reference.
        withExtendedLifetime(connection) {}
        completeIfOver()
    }

    /// The set is released.
    func forget() {
        let connections = lock.withLock {
            defer { for slot in slots.indices { slots[slot] = nil } }
            return connectionsWhileLocked
        }
        withExtendedLifetime(connections) {}
    }

    // MARK: The end

    /// Takes no more connections. Returns those to end, and how.
    func beginEnd(_ manner: Manner, within period: Duration) -> ([Loop.Connection], Manner) {
        lock.withLock {
            self.period = min(self.period ?? period, period)
            if manner == .reading { endManner = .reading }
            return (connectionsWhileLocked, endManner)
        }
    }

    /// Keeps a closure until the set is over. Returns false if it is. Called after `beginEnd`.
    func keep(_ completion: @escaping @Sendable () -> Void) -> Bool {
        lock.withLock {
            if countWhileLocked > 0 { completions.append(completion) }
            return countWhileLocked > 0
        }
    }

    /// Notes when the period ends, for connections that come later. One that comes before, or on another virtual clock,
    /// gets the whole period.
    func noteClocks(of connections: [Loop.Connection], within period: Duration) {
        var found = [LoopTime.monotonic]
        for connection in connections {
            guard let clock = connection.firstPlace?.loop.clock, !found.contains(where: clock.isSame) else { continue }
            found.append(clock)
        }
        let new = found.map { clock in
            let time = clock.nanoseconds.addingSaturating(max(0, period.wholeNanoseconds))
            return Deadline(clock: clock, nanoseconds: time)
        }
        lock.withLock {
            for deadline in new {
                if let index = deadlines.firstIndex(where: { deadline.clock.isSame(as: $0.clock) }) {
                    deadlines[index].nanoseconds = min(deadlines[index].nanoseconds, deadline.nanoseconds)
                } else {
                    deadlines.append(deadline)
                }
            }
        }
    }

    /// What is left of the period. Called after `beginEnd`.
    func periodLeft(on clock: LoopTime) -> Duration {
        let (period, deadline) = lock.withLock {
            (self.period!, deadlines.first { clock.isSame(as: $0.clock) }?.nanoseconds)
        }
        guard let deadline, deadline < Loop.Instant.distantFuture.nanoseconds else { return period }
        return .nanoseconds(deadline.subtractingSaturating(clock.nanoseconds))
    }

    /// Calls the closures and resumes the tasks that wait, if the set is ending and empty.
    func completeIfOver() {
        let completions = lock.withLock { isOverWhileLocked ? exchange(&self.completions, with: []) : [] }
        if !completions.isEmpty { Lock.assertNoneHeld() }
        for completion in completions { completion() }
        resumeIfOver()
    }

    /// Resumes the tasks that wait, if the set is ending and empty.
    func resumeIfOver() {
        let waiters = lock.withLock { isOverWhileLocked ? exchange(&self.waiters, with: []) : [] }
        for waiter in waiters { waiter.fulfil(.success(())) }
    }

    private var isOverWhileLocked: Bool { period != nil && countWhileLocked == 0 }

    func beginWaiting() -> Promise<Void> {
        let promise = Promise<Void>()
        // The closures are not this thread's to call.
        let isOver = lock.withLock {
            if period != nil, countWhileLocked == 0 { return true }
            waiters.append(promise)
            return false
        }
        if isOver { promise.fulfil(.success(())) }
        return promise
    }

    /// Cancels a wait, unless it is over.
    func endWaiting(for promise: Promise<Void>) {
        let isWaiting = lock.withLock {
            guard let index = waiters.firstIndex(where: { $0 === promise }) else { return false }
            waiters.remove(at: index)
            return true
        }
        if isWaiting { promise.fulfil(.failure(CancellationError())) }
    }
}

/// A connection's stay in a set. The connection retains it until it is closed; released, it is over.
final class ConnectionStay: @unchecked Sendable {
    let members: ConnectionMembers
    private let slot: Int

    fileprivate init(in members: ConnectionMembers, at slot: Int) { (self.members, self.slot) = (members, slot) }

    deinit { members.remove(at: slot) }
}

/// The stays that end when a connection has reported its last event.
final class EndingStays: AnsweredWork {
    private var stays: [ConnectionStay]

    init(_ stays: [ConnectionStay]) { self.stays = stays }

    /// Whether one of the sets is ending.
    var areEnding: Bool { stays.contains { $0.members.isEnding } }

    func end() { stays = [] }

    /// In the handler of the last event.
    func threadHasExited() { end() }
}
