extension Loop {
    /// A version-1 source: a queue of messages of one type, which any number of threads send and one loop handles.
    ///
    /// Use it to hand values to a thread: unlike a posted block a message needs no closure, and unlike a `PortSource` it
    /// says what happened.
    ///
    /// ```swift
    /// let worker = try LoopThread(name: "worker")
    /// let port = Loop.MessagePort<String> { line in print(line) }
    /// worker.loop.add(port, in: .common)
    /// port.send("hello")
    /// ```
    ///
    /// **Order.** The messages of each sender are handled in the order in which they were sent, one call of the handler for
    /// each; also when a handler runs the loop nested, which goes on with the next message.
    ///
    /// **How many at once.** A pass handles as many messages as there are when it comes to the port, but at most
    /// `messagesPerPass`; then other inputs have their turn. What the handler itself sends comes behind them: it waits for
    /// another pass, unless a run nested in a handler has taken some of them.
    ///
    /// **Nothing is lost.** A message is in the queue until the moment in which its handler is called. When the handler
    /// stops the loop, or takes the port out of the mode, the rest waits until a loop runs with the port in its mode: the
    /// same one or another. Messages sent while the port is in no loop wait too. Invalidating the port drops what waits.
    ///
    /// **A consumer that cannot keep up** disarms the port: what is sent waits, `waitingCount` tells senders how much, and
    /// the loop goes on with other things. A one-shot port disarms itself before each message.
    ///
    /// **Threads.** A port can be in several modes, but only in one loop at a time. Everything may be called from any
    /// thread, but not from a Unix signal handler: see `PortSource`. To move a port without two threads ever handling
    /// messages at the same time, take it out on the thread of the loop it is in. Having it in its mode keeps a loop
    /// alive.
    ///
    /// **Cost.** It has no descriptor: whoever sends to a loop that sleeps wakes it as `perform` does, with one write to the
    /// loop's own eventfd. Sending to a loop that is awake makes no system call.
    ///
    /// CF: `CFMessagePort`, without the encoding.
    public final class MessagePort<Message: Sendable>: Item, PortBacked, @unchecked Sendable {
        /// How many messages one pass handles at most: 64.
        public static var messagesPerPass: Int { 64 }

        /// Whether each message disarms the port, before the handler is called: it handles one for each `rearm()`.
        public let isOneShot: Bool

        // Guarded by the item's lock.

        private var queue = FirstInFirstOut<Message>()

        private var armed = true

        /// When the port last became ready: when the queue left empty, or the port was rearmed.
        private var turn: UInt64 = 0

        /// Nil once the port is invalid.
        private var handler: (@Sendable (Message) -> Void)?

        /// Whether the loop that the port was in has ended, and no other has got it since.
        private var hasLostItsLoop = false

        /// Makes a port.
        ///
        /// - Parameters:
        ///   - isOneShot: Whether to handle one message only, until `rearm()`.
        ///   - handler: Called on the loop's thread, once for each message.
        public init(isOneShot: Bool = false, handler: @escaping @Sendable (_ message: Message) -> Void) {
            self.isOneShot = isOneShot
            self.handler = handler
        }

        /// Puts a message into the queue, and wakes the loop if it sleeps.
        ///
        /// It costs a system call only if the loop sleeps, the queue was empty and the port is armed: otherwise the loop is
        /// on its way to it, or need not come.
        ///
        /// - Returns: Whether the message was accepted. False when the port is invalid, or the loop that it was in has
        ///   ended and it has not been added to another one: nobody would handle it. Messages that were accepted before
        ///   their loop ended wait in the port for another loop.
        @discardableResult
        public func send(_ message: Message) -> Bool {
            let (isAccepted, modes) = itemLock.withLock { () -> (Bool, [ModeState]) in
                guard handler != nil, isValid, !hasLostItsLoop else { return (false, []) }
                let becomesReady = queue.isEmpty && armed
                queue.append(message)
                return (true, becomesReady ? becomeReady() : [])
            }
            for mode in modes { mode.announceMessages() }
            return isAccepted
        }

