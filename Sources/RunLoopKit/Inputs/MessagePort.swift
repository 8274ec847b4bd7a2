extension Loop {
    /// A version-1 source: a queue of messages of one type, which any number of threads send and one loop handles.
    ///
    /// Use it to hand values to a thread: unlike a posted block a message needs no closure, and unlike a `PortSource` it
    /// says what happened.
    ///
    /// ```swift
    /// let worker = try LoopThread(name: "worker")
    /// let port = try Loop.MessagePort<String> { line in print(line) }
    /// worker.loop.add(port, in: .common)
    /// port.send("hello")
    /// ```
    ///
    /// **Order.** The messages of each sender are handled in the order in which they were sent, one call of the handler for
    /// each; also when a handler runs the loop nested, which goes on with the next message.
    ///
    /// **How many at once.** A pass handles the messages that are there when it comes to the port, but at most
    /// `messagesPerPass`; then other inputs have their turn. What the handler itself sends waits for another pass.
    ///
    /// **Nothing is lost.** A message is in the queue until the moment in which its handler is called. When the handler
    /// stops the loop, or takes the port out of the mode, the rest waits until a loop runs with the port in its mode: the
    /// same one or another. Messages sent while the port is in no loop wait too. Invalidating the port drops what waits.
    ///
    /// **Threads.** A port can be in several modes, but only in one loop at a time. Everything may be called from any
    /// thread, but not from a Unix signal handler: see `PortSource`. To move a port without two threads ever handling
    /// messages at the same time, take it out on the thread of the loop it is in. Having it in its mode keeps a loop
    /// alive. It has one descriptor until it is deallocated.
    ///
    /// CF: `CFMessagePort`, without the encoding.
    public final class MessagePort<Message: Sendable>: Item, PortBacked, @unchecked Sendable {
        /// How many messages one pass handles at most: 64.
        public static var messagesPerPass: Int { 64 }

        /// Written once each time that the queue leaves empty, and never read: as with a `PortSource`, it only makes edges.
        /// So there is an edge on its way to every mode, or a ready entry in it, whenever the queue is not empty.
        private let eventFD: EventFD

        // Guarded by the item's lock.

        private var queue = FirstInFirstOut<Message>()

        /// When the queue last left empty.
        private var turn: UInt64 = 0

        /// Nil once the port is invalid.
        private var handler: (@Sendable (Message) -> Void)?

        /// Whether the loop that the port was in has ended, and no other has got it since.
        private var hasLostItsLoop = false

        /// Makes a port.
        ///
        /// - Parameter handler: Called on the loop's thread, once for each message.
        /// - Throws: `LoopError` from `eventfd`, when the process has no descriptor left.
        public init(handler: @escaping @Sendable (_ message: Message) -> Void) throws(LoopError) {
            self.handler = handler
            self.eventFD = try EventFD()
        }

        /// Puts a message into the queue, and wakes the loop if it sleeps.
        ///
        /// It costs a system call only if the queue was empty: otherwise the loop is on its way to it.
        ///
        /// - Returns: Whether the message was accepted. False when the port is invalid, or the loop that it was in has
        ///   ended and it has not been added to another one: nobody would handle it. Messages that were accepted before
        ///   their loop ended wait in the port for another loop.
        @discardableResult
        public func send(_ message: Message) -> Bool {
            let (isAccepted, wasEmpty) = itemLock.withLock { () -> (Bool, Bool) in
                guard handler != nil, isValid, !hasLostItsLoop else { return (false, false) }
                let wasEmpty = queue.isEmpty
                if wasEmpty { turn = Turn.next() }
                queue.append(message)
                return (true, wasEmpty)
            }
            if wasEmpty { eventFD.signal() }
            return isAccepted
        }

        /// How many messages wait. From any thread.
        public var waitingCount: Int { itemLock.withLock { queue.count } }

        // MARK: PortBacked

        var watches: [Watch] { [Watch(descriptor: eventFD.descriptor, events: [.read, .edge])] }

        var readyTurn: UInt64 { itemLock.withLock { queue.isEmpty ? 0 : turn } }

        var summary: String { "message port of \(Message.self): \(waitingCount) waiting" }

        func workBehind(_ events: PollEvents, isFresh: Bool) -> PollEvents? { waitingCount > 0 ? events : nil }

        func perform(_ events: PollEvents, in mode: ModeState) -> Bool {
            var isEdgeSpent = true
            let count = min(waitingCount, Self.messagesPerPass)
            for index in 0..<count {
                guard index == 0 || !(mode.loop?.isStopped ?? true), let next = takeFirst(in: mode) else {
                    return index > 0
                }
                // The edge that led here is spent. The rest needs one: for a run nested in the handler, for the next pass,
                // or for the next run in whichever mode.
                if next.leavesOthers, isEdgeSpent {
                    eventFD.signal()
                    isEdgeSpent = false
                }
                next.handler(next.message)
            }
            return count > 0
        }

        private typealias Next = (handler: @Sendable (Message) -> Void, message: Message, leavesOthers: Bool)

        /// Nil when nothing waits any more, or the port has left the mode meanwhile: the rest is for another.
        private func takeFirst(in mode: ModeState) -> Next? {
            itemLock.withLock {
                guard let handler, modesWhileLocked.contains(where: { $0 === mode }) else { return nil }
                return queue.takeFirst().map { (handler, $0, !queue.isEmpty) }
            }
        }

        // MARK: Item

        override var canBeInManyLoops: Bool { false }
        override func insert(into mode: ModeState) {
            itemLock.withLock { hasLostItsLoop = false }
            mode.insert(self)
        }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func loopHasEnded() { itemLock.withLock { hasLostItsLoop = modesWhileLocked.isEmpty } }
        override func releaseHandlers() {
            let released = itemLock.withLock {
                defer { (handler, queue) = (nil, FirstInFirstOut()) }
                return (handler, queue)
            }
            withExtendedLifetime(released) {}
        }
    }
}
