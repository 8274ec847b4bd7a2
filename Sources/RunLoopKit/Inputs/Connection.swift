import Synchronization

extension Loop {
    /// A version-1 source: a stream of bytes in both directions, which never blocks. It owns a connected stream socket,
    /// or one end of a pipe. Any thread may use it; the handler runs on the loop's thread.
    ///
    /// ```swift
    /// let connection = try Loop.Connection(connectingTo: .tcp(.loopback, port: 7007)) { connection, event in
    ///     switch event {
    ///     case .received(let bytes): print(String(decoding: bytes, as: UTF8.self))
    ///     case .peerFinished: connection.end()
    ///     case .closed(let error): print(error.map { "failed: \($0)" } ?? "closed")
    ///     case .connected, .drained: break
    ///     }
    /// }
    /// Loop.current.add(connection, in: .default)
    /// connection.send("hello")
    /// ```
    ///
    /// A ``Listener`` makes the connections of a server. A ``ConnectionSet`` ends them together.
    ///
    /// - *Receiving:* the connection reads, 64 KiB at most in each pass, and calls the handler with the bytes. What
    ///   arrives while it has no handler, or is in no loop, waits in the kernel. So does what arrives while
    ///   ``isReceiving`` is false, which slows a peer that is too fast. ``idleLimit`` closes one that is too slow.
    /// - *Sending:* ``send(_:)-([UInt8])`` sends at once what the kernel has room for. The rest waits in memory without
    ///   limit, until the loop has sent it: ``Event/drained``. ``pendingByteCount`` is for senders that are too fast.
    /// - *Half-close:* after ``Event/peerFinished`` the connection can still send, and after ``finishSending()`` it
    ///   still receives. It is closed once both have ended.
    ///
    /// | the end | what waits to be sent | what was not read yet, and what comes | ``Event/closed(_:)`` |
    /// |---|---|---|---|
    /// | ``finishSending()`` | is sent before the peer sees the end | is received | after ``Event/peerFinished`` |
    /// | ``end()`` | is sent before the peer sees the end | is dropped | once the peer has finished |
    /// | ``end(within:readingFirst:)`` | the same, in the period | is dropped, or read first | or with `ETIMEDOUT` |
    /// | ``finishSending(within:)`` | the same, in the period | is received | or with `ETIMEDOUT` |
    /// | ``Loop/Item/invalidate()`` | is dropped | is lost: TCP resets the connection | is not reported |
    /// | a failure | is dropped | was received before, unless ``isReceiving`` is false | with the error |
    ///
    /// **Closed**, it is invalid and has no descriptor. ``Event/closed(_:)`` comes once, after all others. A handler
    /// that does nothing at ``Event/peerFinished`` leaves a connection that can send, and its descriptor, open. The
    /// reading end of a pipe is closed then.
    ///
    /// A failure is noticed by a read or a write. While the connection neither receives nor has anything to send, it
    /// notices none. No SIGPIPE is raised.
    ///
    /// It makes its descriptor non-blocking and closed on exec. The first is a property of the open file, which other
    /// processes may share: do not give it a standard stream. It can be in several modes of one loop, and keeps runs in
    /// them going.
    ///
    /// CF: `CFSocket` and `CFStream`. Foundation: `Stream`; Node.js: `net.Socket`; libevent: `bufferevent`.
    public final class Connection: Item, Source1, @unchecked Sendable {
        /// The type of the handler.
        public typealias Handler = @Sendable (_ connection: Connection, _ event: Event) -> Void

        /// What a connection reports.
        public enum Event: Equatable, Sendable {
            /// The connection was made, of one that was begun by
            /// ``Loop/Connection/init(connectingTo:label:file:line:handler:)``. The first event.
            case connected

            /// Bytes of the peer's, at least one. They come in order, and in other pieces than they were sent.
            case received(_ bytes: [UInt8])

            /// The peer sends nothing more, and may still receive. Of a pipe: no process can write to it any more.
            case peerFinished

            /// All bytes that waited in memory have been handed to the kernel. Not reported of bytes that never waited.
            case drained

