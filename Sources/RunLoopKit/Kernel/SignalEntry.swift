internal import CLinux

/// What the library's signal handler sees of a listener: a pipe into which it writes what arrives.
/// `SignalListening.h` has the handler and its protocol.
struct SignalEntry: @unchecked Sendable {
    /// What arrived, as the kernel reports it.
    typealias Arrival = (process: Int32, user: UInt32, code: Int32, value: Int32)

    private let listener: UnsafeMutablePointer<clinux_signal_listener>
    private let signal: Int32

    /// Makes a pipe, and checks the signal's number.
    init(_ signal: Int32) throws(LoopError) {
        guard signal != SIGKILL, signal != SIGSTOP else {
            throw LoopError(
                call: "sigaction(\(signal))", code: EINVAL, advice: "SIGKILL and SIGSTOP cannot be caught")
        }
        guard signal > 0, signal < CLINUX_SIGNALS, System.canBeHandled(signal) else {
            throw SignalEntry.noSuchSignal(signal)
        }
        #if DEBUG
            // Not in `FaultingCalls.swift`: `canBeHandled` asks what has the lists.
            if Faults.fails(.handleSignal) { throw SignalEntry.noSuchSignal(signal) }
        #endif
        var ends: (Descriptor, Descriptor) = (-1, -1)
        try withUnsafeMutableBytes(of: &ends) { bytes throws(LoopError) in
            let pair = bytes.assumingMemoryBound(to: Descriptor.self).baseAddress
            try System.check("pipe2", pipe2(pair, O_CLOEXEC | O_NONBLOCK))
        }
        self.signal = signal
        listener = .allocate(capacity: 1)
        listener.initialize(to: clinux_signal_listener(reader: ends.0, writer: ends.1, lost: 0, next: nil))
    }

    private static func noSuchSignal(_ signal: Int32) -> LoopError {
        LoopError(
            call: "sigaction(\(signal))", code: EINVAL,
            advice: "there is no such signal, or the C library keeps it for itself")
    }

    /// The reading end. Readable when the signal has arrived.
    var descriptor: Descriptor { listener.pointee.reader }

    // MARK: The list of the signal. One thread at a time.

    /// Adds it to the list.
    func add() {
        let code = clinux_add_signal_listener(signal, listener)
        guard code == 0 else { fatalError("RunLoopKit: \(LoopError(call: "sigaction(\(signal))", code: code))") }
    }

    func remove() { clinux_remove_signal_listener(signal, listener) }

    /// Whether a handler may see entries that were removed before.
    static var mayBeSeen: Bool { clinux_is_hearing_signals() }

    /// Closes the pipe. Called once, when no handler sees it.
    func free() {
        System.close(listener.pointee.reader)
        System.close(listener.pointee.writer)
        listener.deallocate()
    }

    /// The address of the handler that the signal had before the first entry of its list; 0 if it had none.
    var replacedHandler: UInt { UInt(clinux_replaced_signal_handler(signal)) }

    // MARK: What arrives

    /// Takes what has arrived, in order. Traps on a failure, since signals would be lost.
    func takeArrivals() -> [Arrival] {
        withUnsafeTemporaryAllocation(of: clinux_arrival.self, capacity: 64) { buffer in
            let size = MemoryLayout<clinux_arrival>.size
            var arrivals: [Arrival] = []
            while true {
                let count = clinux_read(descriptor, buffer.baseAddress, UInt(buffer.count * size))
                if count < 0, clinux_errno() == EINTR { continue }
                if count < 0, clinux_errno() == EAGAIN { return arrivals }
                // An arrival is written as a whole.
                if count < 0 || count % size != 0 { failReading(System.lastError) }
                for arrival in buffer.prefix(count / size) {
                    arrivals.append((arrival.process, arrival.user, arrival.code, arrival.value))
                }
                if count < buffer.count * size { return arrivals }
            }
        }
    }

    func failReading(_ code: Int32) -> Never {
        System.descriptorFailed("read(pipe \(descriptor), \(listener.pointee.writer))", code: code)
    }

    /// How many arrivals have found no room in the pipe since the last call.
    func takeLostCount() -> Int { Int(clinux_take_lost_signals(listener)) }
}

extension System {
    /// Whether there is such a signal, and the C library does not keep it for itself.
    fileprivate static func canBeHandled(_ signal: Int32) -> Bool {
        var action = sigaction()
        return sigaction(signal, nil, &action) == 0
    }

    /// Unblocks a signal on the calling thread if all threads block it, as in a program that a thread started which
    /// blocks all signals: no thread would get it. Without `/proc` only the calling thread is asked.
    static func unblockIfBlockedEverywhere(_ signal: Int32) {
        if isBlocked(signal), ThreadStatus.all.allSatisfy({ $0.blocks(signal) }) { unblock(signal) }
    }
}
