/// What a connection has received and sent, and what it waits for. Guarded by the connection's lock, with which its
/// system calls are made, except for reading.
///
/// | direction | open | then | ended |
/// |---|---|---|---|
/// | receiving | `hasPeerFinished` is false | a read of 0 bytes | `hasPeerFinished` is true |
/// | sending | `finish` is `none` | `asked`, while bytes wait | `done`: the peer was told |
///
/// The connection is over when both have ended, or when a system call has failed.
struct ConnectionState {
    enum Finish { case none, asked, done }

    /// Nil once the connection is closed.
    private(set) var descriptor: OwnedDescriptor?
    private let stream: System.Stream
    private var queue = SendQueue()

    /// What is connected to, until it is.
    private var target: Loop.SocketAddress?

    /// Whether the program wants bytes.
    var isReceiving = true
    private(set) var hasPeerFinished: Bool
    private var finish: Finish

    /// Whether bytes that arrive are dropped.
    private var isEnding = false

    /// What an end that reads first waits for.
    private enum EndAfterReading {
        /// No such end is under way.
        case none
        /// The reads that are under way, and then what is left.
        case reads
        /// So many bytes.
        case bytes(Int)
        /// Bytes that the kernel does not count: all until there is nothing to read.
        case uncounted
    }

    private var endAfterReading = EndAfterReading.none

    /// What is read once the period is over.
    private enum LastReads {
        /// The period is not over, or nothing is read.
        case none
        /// All: nothing more can come.
        case all
        /// At least so many bytes.
        case bytes(Int)
    }

    private var lastReads = LastReads.none

    /// Whether the connection lets the peer send nothing more: the end that is read is not the peer's own.
    private var hasStoppedPeer = false

    /// The reads whose bytes are not reported yet, or whose handler has not returned.
    private var readsUnderWay = 0

    /// How many bytes were accepted, and never handed to the kernel.
    private(set) var droppedCount = 0

    /// How many bytes of the peer's no handler got, because of the end.
    private(set) var ignoredCount = 0

    /// Why nothing can be sent any more.
    private var failure: LoopError?

    init(_ descriptor: OwnedDescriptor, _ stream: System.Stream, connectingTo target: Loop.SocketAddress? = nil) {
        self.descriptor = descriptor
        self.stream = stream
        self.target = target
        hasPeerFinished = !stream.canReceive
        finish = stream.canSend ? .none : .done
    }

    var pendingCount: Int { queue.count }

    /// How many bytes wait in the kernel to be received.
    var unreadCount: Int {
        guard let descriptor, !hasPeerFinished else { return 0 }
        return max(0, Int(System.unreadBytes(in: descriptor.number)))
    }

    var isConnecting: Bool { target != nil }
    var reads: Bool { !isConnecting && !hasPeerFinished && (isReceiving || isEnding || readsBeforeEnd) }

    private var readsBeforeEnd: Bool { if case .none = endAfterReading { false } else { true } }

    /// Whether to read although nothing has arrived: to know that everything was read before a failure is reported.
    var readsRest: Bool { failure != nil && reads }

    var isFinished: Bool { hasPeerFinished && finish == .done }

    /// What has arrived was reported. Returns the error with which the connection is over, or nil in an optional; nil
    /// if it is not over.
    ///
    /// - Parameters:
    ///   - hasRead: Whether that was read after `beginReading`.
    ///   - hasReadAll: Whether what the peer has sent before a failure was read. While receiving pauses, it is not
    ///     waited for.
    mutating func settle(hasRead: Bool, hasReadAll: Bool) -> LoopError?? {
        if hasRead { readsUnderWay -= 1 }
        if readsUnderWay == 0 {
            switch endAfterReading {
            case .none: break
            case .reads: beginReadingBeforeEnd()
            case .bytes(let rest): if rest == 0 || hasReadAll || hasPeerFinished { finishSending(dropping: true) }
            case .uncounted: if hasReadAll || hasPeerFinished || hasNothingToRead { finishSending(dropping: true) }
            }
        }
        if let failure { return reads && !hasReadAll ? nil : .some(failure) }
        return isFinished ? .some(nil) : nil
    }

