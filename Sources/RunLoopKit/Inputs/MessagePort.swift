import Synchronization

extension Loop {
    /// A version-1 source: a queue of messages of one type, which any number of threads send and one loop handles. Any
    /// thread may use it, except in a Unix signal handler: see ``Loop/PortSource``. CF: `CFMessagePort`, without the
    /// encoding.
    ///
    /// ```swift
    /// let worker = try LoopThread(name: "worker")
    /// let port = Loop.MessagePort<String> { line in print(line) }
    /// worker.loop.add(port, in: .common)
    /// port.send("hello")
    /// ```
    ///
    /// *From a callback of a C library*, on whatever thread: pass the port as the context.
    ///
    /// ```swift
    /// let context = Unmanaged.passRetained(port).toOpaque()  // release() it when the library forgets the callback
    /// let callback: @convention(c) (UnsafeMutableRawPointer?) -> Void = { @Sendable context in
    ///     let port = Unmanaged<Loop.MessagePort<String>>.fromOpaque(context!).takeUnretainedValue()
    ///     _ = port.trySend("called")
    /// }
    /// ```
    ///
    /// Without its `@Sendable` such a closure may belong to the main actor, and trap:
    /// <doc:SignalsThreadsForkCancellation#A-signal-handler-and-other-callbacks-of-C>.
    ///
    /// **Order.** The loop handles the messages of each sender in the order of the sends, one call for each. A run
    /// nested in the handler continues with the next message.
    ///
    /// **How many at once.** A pass handles the messages that are in the queue when it serves the port, at most
    /// ``Loop/MessagePort/messagesPerPass``. Messages that the handler sends wait for another pass, unless a nested run
    /// has taken some before them.
    ///
    /// **Nothing that was accepted is lost.** A message stays in the queue until its handler is called:
    ///
    /// - If the handler stops the loop, or removes the port, the rest waits until any loop runs with the port in its
    ///   mode. A ``LoopThread/stop()`` does not wait for messages: first call ``Loop/MessagePort/finish()``, and wait
    ///   for the end.
    /// - Messages sent while the port is in no loop wait. Once the port's loop has ended, the port keeps what it has,
    ///   and refuses sends until it is added to another loop.
    /// - Invalidating the port drops the waiting messages.
    /// - ``Loop/MessagePort/finish()`` says that no more messages come: those before it are handled, and then the port
    ///   becomes invalid.
    ///
    /// **A consumer that cannot keep up** disarms the port. Messages then wait, and ``Loop/MessagePort/waitingCount``
    /// shows senders how many. A one-shot port disarms itself before each message.
    ///
    /// **Senders that are too fast** are limited by a `capacity`, the largest number of messages that wait. No call
    /// blocks a thread:
    ///
    /// - On a full port ``Loop/MessagePort/send(_:)`` and ``Loop/MessagePort/trySend(_:)`` refuse.
    /// - ``Loop/MessagePort/send(whenRoom:)`` suspends its task until there is room. While one waits, the other two
    ///   calls are refused: let all senders of a port wait, or none.
    /// - A handler cannot wait. It keeps the value for later, or sends from a task on its thread:
    ///   `Task(executorPreference: thread.loop.taskExecutor) { try await port.send(whenRoom: value) }`.
    /// - Without a capacity, the default, the queue grows until memory runs out. Do without only if something else
    ///   bounds the senders.
    ///
    /// **Modes and loops.** A port can be in several modes of one loop, and keeps runs in them going. To move it
    /// without two threads ever handling messages at the same time, remove it on its loop's thread.
    ///
    /// **Cost.** A port has no descriptor. A send costs one write to the loop's eventfd if the loop sleeps, otherwise
    /// no system call. The queue doubles when it grows. Beyond 64 messages it gives memory back as it empties; a
    /// smaller one keeps it, and then allocates nothing.
    public final class MessagePort<Message: Sendable>: Item, Source1, @unchecked Sendable {
        /// The largest number of messages that one pass handles: 64.
        public static var messagesPerPass: Int { 64 }

        /// The largest number of waiting messages; nil for no limit.
        public let capacity: Int?

        /// Whether each message disarms the port before the handler is called: the port handles one for each
        /// ``Loop/MessagePort/rearm()``.
        public let isOneShot: Bool

        /// Wakes the task that takes the messages; nil if there is none.
        let wakeTask: (@Sendable () -> Void)?

