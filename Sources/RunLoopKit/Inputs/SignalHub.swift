/// Routes Unix signals to sources, and tracks which thread blocks which signal for them. One for the process.
///
/// Reading a signal from one signalfd consumes it for all others. So the thread that finds one takes every pending
/// signal, gives it to all sources for it, and wakes them through their own eventfds.
final class SignalHub: @unchecked Sendable {
    private static let ofProcess = OnePerProcess { _ in SignalHub() }
    static var shared: SignalHub { ofProcess.object }

    /// The signals that one source has received and not yet passed to its handler. Guarded by the hub's lock.
    final class Inbox: @unchecked Sendable {
        let signal: Int32
        let signalFD: Descriptor

        /// Written when the inbox becomes non-empty, and never read.
        let eventFD: EventFD
        private(set) var arrivals: [Loop.SignalSource.Arrival] = []

        /// The largest number of arrivals it holds. Later ones are dropped, as in the kernel: otherwise a source that
        /// no run serves would use unbounded memory for what other sources read.
        private let capacity: Int

        /// - Parameter pendingLimit: The largest number of real-time signals it holds.
        init(_ signal: Int32, pendingLimit: Int = System.pendingSignalLimit) throws(LoopError) {
            self.signal = signal
            capacity = System.isRealTime(signal) ? max(1, pendingLimit) : 1
            eventFD = try EventFD()
            signalFD = try System.makeSignalFD(signal)
        }

        deinit { System.close(signalFD) }

        fileprivate func put(_ arrival: Loop.SignalSource.Arrival) {
            guard arrivals.count < capacity else { return }
            arrivals.append(arrival)
            if arrivals.count == 1 { eventFD.signal() }
        }

        fileprivate func takeAll() -> [Loop.SignalSource.Arrival] { exchange(&arrivals, with: []) }
    }

    /// A signal that a thread blocks because of sources made there.
    private struct Mask {
        let thread: ThreadID
        let signal: Int32
        let wasBlocked: Bool
        var sources: Int
    }

    /// Taken with a loop's lock held. No lock is taken under it.
    private let lock = Lock(.signals)
    private var inboxes: [Inbox] = []
    private var masks: [Mask] = []

    // MARK: Listening

    func add(_ inbox: Inbox) { lock.withLock { inboxes.append(inbox) } }

    /// Drops what it holds: the other inboxes have the same signals.
    func remove(_ inbox: Inbox) {
        lock.withLock {
            inboxes.removeAll { $0 === inbox }
            _ = inbox.takeAll()
        }
    }

    /// Takes all pending signals from the kernel, for all inboxes. Returns whether this one holds any.
    func collect(for inbox: Inbox) -> Bool {
        lock.withLock {
            while let info = System.takeSignal(from: inbox.signalFD) {
                let arrival = Loop.SignalSource.Arrival(info)
                for listener in inboxes where listener.signal == inbox.signal { listener.put(arrival) }
            }
            return !inbox.arrivals.isEmpty
        }
    }

    func takeArrivals(of inbox: Inbox) -> [Loop.SignalSource.Arrival] { lock.withLock { inbox.takeAll() } }

    // MARK: Masks

    /// Blocks a signal on the calling thread, and counts a source for it.
    func block(_ signal: Int32) throws(LoopError) {
        let thread = ThreadLoops.currentID
        try lock.withLock { () throws(LoopError) in
            if let index = indexOfMask(signal, thread) {
                masks[index].sources += 1
            } else {
                let wasBlocked = try System.block(signal)
                masks.append(Mask(thread: thread, signal: signal, wasBlocked: wasBlocked, sources: 1))
            }
        }
    }

    /// Counts one source fewer for a signal on the calling thread. The last one restores the mask.
    func unblock(_ signal: Int32) {
        let thread = ThreadLoops.currentID
        let isLast = lock.withLock {
            guard let index = indexOfMask(signal, thread) else { return false }
            masks[index].sources -= 1
            guard masks[index].sources == 0 else { return false }
            return !masks.remove(at: index).wasBlocked
        }
        // Without the lock: a pending signal is delivered at once, perhaps to a signal handler.
        if isLast { System.unblock(signal) }
    }

    /// Forgets the mask of a thread that ended without restoring it.
    func forgetMask(_ signal: Int32, of thread: ThreadID) {
        lock.withLock { masks.removeAll { $0.thread == thread && $0.signal == signal } }
    }

    private func indexOfMask(_ signal: Int32, _ thread: ThreadID) -> Int? {
        masks.firstIndex { $0.thread == thread && $0.signal == signal }
    }
}
