internal import CLinux

/// What the library's signal handler sees of the listeners of some signals: a pipe into which it writes what arrives.
/// `SignalListening.h` has the handler and its protocol.
struct SignalEntry: @unchecked Sendable {
    /// What arrived, as the kernel reports it.
    typealias Arrival = (signal: Int32, process: Int32, user: UInt32, code: Int32, value: Int32)

    private let signals: [Int32]
    /// One for each signal, with the same pipe.
    private let listeners: UnsafeMutablePointer<clinux_signal_listener>

    /// Makes a pipe, and checks the signals' numbers, which differ.
    init(_ signals: [Int32]) throws(LoopError) {
        for signal in signals { try SignalEntry.check(signal) }
        guard !signals.isEmpty else {
            throw LoopError(call: "sigaction", code: EINVAL, advice: "name at least one signal")
        }
        // Its arrivals could fill the pipe.
        if signals.count > 1, let queued = signals.first(where: System.isRealTime) {
            throw LoopError(
                call: "sigaction(\(queued))", code: EINVAL, advice: "give a real-time signal a source of its own")
        }
        let ends = try System.makePipe(isNonBlocking: true)
        self.signals = signals
        listeners = .allocate(capacity: signals.count)
        listeners.initialize(
            repeating: clinux_signal_listener(reader: ends.reader, writer: ends.writer, lost: 0, pending: 0, next: nil),
            count: signals.count)
    }

    private static func check(_ signal: Int32) throws(LoopError) {
        guard signal != SIGKILL, signal != SIGSTOP else {
            throw LoopError(
                call: "sigaction(\(signal))", code: EINVAL, advice: "SIGKILL and SIGSTOP cannot be caught")
        }
        guard signal > 0, signal < CLINUX_SIGNALS, System.canBeHandled(signal) else { throw noSuchSignal(signal) }
        #if DEBUG
            // Not in `FaultingCalls.swift`: `canBeHandled` asks what has the lists.
            if Faults.fails(.handleSignal) { throw noSuchSignal(signal) }
        #endif
    }

    private static func noSuchSignal(_ signal: Int32) -> LoopError {
        LoopError(
            call: "sigaction(\(signal))", code: EINVAL,
            advice: "there is no such signal, or the C library keeps it for itself")
    }

    /// The reading end. Readable when a signal has arrived.
    var descriptor: Descriptor { listeners.pointee.reader }

    // MARK: The lists of the signals. One thread at a time.

    /// Adds it to the lists.
    func add() {
        for (index, signal) in signals.enumerated() {
            let code = clinux_add_signal_listener(signal, listeners + index)
            guard code == 0 else { fatalError("RunLoopKit: \(LoopError(call: "sigaction(\(signal))", code: code))") }
        }
    }

    func remove() {
        for (index, signal) in signals.enumerated() { clinux_remove_signal_listener(signal, listeners + index) }
    }

    /// Whether a handler may see entries that were removed before.
    static var mayBeSeen: Bool { clinux_is_hearing_signals() }

    /// In a forked child: its signals do not reach the listeners of its parent.
    static func leaveToParent() { clinux_leave_signals_to_parent() }

    /// Closes the pipe. Called once, when no handler sees it.
    func free() {
        System.close(listeners.pointee.reader)
        System.close(listeners.pointee.writer)
        listeners.deallocate()
    }

    /// The address of the handler that a signal had before the first entry of its list, of the first signal that had
    /// one; 0 if none had.
    var replacedHandler: UInt {
        UInt(signals.lazy.map { clinux_replaced_signal_handler($0) }.first { $0 != 0 } ?? 0)
    }

    /// What happens when a signal comes.
    enum Effect { case ofLibrary, ignored, byDefault, handler(UInt) }

    static func effect(of signal: Int32) -> Effect {
        var handler: UInt = 0
        return switch Int(clinux_signal_effect(signal, &handler)) {
        case CLINUX_IGNORED: .ignored
        case CLINUX_BY_DEFAULT: .byDefault
        case CLINUX_OTHER_HANDLER: .handler(handler)
        default: .ofLibrary
        }
    }

    // MARK: What arrives

    /// Takes what has arrived, in order: one arrival of each ordinary signal, all of a real-time signal. Traps on a
    /// failure, since signals would be lost.
    func takeArrivals() -> [Arrival] {
        let arrivals = readArrivals()
        for arrival in arrivals where !System.isRealTime(arrival.signal) {
            if let index = signals.firstIndex(of: arrival.signal) { _ = clinux_take_pending_signals(listeners + index) }
        }
        return arrivals
    }

    private func readArrivals() -> [Arrival] {
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
                    arrivals.append(
                        (Int32(arrival.signal), arrival.process, arrival.user, arrival.code, arrival.value))
                }
                if count < buffer.count * size { return arrivals }
            }
        }
    }

    func failReading(_ code: Int32) -> Never {
        System.descriptorFailed("read(pipe \(descriptor), \(listeners.pointee.writer))", code: code)
    }

    /// How many arrivals have found no room in the pipe since the last call.
    func takeLostCount() -> Int { Int(clinux_take_lost_signals(listeners)) }
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