            /// The last event. Without an error both sides have finished. With one, what waited was dropped:
            ///
            /// - `ECONNRESET`: the peer has reset the connection, or has closed it and left bytes unread.
            /// - `EPIPE`: something was sent to a peer that has closed.
            /// - `ECONNREFUSED`, `ETIMEDOUT` and others: the connection was not made.
            /// - `ETIMEDOUT` after ``Loop/Connection/end(within:readingFirst:)`` or
            ///   ``Loop/Connection/finishSending(within:)``: the period is over. Whether bytes were dropped say
            ///   ``Loop/Connection/droppedByteCount`` and ``Loop/Connection/ignoredByteCount``.
            /// - `ETIMEDOUT` of the call `idleLimit`: the peer was idle for ``Loop/Connection/idleLimit``.
            ///
            /// The last two are no failures: the program has asked for them. Their ``LoopError/isOwnLimit`` is true,
            /// and that of the others is false.
            case closed(_ error: LoopError?)
        }

        /// The number of the descriptor, for options of the socket. Once the connection is invalid, another file may
        /// have it.
        public let descriptor: Int32

        /// How many bytes are read at once.
        private static var readSize: Int { 64 * 1024 }

        /// Guards `state`, and the calls that send. Another one than the item's, since a large send takes a while.
        private let stateLock = Lock(.leaf)
        @exclusivity(unchecked) private var state: ConnectionState

        /// `state.interest`, for a loop that must not wait for a send. Written with the state's lock held. Relaxed:
        /// after each change the modes look again, with the lock of their loop.
        private let interest: Atomic<UInt32>
        private static var nothing: UInt32 { .max }

        // Guarded by the item's lock, so exclusivity is unchecked.

        /// The descriptor of `state`, for a loop that must not wait for a send. Nil once the connection is closed.
        @exclusivity(unchecked) private var polled: OwnedDescriptor?

        /// Nil before it is set, after the last event, and once the connection is invalid.
        @exclusivity(unchecked) private var handler: Handler?

        /// What the end concerns besides the handler. Nil of most connections, and once the connection is invalid.
        @exclusivity(unchecked) var ending: Ending?

        /// As those of `FileDescriptorSource`.
        @exclusivity(unchecked) private var calls = ReadingCalls()

        /// See `sourceSlot`. Guarded by the lock of the loop.
        @exclusivity(unchecked) private var slot = -1

        // MARK: Making one

        /// Makes a connection of a stream that is connected already: a stream socket, an end of a pipe, or another
        /// descriptor that the kernel can poll. The connection closes it: do not close it elsewhere.
        ///
        /// - Parameters:
        ///   - descriptor: Becomes non-blocking and closed on exec.
        ///   - label: What diagnostics call the connection; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the connection, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread with one event at a time. Nil to set it later: ``setHandler(_:)``.
        /// - Throws: ``LoopError``; the descriptor stays open then, and is the caller's:
        ///   - `EBADF` if the descriptor is not open.
        ///   - `EPERM` if it is always ready, as a regular file is: the kernel does not watch it. Read or write it
        ///     directly: <doc:TerminalsFilesAndSockets#An-input-that-may-be-a-file>.
        ///   - `EINVAL` for a socket that listens, or has messages instead of a stream.
        ///   - `EMFILE` if it is neither a socket nor a pipe, and the process has no descriptor left for the test.
        public convenience init(
            owning descriptor: Int32, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
            handler: Handler? = nil
        ) throws(LoopError) {
            let stream = try System.makeStream(descriptor)
            self.init(ConnectionState(OwnedDescriptor(descriptor), stream), Place(file, line), label, handler)
        }

        /// Begins to connect to an address, and does not wait for it. ``Event/connected`` reports that it is made.
        /// Bytes that are sent before wait.
        ///
        /// - Parameters:
        ///   - address: The address of a listener.
        ///   - label: What diagnostics call the connection; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the connection, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread with one event at a time. Nil to set it later: ``setHandler(_:)``.
        /// - Throws: ``LoopError``, of what is known at once. What is known later, even of this machine, is the error
        ///   of ``Event/closed(_:)``.
        ///   - `ECONNREFUSED` or `ENOENT` if nothing listens at the path of a Unix socket; `EAGAIN` if too many wait
        ///     there; `ENAMETOOLONG` or `EINVAL` for a path that cannot be one.
        ///   - `ENETUNREACH` and others if there is no way to the host.
        ///   - `EMFILE` if the process has no descriptor left.
        public convenience init(
            connectingTo address: SocketAddress, label: String? = nil, file: StaticString = #fileID,
            line: UInt = #line, handler: Handler? = nil
        ) throws(LoopError) {
            let descriptor = OwnedDescriptor(try System.connect(to: address.ofSystem("connect"), "\(address)"))
            self.init(
                ConnectionState(descriptor, .ofSocket, connectingTo: address), Place(file, line), label, handler)
        }