    /// What to wait for; nil to hear nothing, not even hang-ups, which would be reported again and again. A descriptor
    /// that is over is writable, or hung up.
    var interest: PollEvents? {
        guard descriptor != nil else { return nil }
        var events: PollEvents = reads ? .read : []
        if isConnecting || !queue.isEmpty || failure != nil || isFinished { events.insert(.write) }
        if !events.isEmpty { return events }
        // The writing end of a pipe reports that no process reads any more.
        return stream.canReceive ? nil : []
    }

    // MARK: Sending

    /// Sends bytes, or adds them to those that wait. Returns false if they cannot be sent.
    mutating func send(_ bytes: [UInt8]) -> Bool {
        guard let descriptor, finish == .none, failure == nil else { return false }
        var start = 0
        if queue.isEmpty, !isConnecting, !bytes.isEmpty {
            switch bytes.withUnsafeBytes({ transfer($0, by: descriptor) }) {
            case .count(let count): start = count
            case .nothing: break
            case .failed(let error):
                failure = error
                return false
            }
        }
        if start < bytes.count { queue.append(bytes, from: start) }
        return true
    }

    private func transfer(_ bytes: UnsafeRawBufferPointer, by descriptor: OwnedDescriptor) -> System.Transfer {
        System.send(bytes, to: descriptor.number, isSocket: stream.isSocket)
    }

    /// The descriptor is writable, or in error. Returns what there is to report.
    mutating func serveSending() -> Loop.Connection.Event? {
        guard let descriptor else { return nil }
        if let target {
            self.target = nil
            let code = System.takeError(of: descriptor.number)
            guard code == 0 else {
                fail(LoopError(call: "connect(\(target))", code: code))
                return nil
            }
            finishIfEmpty()
            return .connected
        }
        if queue.isEmpty {
            // Reported only without anything to send: no process reads from the pipe.
            if !stream.canReceive, finish == .none { fail(System.brokenPipe(descriptor.number)) }
            return nil
        }
        switch queue.withBytes({ transfer($0, by: descriptor) }) {
        case .count(let count):
            queue.removeFirst(count)
            guard queue.isEmpty else { return nil }
            finishIfEmpty()
            return .drained
        case .nothing: return nil
        case .failed(let error):
            fail(error)
            return nil
        }
    }

    /// The connection may be made, although the loop has not come around to that yet.
    mutating func serveConnecting() -> Loop.Connection.Event? {
        guard isConnecting, let descriptor else { return nil }
        return System.openReadiness(of: descriptor.number, for: .write)?.isEmpty == false ? serveSending() : nil
    }

    /// The period of `finishSending(within:)` is over: from now on, only what has arrived is received. A Unix socket
    /// accepts no more, so that nothing that it has accepted is lost.
    mutating func beginLastReads() {
        guard let descriptor, reads, !isEnding, !readsBeforeEnd else { return }
        if System.hasPeerFinished(descriptor.number) {
            // Another process may open a named pipe again. The last read finds the end.
            lastReads = stream.isSocket ? .all : .bytes(max(0, Int(System.unreadBytes(in: descriptor.number))) + 1)
        } else if stream.isSocket, System.stopPeer(of: descriptor.number) {
            (hasStoppedPeer, lastReads) = (true, .all)
        } else {
            // One read of what the kernel does not count, which may never end.
            lastReads = .bytes(System.arrivedBytes(in: descriptor.number) ?? 1)
        }
    }

    /// Whether something may be left to read of what had arrived by the end of the period.
    var hasLastReads: Bool {
        guard reads, !isEnding else { return false }
        return switch lastReads {
        case .none: false
        case .all: true
        case .bytes(let rest): rest > 0
        }
    }

    /// Fails, since the time for an orderly end is over, unless both sides have finished. Returns what `end()` does, or
    /// nil if the connection is closed.
    mutating func expire() -> LoopError?? {
        guard descriptor != nil else { return nil }
        if isFinished { return .some(failure) }
        ignoredCount += unreadCount
        var missing =
            if isConnecting {
                "it was not connected"
            } else if !queue.isEmpty {
                "\(queue.count) bytes were dropped"
            } else {
                reads ? "the peer has not finished" : "it did not receive"
            }
        if ignoredCount > 0 { missing += ", and \(ignoredCount) of the peer's were not read" }
        let call = isEnding || readsBeforeEnd ? "end(within:)" : "finishSending(within:)"
        fail(LoopError(ownLimit: call, missing: missing))
        return .some(failure)
    }

