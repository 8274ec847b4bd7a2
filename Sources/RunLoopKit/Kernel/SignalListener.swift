internal import CLinux
import Synchronization

/// Hears one Unix signal, whichever thread of the process gets it: a handler of `sigaction` writes each arrival into a
/// pipe. `SignalListening.h` has the handler and its protocol.
final class SignalListener: @unchecked Sendable {
    /// What arrived, as the kernel reports it.
    typealias Arrival = (process: Int32, user: UInt32, code: Int32, value: Int32)

    let signal: Int32

    /// The reading end of the pipe. Readable when the signal has arrived.
    let descriptor: Descriptor

    /// What the handler sees. Freed, with both ends of the pipe, when no handler does.
    private let entry: UnsafeMutablePointer<clinux_signal_listener>
    private let process = ProcessMark.current
    private let hasStopped = Atomic<Bool>(false)
    private var emptyReads = 0

    /// - Throws: `EINVAL` for a number that is no signal or cannot be caught, `EMFILE` without a descriptor left.
    init(_ signal: Int32) throws(LoopError) {
        let call = "sigaction(\(signal))"
        guard signal != SIGKILL, signal != SIGSTOP else {
            throw LoopError(call: call, code: EINVAL, advice: "SIGKILL and SIGSTOP cannot be caught")
        }
        let noSuchSignal = LoopError(
            call: call, code: EINVAL, advice: "there is no such signal, or the C library keeps it for itself")
        guard signal > 0, signal < CLINUX_SIGNALS else { throw noSuchSignal }
        var ends: (Descriptor, Descriptor) = (-1, -1)
        try withUnsafeMutableBytes(of: &ends) { bytes throws(LoopError) in
            let pair = bytes.assumingMemoryBound(to: Descriptor.self).baseAddress
            try System.check("pipe2", pipe2(pair, O_CLOEXEC | O_NONBLOCK))
        }
        self.signal = signal
        descriptor = ends.0
        entry = .allocate(capacity: 1)
        entry.initialize(to: clinux_signal_listener(reader: ends.0, writer: ends.1, lost: 0, next: nil))
        guard SignalListeners.shared.add(entry, signal) == 0 else {
            SignalListeners.free(entry)
            throw noSuchSignal
        }
        System.unblockIfBlockedEverywhere(signal)
    }

    /// In a forked child no handler sees the entry, and another thread of the parent may have been changing the list.
    deinit {
        stop()
        if process.isCurrent { SignalListeners.shared.free(entry) } else { SignalListeners.free(entry) }
    }

    /// Hears nothing more. With the last listener the signal has its old effect again. May be called twice.
    func stop() {
        // Relaxed: the first caller does all of it.
        guard !hasStopped.exchange(true, ordering: .relaxed), process.isCurrent else { return }
        SignalListeners.shared.remove(entry, signal)
    }

    /// Takes what has arrived, in order. Called when the descriptor is readable, by one thread at a time.
    ///
    /// Traps if that yields nothing three times in a row: the program has closed an end of the pipe, or put another
    /// file in its place.
    func takeArrivals() -> [Arrival] {
        let arrivals = readArrivals()
        emptyReads = arrivals.isEmpty ? emptyReads + 1 : 0
        if emptyReads == 3, !hasStopped.load(ordering: .relaxed) { failReading(EBADF) }
        return arrivals
    }

    private func failReading(_ code: Int32) -> Never {
        System.descriptorFailed("read(pipe \(descriptor), \(entry.pointee.writer))", code: code)
    }

    private func readArrivals() -> [Arrival] {
        withUnsafeTemporaryAllocation(of: clinux_arrival.self, capacity: 64) { buffer in
            let size = MemoryLayout<clinux_arrival>.size
            var arrivals: [Arrival] = []
            while true {
                let count = clinux_read(descriptor, buffer.baseAddress, UInt(buffer.count * size))
                if count < 0, clinux_errno() == EINTR { continue }
                if count < 0, clinux_errno() == EAGAIN { return arrivals }
                // An arrival is written as a whole. Zero: it has stopped.
                if count < 0 || count % size != 0 { failReading(System.lastError) }
                for arrival in buffer.prefix(count / size) {
                    arrivals.append((arrival.process, arrival.user, arrival.code, arrival.value))
                }
                if count < buffer.count * size { return arrivals }
            }
        }
    }

    /// How many arrivals have found no room in the pipe since the last call.
    func takeLostCount() -> Int { Int(clinux_take_lost_signals(entry)) }

    /// The handler that the signal had before its first listener, as `name in library`; nil if it had the default
    /// effect or was ignored.
    var replacedHandler: String? {
        let address = UInt(SignalListeners.shared.replacedHandler(of: signal))
        guard address != 0 else { return nil }
        guard let module = System.modules(containing: [address])[0] else { return "0x" + String(address, radix: 16) }
        let offset = address - module.base
        let name = SymbolTable.functions(at: [offset], in: module.path)[0]?.name ?? "0x" + String(offset, radix: 16)
        return "\(name) in \(module.path)"
    }
}

/// The listeners of the process: changes their lists, one thread at a time.
private final class SignalListeners: @unchecked Sendable {
    typealias Entry = UnsafeMutablePointer<clinux_signal_listener>

    private static let ofProcess = OnePerProcess { _ in SignalListeners() }
    static var shared: SignalListeners { ofProcess.object }

    /// No lock is taken under it.
    private let lock = Lock(.leaf)

    /// Those whose owners are gone, while a handler might see them. Guarded by the lock.
    private var unused: [Entry] = []

    /// Returns 0, or the number of an error.
    func add(_ entry: Entry, _ signal: Int32) -> Int32 {
        lock.withLock { clinux_add_signal_listener(signal, entry) }
    }

    func remove(_ entry: Entry, _ signal: Int32) { lock.withLock { clinux_remove_signal_listener(signal, entry) } }

    /// Frees an entry that has been removed, or leaves that to a later call.
    func free(_ entry: Entry) {
        lock.withLock {
            unused.append(entry)
            guard !clinux_is_hearing_signals() else { return }
            unused.forEach(SignalListeners.free)
            unused = []
        }
    }

    func replacedHandler(of signal: Int32) -> UInt { lock.withLock { UInt(clinux_replaced_signal_handler(signal)) } }

    static func free(_ entry: Entry) {
        System.close(entry.pointee.reader)
        System.close(entry.pointee.writer)
        entry.deallocate()
    }
}

extension System {
    /// Unblocks a signal on the calling thread if all threads block it, as in a program that a thread started which
    /// blocks all signals: no thread would get it. Without `/proc` only the calling thread is asked.
    fileprivate static func unblockIfBlockedEverywhere(_ signal: Int32) {
        if isBlocked(signal), ThreadStatus.all.allSatisfy({ $0.blocks(signal) }) { unblock(signal) }
    }
}