        /// How many messages wait. From any thread.
        public var waitingCount: Int { itemLock.withLock { queue.count } }

        /// Takes out what waits, in order, without calling the handler: for what a port is left with when its loop has
        /// ended. From any thread. Empty when nothing waits, and for an invalid port.
        public func takeWaiting() -> [Message] {
            itemLock.withLock {
                var taken: [Message] = []
                while let message = queue.takeFirst() { taken.append(message) }
                return taken
            }
        }

        // MARK: Arming

        /// Whether the port hands messages over. True at first; made false by `disarm()`, and by each message if it is
        /// one-shot.
        public var isArmed: Bool { itemLock.withLock { armed } }

        /// Makes the port hand messages over again. Does nothing if it is armed.
        public func rearm() {
            let modes = itemLock.withLock { () -> [ModeState] in
                guard !armed else { return [] }
                armed = true
                return isReadyWhileLocked ? becomeReady() : []
            }
            for mode in modes { mode.announceMessages() }
        }

        /// Keeps the messages in the queue until `rearm()`, those of a pass that is handling some too. Having the port in
        /// its mode keeps a loop alive all the same.
        public func disarm() { itemLock.withLock { armed = false } }

        private var isReadyWhileLocked: Bool { armed && !queue.isEmpty && isValid }

        /// The port has become ready: whom to tell, once the lock is open. Who adds it to a mode from now on sees for itself.
        private func becomeReady() -> [ModeState] {
            turn = Turn.next()
            return modesWhileLocked
        }

        // MARK: PortBacked

        var watches: [Watch] { [] }

        var readyTurn: UInt64? { itemLock.withLock { isReadyWhileLocked ? turn : 0 } }

        var summary: String {
            let (count, isArmed) = itemLock.withLock { (queue.count, armed) }
            return "message port of \(Message.self): \(count) waiting" + (isOneShot ? ", one-shot" : "")
                + (isArmed ? "" : ", disarmed")
        }

        func workBehind(_ events: PollEvents, isFresh: Bool) -> PollEvents? {
            itemLock.withLock { isReadyWhileLocked } ? events : nil
        }

        func perform(_ events: PollEvents, in mode: ModeState) -> Bool {
            guard let loop = mode.loop else { return false }
            let count = min(waitingCount, Self.messagesPerPass)
            for index in 0..<count {
                guard index == 0 || !loop.isStopped, let next = takeFirst(in: mode) else {
                    return index > 0
                }
                // A run looks at ports again before it sleeps. But the handler may run a host, which has to hear of the rest.
                if next.leavesOthers { mode.announceMessages() }
                next.handler(next.message)
            }
            return count > 0
        }

        private typealias Next = (handler: @Sendable (Message) -> Void, message: Message, leavesOthers: Bool)

        /// Nil when nothing waits any more, the port has been disarmed, or it has left the mode meanwhile: the rest is for
        /// another.
        private func takeFirst(in mode: ModeState) -> Next? {
            itemLock.withLock {
                guard armed, let handler, modesWhileLocked.contains(where: { $0 === mode }) else { return nil }
                guard let message = queue.takeFirst() else { return nil }
                if isOneShot { armed = false }
                return (handler, message, isReadyWhileLocked)
            }
        }

        // MARK: Item

        override var canBeInManyLoops: Bool { false }
        override func insert(into mode: ModeState) {
            mode.insert(self)
            let isReady = itemLock.withLock {
                hasLostItsLoop = false
                return isReadyWhileLocked
            }
            if isReady { mode.announceMessages() }
        }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func loopHasEnded() { itemLock.withLock { hasLostItsLoop = modesWhileLocked.isEmpty } }
        override func releaseHandlers() {
            letGo {
                defer { queue = FirstInFirstOut() }
                return (handler.take(), queue)
            }
        }
    }
}