        /// Makes a connection of a socket that a listener has accepted, without a handler.
        convenience init(accepted descriptor: OwnedDescriptor, _ place: Place) {
            self.init(ConnectionState(descriptor, .ofSocket), place, nil, nil)
        }

        /// Makes a connection of this process's end of a pipe to a child.
        convenience init(
            ofChild descriptor: OwnedDescriptor, _ stream: System.Stream, _ place: Place, _ label: String,
            _ handler: Handler?
        ) {
            self.init(ConnectionState(descriptor, stream), place, label, handler)
        }

        private init(_ state: ConnectionState, _ place: Place, _ label: String?, _ handler: Handler?) {
            self.state = state
            polled = state.descriptor
            descriptor = state.descriptor!.number
            interest = Atomic(state.interest?.rawValue ?? Self.nothing)
            self.handler = handler
            super.init(place, label, isNotifiedOfModes: true)
            if handler == nil { waitForHandler() }
        }

        deinit { ending?.retireTimers() }

        /// Sets what the loop calls, from the next event on. Without a handler the connection receives nothing, and
        /// sends only what the kernel has room for at once. ``Loop/Item`` has the rules.
        ///
        /// - Parameter handler: Called on the loop's thread with one event at a time.
        /// - Returns: Whether the connection is valid, and has the handler.
        @discardableResult
        public func setHandler(_ handler: @escaping Handler) -> Bool { set(handler, .nothing) }

        func set(_ handler: @escaping Handler, _ isolation: Isolation) -> Bool {
            var new: Handler? = handler
            return replaceHandler(isolation) { swap(&self.handler, &new) }
        }

        /// The peer's address; nil if it is no socket's, or the connection is closed. A Unix socket's is mostly without
        /// a name: `.unix("")`.
        public var peerAddress: SocketAddress? {
            let descriptor = stateLock.withLock { state.descriptor }
            return descriptor.flatMap { SocketAddress(System.peerAddress(of: $0.number)) }
        }

        // MARK: Sending

        /// Sends bytes in order, and does not wait for it: what the kernel has no room for waits in memory. From any
        /// thread, even before the connection is in a loop. The bytes of one call stay together.
        ///
        /// - Returns: Whether the bytes were accepted. False if the connection is invalid, has failed, or only
        ///   receives; and after ``finishSending()`` and ``end()``. Bytes that were accepted may still be lost, if the
        ///   connection fails.
        @discardableResult
        public func send(_ bytes: [UInt8]) -> Bool { isValid && change { $0.send(bytes) } }

        /// Sends the bytes of a text in UTF-8, as ``send(_:)-([UInt8])`` does.
        @discardableResult
        public func send(_ text: String) -> Bool { send(Array(text.utf8)) }

        /// How many bytes wait in memory to be sent. From any thread.
        public var pendingByteCount: Int { stateLock.withLock { state.pendingCount } }

        /// How many bytes were accepted and then dropped, since the connection failed, was invalidated, or came to the
        /// end of its period. It tells a peer that has everything, and only does not finish, from one that does not
        /// read. From any thread, even once the connection is closed. What the kernel has taken over is not counted.
        public var droppedByteCount: Int { stateLock.withLock { state.droppedCount } }

        /// How many bytes have arrived and were not received: they wait in the kernel. From any thread. Zero once the
        /// connection is closed, and where the kernel does not count them.
        public var unreadByteCount: Int { stateLock.withLock { state.unreadCount } }

        /// How many bytes of the peer's no handler got because of the end: what ``end()`` drops, and what was unread
        /// when the period of ``end(within:readingFirst:)``, or the ``idleLimit``, was over. After the period of
        /// ``finishSending(within:)`` that is what has come since, and what a paused connection has not received. With
        /// them counts the beginning of their line, if a handler of lines has not got it: ``setLineHandler(_:_:)``.
        /// From any thread, even once the connection is closed. What comes after that is not counted.
        public var ignoredByteCount: Int { stateLock.withLock { state.ignoredCount } }

        /// A handler has got bytes, and drops them because of the end.
        func ignore(_ count: Int) { stateLock.withLock { state.ignore(count) } }

        /// Tells the peer that nothing more comes, after what waits was sent. Receiving goes on. From any thread. A
        /// second call does nothing.
        ///
        /// Of a pipe's writing end, or another descriptor that is no socket, only closing tells it. The connection is
        /// closed once the pipe has room again; ``Loop/Connection/end(within:readingFirst:)`` does not wait for that.
        public func finishSending() { change { $0.finishSending(dropping: false) } }