        // Guarded by the item's lock, and therefore without checks of exclusivity.

        @exclusivity(unchecked) var queue = RingQueue<Message>()

        /// The senders that wait for room. None unless the queue is full, so no other sender can overtake them.
        @exclusivity(unchecked) private var senders = WaitingSenders<Message>()

        @exclusivity(unchecked) var armed = true

        /// Whether no more messages come. The end is handled as one more message, behind the last one.
        @exclusivity(unchecked) var isFinished = false

        /// Called at the end. Nil before it is set, and once the port is invalid.
        @exclusivity(unchecked) var endHandler: (@Sendable () -> Void)?

        /// The sequence number of the port's readiness, taken when the queue became non-empty or the port was rearmed.
        @exclusivity(unchecked) private var turn: UInt64 = 0

        /// The last sequence number whose loops have been nudged. Until it is the present one, each sender nudges them:
        /// the first may be stopped before it does. Release and acquire: who finds it comes after the nudge.
        private let announcedTurn = Atomic<UInt64>(0)

        /// The number of the handover that the next callout is caused by; 0 if it is not known. A send to a port in
        /// which other messages wait is not reported: it makes nothing ready.
        @exclusivity(unchecked) private var reportedTurn: UInt64 = 0

        @exclusivity(unchecked) private var arrivalPlaces = ArrivalPlaces()

        /// Guarded by the lock of the loop that the port is in.
        @exclusivity(unchecked) private var slot = -1

        /// Whether a send that was refused for lack of room was reported.
        @exclusivity(unchecked) private var hasReportedRefusal = false

        /// Nil before it is set, and once the port is invalid.
        @exclusivity(unchecked) private var handler: (@Sendable (Message) -> Void)?

        /// Whether the loop that the port was in has ended, and the port has been added to no other since.
        @exclusivity(unchecked) private var hasLostItsLoop = false

        /// Makes a port.
        ///
        /// - Parameters:
        ///   - capacity: The largest number of waiting messages; less than 1 counts as 1. Nil for no limit.
        ///   - isOneShot: Whether to handle one message only, until ``Loop/MessagePort/rearm()``.
        ///   - label: What diagnostics call the port; nil to call it by its kind and the place where it was made.
        ///   - file: The source file that makes the port, for diagnostics.
        ///   - line: The line in that file.
        ///   - handler: Called on the loop's thread, once for each message. Nil to set it later: ``setHandler(_:)``.
        public init(
            capacity: Int? = nil, isOneShot: Bool = false, label: String? = nil, file: StaticString = #fileID,
            line: UInt = #line,
            handler: (@Sendable (_ message: Message) -> Void)? = nil
        ) {
            self.capacity = capacity.map { max(1, $0) }
            self.isOneShot = isOneShot
            self.handler = handler
            wakeTask = nil
            super.init(Place(file, line), label)
            if handler == nil { waitForHandler() }
        }

        /// Sets what the loop calls, from the next message on. Messages without a handler wait in the queue.
        /// ``Loop/Item`` has the rules: a call that runs finishes with the old handler.
        ///
        /// - Parameter handler: Called on the loop's thread, once for each message.
        /// - Returns: Whether the port is valid, and has the handler.
        @discardableResult
        public func setHandler(_ handler: @escaping @Sendable (_ message: Message) -> Void) -> Bool {
            set(handler, .nothing)
        }

        func set(_ handler: @escaping @Sendable (Message) -> Void, _ isolation: Isolation) -> Bool {
            var new: (@Sendable (Message) -> Void)? = handler
            return replaceHandler(isolation) { swap(&self.handler, &new) }
        }

        /// Makes a port whose messages a task takes. It is disarmed until the task waits.
        ///
        /// - Parameters:
        ///   - wakeTask: Called on a sender's thread when the task may take a message for which it waits.
        ///   - handler: Called on the loop's thread with a message for which the task waits.
        init(
            forTaskWithCapacity capacity: Int?, wakeTask: @escaping @Sendable () -> Void,
            handler: @escaping @Sendable (_ message: Message) -> Void
        ) {
            self.capacity = capacity.map { max(1, $0) }
            isOneShot = true
            armed = false
            self.handler = handler
            self.wakeTask = wakeTask
            super.init(Place("messages to a task", 0))
        }

        // MARK: Sending. The public calls are in MessagePortSending.swift.

