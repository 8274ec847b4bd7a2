extension Loop {
    /// A version-1 source: a queue of messages of one type, which any number of threads send and one loop handles.
    ///
    /// Use it to hand values to a thread: unlike a posted block a message needs no closure, and unlike a `PortSource`
    /// it says what happened.
    ///
    /// ```swift
    /// let worker = try LoopThread(name: "worker")
    /// let port = Loop.MessagePort<String> { line in print(line) }
    /// worker.loop.add(port, in: .common)
    /// port.send("hello")
    /// ```
    ///
    /// **Order.** The messages of each sender are handled in the order in which they were sent, one call of the handler
    /// for each; also when a handler runs the loop nested, which goes on with the next message.
    ///
    /// **How many at once.** A pass handles as many messages as there are when it comes to the port, but at most
    /// `messagesPerPass`; then other inputs have their turn. What the handler itself sends comes behind them: it waits
    /// for another pass, unless a run nested in a handler has taken some of them.
    ///
    /// **Nothing is lost.** A message is in the queue until the moment in which its handler is called. When the handler
    /// stops the loop, or takes the port out of the mode, the rest waits until a loop runs with the port in its mode:
    /// the same one or another. Messages sent while the port is in no loop wait too. Invalidating the port drops what
    /// waits.
    ///
    /// **A consumer that cannot keep up** disarms the port: what is sent waits, `waitingCount` tells senders how much,
    /// and the loop goes on with other things. A one-shot port disarms itself before each message.
    ///
    /// **Senders that are too fast** are held up by a `capacity`: no more messages wait than that. On a full port
    /// `send(_:)` and `trySend(_:)` refuse, and `send(whenRoom:)` suspends its task until there is room; no call keeps
    /// a thread waiting. Without a capacity, as by default, no send is refused for lack of room, and what waits grows
    /// for as long as messages come faster than they are handled, until memory ends and with it the process: have no
    /// capacity only where something else bounds the senders. A message that waits takes its own size and what it
    /// refers to; the queue doubles when it grows, so it may be twice as large as what it holds, and is given back when
    /// it has been emptied.
    ///
    /// **Threads.** A port can be in several modes, but only in one loop at a time. Everything may be called from any
    /// thread, but not from a Unix signal handler: see `PortSource`. To move a port without two threads ever handling
    /// messages at the same time, take it out on the thread of the loop it is in. Having it in its mode keeps a loop
    /// alive.
    ///
    /// **Cost.** It has no descriptor: whoever sends to a loop that sleeps wakes it as `perform` does, with one write
    /// to the loop's own eventfd. Sending to a loop that is awake makes no system call.
    ///
    /// CF: `CFMessagePort`, without the encoding.
    public final class MessagePort<Message: Sendable>: Item, Source1, @unchecked Sendable {
        /// How many messages one pass handles at most: 64.
        public static var messagesPerPass: Int { 64 }

        /// How many messages wait at most; nil for as many as memory holds.
        public let capacity: Int?

        /// Whether each message disarms the port, before the handler is called: it handles one for each `rearm()`.
        public let isOneShot: Bool

        // Guarded by the item's lock.

        private var queue = FirstInFirstOut<Message>()

        /// Those who wait for room: none unless the queue is full, so no other sender can overtake them.
        private var senders = WaitingSenders<Message>()

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
        ///   - capacity: How many messages may wait, at least 1: less counts as 1. Nil for no bound.
        ///   - isOneShot: Whether to handle one message only, until `rearm()`.
        ///   - handler: Called on the loop's thread, once for each message.
        public init(
            capacity: Int? = nil, isOneShot: Bool = false, handler: @escaping @Sendable (_ message: Message) -> Void
        ) {
            self.capacity = capacity.map { max(1, $0) }
            self.isOneShot = isOneShot
            self.handler = handler
        }

        // MARK: Sending. The public calls are in MessagePortSending.swift.

        enum Outcome {
            case accepted, full, closed
            /// It stands in the line of those who wait for room.
            case waits(WaitingSender<Message>)
        }

        /// Puts a message into the queue if there is room. If there is none and `waiting`, it lines up, here and now.
        func offer(_ message: Message, waiting: Bool) -> Outcome {
            let (outcome, modes) = itemLock.withLock { () -> (Outcome, [ModeState]) in
                guard handler != nil, isValid, !hasLostItsLoop else { return (.closed, []) }
                if let capacity, queue.count >= capacity {
                    guard waiting else { return (.full, []) }
                    let sender = WaitingSender(message)
                    senders.append(sender)
                    return (.waits(sender), [])
                }
                let becomesReady = queue.isEmpty && armed
                queue.append(message)
                return (.accepted, becomesReady ? becomeReady() : [])
            }
            for mode in modes { mode.announceMessages() }
            return outcome
        }

        /// Takes back a message that still waits for room: the sender's task has been cancelled.
        func withdraw(_ sender: WaitingSender<Message>) {
            let message = itemLock.withLock { senders.withdraw(sender) }
            // Released here, and not with the lock held: its deinit may call us.
            if message != nil { sender.answer.fulfil(.failure(CancellationError())) }
        }

        /// Moves messages that wait for room into the queue. The lock is held; the answers are to be given without it.
        private func admitSenders() -> [WaitingSender<Message>] {
            var admitted: [WaitingSender<Message>] = []
            while !senders.isEmpty, queue.count < capacity ?? .max, let (sender, message) = senders.takeFirst() {
                queue.append(message)
                admitted.append(sender)
            }
            return admitted
        }

        /// Nothing makes room any more for those who wait for it.
        private func refuseSenders() {
            let refused = itemLock.withLock { () -> [(sender: WaitingSender<Message>, message: Message)] in
                var refused: [(sender: WaitingSender<Message>, message: Message)] = []
                while let next = senders.takeFirst() { refused.append(next) }
                return refused
            }
            for (sender, _) in refused { sender.answer.fulfil(.failure(Loop.PortClosed())) }
        }

        deinit { refuseSenders() }

        /// How many messages wait. From any thread.
        public var waitingCount: Int { itemLock.withLock { queue.count } }

        /// Takes out what waits, in order, without calling the handler: for what a port is left with when its loop has
        /// ended. From any thread. Empty when nothing waits, and for an invalid port.
        ///
        /// Calls of `send(whenRoom:)` that wait are not asked: their messages move into the queue now that there is
        /// room.
        public func takeWaiting() -> [Message] {
            let (taken, admitted, modes) = itemLock.withLock {
                () -> ([Message], [WaitingSender<Message>], [ModeState]) in
                var taken: [Message] = []
                while let message = queue.takeFirst() { taken.append(message) }
                let admitted = admitSenders()
                return (taken, admitted, isReadyWhileLocked ? becomeReady() : [])
            }
            for sender in admitted { sender.answer.fulfil(.success(())) }
            for mode in modes { mode.announceMessages() }
            return taken
        }

        /// How many calls of `send(whenRoom:)` wait.
        var waitingSenderCount: Int { itemLock.withLock { senders.count } }

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

        /// Keeps the messages in the queue until `rearm()`, those of a pass that is handling some too. Having the port
        /// in its mode keeps a loop alive all the same.
        public func disarm() { itemLock.withLock { armed = false } }

        private var isReadyWhileLocked: Bool { armed && !queue.isEmpty && isValid }

        /// The port has become ready: whom to tell, once the lock is open. Who adds it to a mode from now on sees for
        /// itself.
        private func becomeReady() -> [ModeState] {
            turn = Turn.next()
            return modesWhileLocked
        }

        // MARK: Source1

        var watches: [Watch] { [] }

        var readyTurn: UInt64? { itemLock.withLock { isReadyWhileLocked ? turn : 0 } }

        var summary: String {
            let (count, suspended, isArmed) = itemLock.withLock { (queue.count, senders.count, armed) }
            return "message port of \(Message.self): \(count) waiting" + (capacity.map { " of \($0)" } ?? "")
                + (suspended == 0 ? "" : ", \(suspended) senders suspended") + (isOneShot ? ", one-shot" : "")
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
                for sender in next.admitted { sender.answer.fulfil(.success(())) }
                // A run looks at ports again before it sleeps. But the handler may run a host, which has to hear of the
                // rest.
                if next.leavesOthers { mode.announceMessages() }
                next.handler(next.message)
            }
            return count > 0
        }

        private struct Next {
            let handler: @Sendable (Message) -> Void
            let message: Message
            /// Whose messages have come into the queue for it.
            let admitted: [WaitingSender<Message>]
            let leavesOthers: Bool
        }

        /// Nil when nothing waits any more, the port has been disarmed, or it has left the mode meanwhile: the rest is
        /// for another.
        private func takeFirst(in mode: ModeState) -> Next? {
            itemLock.withLock {
                guard armed, let handler, modesWhileLocked.contains(where: { $0 === mode }) else { return nil }
                guard let message = queue.takeFirst() else { return nil }
                if isOneShot { armed = false }
                let admitted = admitSenders()
                return Next(
                    handler: handler, message: message, admitted: admitted, leavesOthers: isReadyWhileLocked)
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
        override func loopHasEnded() {
            let isLost = itemLock.withLock {
                hasLostItsLoop = modesWhileLocked.isEmpty
                return hasLostItsLoop
            }
            if isLost { refuseSenders() }
        }
        override func releaseHandlers() {
            refuseSenders()
            letGo {
                defer { queue = FirstInFirstOut() }
                return (handler.take(), queue)
            }
        }
    }
}