        /// Ends the connection in order: sends what waits, tells the peer that nothing more comes, and drops what comes
        /// from it, even what has arrived and was not read yet: to get that, call ``end(within:readingFirst:)``. When
        /// the peer has finished too, ``Event/closed(_:)`` is reported. From any thread. A second call does nothing.
        ///
        /// Closing a TCP socket at once would lose what the peer has not received. A peer that neither reads nor
        /// closes keeps the connection: ``end(within:readingFirst:)`` does not wait for it for ever. It takes a
        /// handler, even an empty one, and a loop: without them nothing is sent later, and the connection stays open.
        public func end() { change { $0.finishSending(dropping: true) } }

        /// Ends the connection as `end()` does, once what has arrived by now was received.
        func endAfterReading() { change { $0.finishAfterReading() } }

        /// The period of `end(within:)` is over: drops what waits. Returns the error with which the connection is over,
        /// or nil in an optional; nil if it is closed.
        func expire() -> LoopError?? { stateLock.withLock { state.expire() } }

        /// The same, if the peer is idle.
        func expireIfIdle(for limit: Duration) -> ConnectionState.Idleness {
            stateLock.withLock { state.expireIfIdle(for: limit) }
        }

        /// Whether both sides have finished.
        var isFinished: Bool { stateLock.withLock { state.isFinished } }

        // MARK: Receiving

        /// Whether the connection receives; initially true. While it is false, bytes wait in the kernel, and their
        /// sender is slowed down by it. Neither the peer's end nor a failure is noticed then, unless bytes wait to be
        /// sent. From any thread.
        public var isReceiving: Bool {
            get { stateLock.withLock { state.isReceiving } }
            set { change { $0.isReceiving = newValue } }
        }

        // MARK: Source1

        /// Changes the state, and then what the modes watch.
        @inline(__always)
        @discardableResult
        private func change<Result>(_ body: (inout ConnectionState) -> Result) -> Result {
            stateLock.lock()
            let result = body(&state)
            let new = state.interest?.rawValue ?? Self.nothing
            let old = interest.load(ordering: .relaxed)
            if new != old { interest.store(new, ordering: .relaxed) }
            stateLock.unlock()
            if new != old {
                watchesChanged(areWatched: old != Self.nothing)
                restartIdleTimer()
            }
            return result
        }

        private var watchedEvents: PollEvents? {
            let events = interest.load(ordering: .relaxed)
            return events == Self.nothing ? nil : PollEvents(rawValue: events)
        }

        var watches: [Watch] {
            @inline(__always) get { [Watch(descriptor: descriptor, events: watchedEvents, mayBeMissing: true)] }
        }

        /// As that of a `FileDescriptorSource` which owns its descriptor.
        func workBehind(_ report: Report) -> PollEvents? {
            guard let wanted = watchedEvents else { return nil }
            var found = report.events
            if report.age != .fresh { found = itemLock.withLock { eventsWhileLocked(behind: report, wanted) } }
            found.formIntersection(wanted.union([.error, .hangUp]))
            return found.isEmpty ? nil : found
        }

        /// Asks with the lock held: another thread may close the descriptor.
        private func eventsWhileLocked(behind report: Report, _ wanted: PollEvents) -> PollEvents {
            itemLock.assertHeld()
            if !report.events.contains(.write), calls.areOver(before: report) { return report.events }
            // What the kernel does not answer is reported again.
            return polled.flatMap { System.openReadiness(of: $0.number, for: wanted) } ?? []
        }

        /// Calls the handler with one event, and with the last one if that follows.
        func perform(_ report: Report, in mode: ModeState) -> Int {
            guard let events = report.age == .fresh ? report.events : workBehind(report) else { return 0 }
            changeCalls { $0.begin(in: mode) }
            // The handler may run the loop, or set another limit.
            defer { changeCalls { $0.end(in: mode, stays: isInWhileLocked(mode)) } }
            var count = 0
            var (hasRead, hasReadAll) = (false, false)
            if !events.isDisjoint(with: [.write, .error, .hangUp]), let event = change({ $0.serveSending() }) {
                count = call(event)
            } else if let event = receive(ifReadable: events != .write, &hasRead, &hasReadAll) {
                count = call(event)
            }
            // If the handler has moved the connection, another thread may have it now, and reports its end.
            let error = change { $0.settle(hasRead: hasRead, hasReadAll: hasReadAll) }
            if let error, isIn(mode) { count |= close(error) }
            return count
        }