        enum Outcome {
            case accepted, full, closed
            /// The sender waits for room.
            case waits(WaitingSender<Message>)
        }

        /// Puts a message into the queue if there is room. If there is none and `waiting` is true, the sender waits for
        /// it.
        func offer(_ message: Message, waiting: Bool) -> Outcome {
            // Not `withLock`: a closure that returns a tuple or an optional of a generic type costs look-ups.
            itemLock.lock()
            guard isValid, !hasLostItsLoop, !isFinished else {
                itemLock.unlock()
                return .closed
            }
            if let capacity, queue.count >= capacity {
                defer { itemLock.unlock() }
                return waiting ? standInLine(message) : .full
            }
            let isFirst = queue.isEmpty
            queue.append(message)
            if !armed || handler == nil {
                itemLock.unlock()
            } else if !isFirst {
                announceIfNobodyHas(unlocking: itemLock.held)
            } else if wakeTask != nil || !isInOneModeWhileLocked {
                announceFirstMessage(unlocking: itemLock.held)
            } else {
                announceFirstMessageInOnlyMode(unlocking: itemLock.held)
            }
            return .accepted
        }

        /// The sender that has made the port ready may be stopped before it has nudged.
        @inline(__always)
        private func announceIfNobodyHas(unlocking held: consuming Lock.Held) {
            guard announcedTurn.load(ordering: .acquiring) != turn else { return itemLock.unlock(held) }
            announce(in: modesWhileLocked, unlocking: held)
        }

        @inline(never)
        private func announceFirstMessage(unlocking held: consuming Lock.Held) {
            guard let wakeTask, isServedWhileLocked else { return announce(in: becomeReady(), unlocking: held) }
            // The message stays in the queue until the task takes it: a loop that ends meanwhile finds it there.
            armed = false
            itemLock.unlock(held)
            wakeTask()
        }

        /// Nearly always: without a list of modes, with which a message takes 1,990 instructions instead of 1,570.
        @inline(__always)
        private func announceFirstMessageInOnlyMode(unlocking held: consuming Lock.Held) {
            takeTurn()
            let mustNudge = withFirstModeWhileLocked { mode in
                mode.list(self, &arrivalPlaces)
                return !mode.nudgeIfAwake()
            }
            if mustNudge { return nudgeFirstMode(unlocking: held) }
            // Relaxed, since the lock is held.
            announcedTurn.store(turn, ordering: .relaxed)
            itemLock.unlock(held)
        }

        /// Nudges a loop that may sleep. Not with the lock held: a thread that wakes on the same processor takes it at
        /// once.
        @inline(never)
        private func nudgeFirstMode(unlocking held: consuming Lock.Held) {
            let (mode, turn) = (firstModeWhileLocked, turn)
            itemLock.unlock(held)
            mode?.nudge()
            announcedTurn.store(turn, ordering: .releasing)
        }

        /// Nudges the loops of modes that have listed the port.
        @inline(never)
        func announce(in modes: ModeList, unlocking held: consuming Lock.Held) {
            let turn = turn
            itemLock.unlock(held)
            for mode in modes { mode.waker.nudge() }
            announcedTurn.store(turn, ordering: .releasing)
        }

        /// Reports that the port was full, once.
        @inline(never)
        func reportRefusal() {
            let isFirst = itemLock.withLock { !exchange(&hasReportedRefusal, with: true) }
            guard isFirst, let capacity else { return }
            Mistakes.shared.report(.refusedMessage(port: name, capacity: capacity))
        }

        @inline(never)
        private func standInLine(_ message: Message) -> Outcome {
            let sender = WaitingSender(message)
            senders.append(sender)
            return .waits(sender)
        }

        /// Removes and returns the first message for a task that is about to wait. If there is none, or no loop runs in
        /// a mode of the port, arms the port instead, which wakes the task for the next message or passes it to the
        /// handler.
        func takeFirstOrArm() -> Message? {
            itemLock.lock()
            if isFinished, queue.isEmpty, endHandler == nil, isServedWhileLocked {
                itemLock.unlock()
                let modes = currentModes
                // Another thread may have ended the port, or set a handler of the end, which the loop calls.
                guard takeEnd(in: nil).isTaken else { return isValid ? takeFirstOrArm() : nil }
                // The end has finished the task's buffer.
                modes.wakeIfEmpty()
                return nil
            }
            guard !queue.isEmpty, isServedWhileLocked else {
                armed = true
                let modes = isReadyWhileLocked ? becomeReady() : ModeList()
                itemLock.unlock()
                for mode in modes { mode.waker.nudge() }
                return nil
            }
            let message = queue.removeFirst()
            let admitted = senders.isEmpty ? [] : admitSenders()
            itemLock.unlock()
            for answer in admitted { answer.fulfil(.success(())) }
            return message
        }