    /// What a connection is of which nothing has been transferred for a while.
    enum Idleness {
        /// The peer is idle, and the connection has failed for it.
        case idle(LoopError?)
        /// Something has come while the loop was busy.
        case active
        /// It waits for nothing of the peer's, until its interest changes.
        case paused
    }

    /// Fails if the peer was idle.
    mutating func expireIfIdle(for limit: Duration) -> Idleness {
        guard let descriptor, let interest, !interest.isEmpty else { return .paused }
        // If the kernel does not answer, the peer counts as active.
        guard System.openReadiness(of: descriptor.number, for: interest)?.isEmpty == true else { return .active }
        let missing =
            if isConnecting {
                "it was not connected for \(limit)"
            } else if !queue.isEmpty {
                "the peer has taken nothing for \(limit), and \(queue.count) bytes were dropped"
            } else {
                "the peer has sent nothing for \(limit)"
            }
        ignoredCount += unreadCount
        fail(LoopError(ownLimit: "idleLimit", missing: missing))
        return .idle(failure)
    }

    private mutating func fail(_ error: LoopError) {
        failure = failure ?? error
        droppedCount += queue.count
        queue = SendQueue()
    }

    /// Ends the connection once what has arrived by now was received.
    mutating func finishAfterReading() {
        guard descriptor != nil, !isEnding, !readsBeforeEnd else { return }
        // A read under way may have what has arrived, and its handler may still answer.
        if readsUnderWay > 0 { endAfterReading = .reads } else { beginReadingBeforeEnd() }
    }

    private mutating func beginReadingBeforeEnd() {
        guard let descriptor else { return }
        let rest = isConnecting || hasPeerFinished ? 0 : System.arrivedBytes(in: descriptor.number)
        if rest == 0 { return finishSending(dropping: true) }
        endAfterReading = rest.map { .bytes($0) } ?? .uncounted
    }

    private var hasNothingToRead: Bool { descriptor.map { System.arrivedBytes(in: $0.number) == 0 } ?? true }

    /// - Parameter dropping: Whether to drop what the peer sends from now on.
    mutating func finishSending(dropping: Bool) {
        if dropping { (isEnding, endAfterReading) = (true, .none) }
        guard descriptor != nil, finish == .none else { return }
        finish = .asked
        finishIfEmpty()
    }

    private mutating func finishIfEmpty() {
        guard finish == .asked, queue.isEmpty, !isConnecting, let descriptor else { return }
        finish = .done
        if stream.isSocket { System.finishSending(descriptor.number) }
    }

    // MARK: Receiving

    /// Returns the descriptor to read from, retained, since another thread may close the connection meanwhile; nil if
    /// nothing is to be read. Otherwise `settle` follows.
    mutating func beginReading(ifReadable isReadable: Bool) -> OwnedDescriptor? {
        guard reads, isReadable || readsRest, let descriptor else { return nil }
        readsUnderWay += 1
        return descriptor
    }

    /// A read has given so many bytes; 0 at the end. Returns whether to report it.
    mutating func serveReceiving(_ count: Int) -> Bool {
        if count == 0, hasStoppedPeer {
            _ = expire()
        } else if count == 0 {
            hasPeerFinished = true
        }
        if case .bytes(let rest) = endAfterReading { endAfterReading = .bytes(max(0, rest - count)) }
        if case .bytes(let rest) = lastReads { lastReads = .bytes(max(0, rest - count)) }
        if isEnding { ignoredCount += count }
        return !isEnding && (count > 0 || failure == nil)
    }

    /// Bytes that were read are dropped because of the end.
    mutating func ignore(_ count: Int) { ignoredCount += count }

    /// A read has failed.
    mutating func failReceiving(_ error: LoopError) { fail(error) }

    /// Drops what waits, and the descriptor, which its last user closes. Released without the lock.
    mutating func close() -> (OwnedDescriptor?, SendQueue) {
        droppedCount += queue.count
        defer { (descriptor, queue) = (nil, SendQueue()) }
        return (descriptor, queue)
    }
}