        /// The period of `finishSending(within:)` is over: calls the handler with what has arrived by now.
        ///
        /// In one go, and not in passes: the timer of the period, which calls this, may be in other modes.
        ///
        /// - Parameter isHere: Whether the connection is still in the loop of the timer.
        func receiveLast(while isHere: () -> Bool) {
            guard isHere(), itemLock.withLock({ handler != nil }) else { return }
            requireActor(on: .current)
            if let event = change({ $0.serveConnecting() }) { _ = call(event) }
            stateLock.withLock { state.beginLastReads() }
            var (hasRead, hasReadAll) = (true, false)
            while isHere(), hasRead, !hasReadAll, stateLock.withLock({ state.hasLastReads }) {
                // A handler may have set another one.
                requireActor(on: .current)
                hasRead = false
                if let event = receive(ifReadable: true, &hasRead, &hasReadAll) { _ = call(event) }
                if hasRead { _ = change { $0.settle(hasRead: true, hasReadAll: hasReadAll) } }
            }
        }

        /// Notes that a call begins or ends. The peer's time begins anew.
        private func changeCalls(_ body: (inout ReadingCalls) -> Void) {
            let idleTimer = itemLock.withLock {
                body(&calls)
                return ending?.idleTimer
            }
            idleTimer?.restart()
        }

        /// Reads once, and returns what there is to report.
        ///
        /// - Parameters:
        ///   - hasRead: Set to true if a read was begun.
        ///   - hasReadAll: Set to true if nothing is left to read.
        private func receive(ifReadable isReadable: Bool, _ hasRead: inout Bool, _ hasReadAll: inout Bool) -> Event? {
            let descriptor = stateLock.withLock { state.beginReading(ifReadable: isReadable) }
            guard let descriptor else { return nil }
            hasRead = true
            return withUnsafeTemporaryAllocation(byteCount: Self.readSize, alignment: 16) { buffer in
                switch System.receive(descriptor.number, into: buffer) {
                case .count(let count):
                    hasReadAll = count == 0
                    guard change({ $0.serveReceiving(count) }) else { return nil }
                    return count == 0 ? .peerFinished : .received(Array(buffer[..<count]))
                case .nothing: hasReadAll = true
                case .failed(let error):
                    hasReadAll = true
                    change { $0.failReceiving(error) }
                }
                return nil
            }
        }

        private func call(_ event: Event) -> Int {
            guard let handler = itemLock.withLock({ handler }) else { return 0 }
            handler(self, event)
            return 1
        }

        /// Calls the handler with the last event, and returns whether there is one: 1 or 0.
        func close(_ error: LoopError?) -> Int {
            // In one step: a handler that is set later finds the connection invalid.
            var last: Handler?
            var stays: EndingStays?
            let isTaken = invalidate {
                last = self.handler.take()
                if last != nil, let ending { stays = ending.takeStays() }
                return last != nil
            }
            guard isTaken, let last else { return 0 }
            // The timer of a period has no actor.
            requireActor(on: .current)
            if let stays {
                ThreadLoops.current.run(stays) { last(self, .closed(error)) }
                stays.end()
            } else {
                last(self, .closed(error))
            }
            return 1
        }

        // MARK: Item

        override var actsWithoutHandler: Bool { true }
        override var kind: String { "connection \(descriptor)" }

        override var status: ItemStatus {
            let (receives, isConnecting, count) = stateLock.withLock {
                (state.isReceiving && !state.hasPeerFinished, state.isConnecting, state.pendingCount)
            }
            let words = isConnecting ? "connects" : receives ? "receives" : "receives nothing"
            return .waits(words + (count == 0 ? "" : ", \(count) bytes to send"))
        }

        override var sourceSlot: Int {
            get { slot }
            set { slot = newValue }
        }

        override func insert(into mode: ModeState) { mode.insert(self) }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func loopHasEnded() { leaveSets() }

        override func hasGotHandler() {
            beginBeingWatched()
            restartIdleTimer()
        }

        override func didJoin(_ mode: Mode, of loop: Loop) {
            guard let timer = itemLock.withLock({ ending?.idleTimer }) else { return }
            timer.restart()
            takeAlong(timer, to: currentModes)
        }

        override func didLeave(_ mode: Mode, of loop: Loop) {
            guard let timer = itemLock.withLock({ ending?.idleTimer }) else { return }
            leaveBehind(timer, in: mode, of: loop)
        }

        override func releaseHandlers() {
            let (handler, ending, number) = itemLock.withLock {
                (self.handler.take(), self.ending.take(), polled.take())
            }
            let released = stateLock.withLock { state.close() }
            withExtendedLifetime((handler, number, released)) {}
            ending?.end()
        }
    }
}