        /// Withdraws a message that still waits for room: the sender's task has been cancelled.
        func withdraw(_ sender: WaitingSender<Message>) {
            let message = itemLock.withLock { senders.withdraw(sender) }
            // Released here, without the lock: its deinit may call back.
            if message != nil { sender.answer.fulfil(.failure(CancellationError())) }
        }

        /// Moves messages that wait for room into the queue. The lock is held; the caller answers the senders without
        /// it.
        private func admitSenders() -> [Promise<Void>] {
            var admitted: [Promise<Void>] = []
            while !senders.isEmpty, queue.count < capacity ?? .max, let (sender, message) = senders.takeFirst() {
                queue.append(message)
                admitted.append(sender.answer)
            }
            return admitted
        }

        /// Refuses all senders that wait for room, since there will be none.
        private func refuseSenders() {
            let refused = itemLock.withLock { () -> [(sender: WaitingSender<Message>, message: Message)] in
                var refused: [(sender: WaitingSender<Message>, message: Message)] = []
                while let next = senders.takeFirst() { refused.append(next) }
                return refused
            }
            for (sender, _) in refused { sender.answer.fulfil(.failure(Loop.PortClosed())) }
        }

        deinit { refuseSenders() }

        /// The number of waiting messages. From any thread.
        public var waitingCount: Int { itemLock.withLock { queue.count } }

        /// Removes and returns the waiting messages, in order, without calling the handler. Empty if nothing waits, and
        /// for an invalid port. From any thread.
        ///
        /// It is for what is left in a port after its loop has ended. Messages of waiting
        /// ``Loop/MessagePort/send(whenRoom:)`` calls are not returned: they move into the queue, which now has room.
        public func takeWaiting() -> [Message] {
            let (taken, admitted, modes) = itemLock.withLock {
                var taken: [Message] = []
                while !queue.isEmpty { taken.append(queue.removeFirst()) }
                let admitted = admitSenders()
                return (taken, admitted, isReadyWhileLocked ? becomeReady() : ModeList())
            }
            for answer in admitted { answer.fulfil(.success(())) }
            for mode in modes { mode.waker.nudge() }
            return taken
        }

        /// The number of calls of `send(whenRoom:)` that wait.
        var waitingSenderCount: Int { itemLock.withLock { senders.count } }

        // MARK: Arming

        /// Whether the port handles messages. Initially true; each message of a one-shot port, and
        /// ``Loop/MessagePort/disarm()``, make it false.
        public var isArmed: Bool { itemLock.withLock { armed } }

        /// Makes the port handle messages again. Does nothing if it is armed.
        public func rearm() {
            let held = itemLock.hold()
            let wasArmed = exchange(&armed, with: true)
            guard !wasArmed, isReadyWhileLocked else { return itemLock.unlock(held) }
            announce(in: becomeReady(), unlocking: held)
        }

        /// Keeps messages in the queue until ``Loop/MessagePort/rearm()``, even the rest of those that a pass is
        /// handling. A disarmed port still keeps runs in its modes going.
        public func disarm() { itemLock.withLock { armed = false } }

        /// Empties the queue. The caller releases what it returns without the lock.
        private func takeQueue() -> RingQueue<Message> {
            itemLock.withLock { exchange(&queue, with: RingQueue()) }
        }

        var isReadyWhileLocked: Bool { armed && (!queue.isEmpty || isFinished) && canBeCalled }

        /// Records that the port has become ready. Returns the modes to nudge after unlocking. A mode that the port is
        /// added to later checks for itself.
        ///
        /// While the port is ready, every mode that it is in has listed it, as an arrival or as ready by its present
        /// sequence number, or is serving it.
        func becomeReady() -> ModeList {
            takeTurn()
            for mode in modesWhileLocked { mode.messages.insert(self, &arrivalPlaces) }
            return modesWhileLocked
        }

        /// Takes the sequence number of the readiness that begins.
        private func takeTurn() {
            turn = nextTurnWhileLocked()
            reportedTurn = 0
            if Monitors.areAttached {
                reportedTurn = turn
                let modes = modesWhileLocked
                Monitors.notify(of: Handover(of: self, .source1, turn), toModes: modes.count) { modes[$0].waker }
            }
        }

        func takeCause() -> UInt64 { itemLock.withLock { exchange(&reportedTurn, with: 0) } }

        override func announceMessages(in mode: ModeState) -> Bool {
            itemLock.withLock {
                guard isReadyWhileLocked, isInWhileLocked(mode) else { return false }
                mode.messages.insert(self, &arrivalPlaces)
                return true
            }
        }

        // MARK: Source1

        var watches: [Watch] { [] }
        var isPort: Bool { true }

        var readyTurn: UInt64? { itemLock.withLock { isReadyWhileLocked ? turn : 0 } }

        var knowsTurn: Bool { true }

        func workBehind(_ report: Report) -> PollEvents? {
            itemLock.withLock { isReadyWhileLocked } ? report.events : nil
        }

        /// Handles the first message. The port has none to handle if it has been disarmed, or has left the mode
        /// meanwhile: another loop handles the rest.
        func perform(_ report: Report, in mode: ModeState) -> Int {
            itemLock.lock()
            guard armed, !queue.isEmpty, let handler, isInWhileLocked(mode) else {
                itemLock.unlock()
                return performEnd(in: mode)
            }
            let count = min(queue.count, Self.messagesPerPass)
            let message = queue.removeFirst()
            if isOneShot { armed = false }
            // The senders whose messages move into the queue in its place.
            let admitted = senders.isEmpty ? [] : admitSenders()
            // While the port is listed, the sender that listed it has nudged the loop, or the loop its host.
            let isListedAnew = isReadyWhileLocked && mode.messages.insert(self, &arrivalPlaces)
            itemLock.unlock()
            for answer in admitted { answer.fulfil(.success(())) }
            // A run looks at arrivals before it sleeps. But the handler may run a host, which must be notified.
            if isListedAnew { mode.waker.nudge() }
            handler(message)
            return count
        }

        // MARK: Item

        override var kind: String { "message port of \(Message.self)" }

        override var status: ItemStatus {
            let (count, suspended, isArmed, isOver) = itemLock.withLock {
                (queue.count, senders.count, armed, isFinished)
            }
            let words =
                "\(count) waiting" + (capacity.map { " of \($0)" } ?? "")
                + (suspended == 0 ? "" : ", \(suspended) senders suspended") + (isOneShot ? ", one-shot" : "")
                + (isOver ? ", finished" : "")
            return isArmed ? count == 0 && !isOver ? .waits(words) : .ready(words) : .disarmed(words + ", disarmed")
        }

        /// Remembered: each message that the loop takes needs it, and looking it up took 160 instructions.
        override var sourceSlot: Int {
            get { slot }
            set { slot = newValue }
        }

        override func insert(into mode: ModeState) {
            mode.insert(self)
            itemLock.withLock { hasLostItsLoop = false }
            _ = announceMessages(in: mode)
        }
        override func wakeIfReady(_ waker: Waker) { if itemLock.withLock({ isReadyWhileLocked }) { waker.nudge() } }
        override func remove(from mode: ModeState) { mode.remove(self) }
        override func hasLeftWhileLocked(_ mode: ModeState) { mode.messages.remove(self, &arrivalPlaces) }
        override func hasGotHandler() {
            let held = itemLock.hold()
            guard isReadyWhileLocked else { return itemLock.unlock(held) }
            announce(in: becomeReady(), unlocking: held)
        }
        override func loopHasEnded() {
            let isLost = itemLock.withLock {
                hasLostItsLoop = modesWhileLocked.isEmpty
                return hasLostItsLoop
            }
            if isLost { refuseSenders() }
        }

        override func reportLeftWork() {
            let count = itemLock.withLock { hasLostItsLoop && wakeTask == nil && isReadyWhileLocked ? queue.count : 0 }
            if count > 0 { Mistakes.shared.report(.leftMessages(port: name, count: count)) }
        }

        override func releaseHandlers() {
            refuseSenders()
            releaseUnlocked { (handler.take(), endHandler.take()) }
            _ = takeQueue()
        }
    }
}
