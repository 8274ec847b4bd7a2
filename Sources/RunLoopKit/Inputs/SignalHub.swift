/// Who hears which Unix signals, and which thread blocks which for it: for the whole process, as signals are.
///
/// A signal that one signalfd has been asked for is gone from all others. So whoever finds one takes everything that is
/// pending and gives it to all listeners, waking them through eventfds of their own.
final class SignalHub: @unchecked Sendable {
    static let shared = SignalHub()

    /// What one source has heard and not told yet. Guarded by the hub's lock.
    final class Inbox: @unchecked Sendable {
        let signal: Int32
        let signalFD: Descriptor

        /// Written when the first arrival comes, and never read.
        let eventFD: EventFD
        private(set) var arrivals: [Loop.SignalSource.Arrival] = []

        /// How many arrivals it holds at most. What comes after that is forgotten, as the kernel forgets what it cannot
        /// keep: a source that no run looks at must not fill the memory with what others read.
        private let capacity: Int

        /// - Parameter pendingLimit: How many real-time signals it holds at most.
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

        fileprivate func takeAll() -> [Loop.SignalSource.Arrival] {
            defer { arrivals = [] }
            return arrivals
        }
    }

    /// A signal that a thread blocks because of sources made there.
    private struct Mask {
        let thread: ThreadID
        let signal: Int32
        let wasBlocked: Bool
        var sources: Int
    }

    /// A leaf, but for eventfd writes: taken with a loop's lock held.
    private let lock = Lock(.signals)
    private var inboxes: [Inbox] = []
    private var masks: [Mask] = []

    // MARK: Listening

    func add(_ inbox: Inbox) { lock.withLock { inboxes.append(inbox) } }

    /// What it has not told is dropped: other listeners have it too.
    func remove(_ inbox: Inbox) {
        lock.withLock {
            inboxes.removeAll { $0 === inbox }
            _ = inbox.takeAll()
        }
    }

    /// Takes what is pending from the kernel, for all listeners. Says whether this one has anything to tell.
    func collect(for inbox: Inbox) -> Bool {
        lock.withLock {
            while let info = System.takeSignal(from: inbox.signalFD) {
                let arrival = Loop.SignalSource.Arrival(info)
                for listener in inboxes where listener.signal == inbox.signal { listener.put(arrival) }
            }
            return !inbox.arrivals.isEmpty
        }
    }

    func takeArrivals(of inbox: Inbox) -> [Loop.SignalSource.Arrival] {
        lock.withLock { inbox.takeAll() }
    }

    // MARK: Masks

    /// Blocks a signal on the calling thread, for one source more.
    func block(_ signal: Int32) throws(LoopError) {
        let thread = ThreadLoops.current.id
        try lock.withLock { () throws(LoopError) in
            if let index = indexOfMask(signal, thread) {
                masks[index].sources += 1
            } else {
                let wasBlocked = try System.block(signal)
                masks.append(Mask(thread: thread, signal: signal, wasBlocked: wasBlocked, sources: 1))
            }
        }
    }

    /// The calling thread blocks it for one source less: after the last one its mask is what it was before the first.
    func unblock(_ signal: Int32) {
        let thread = ThreadLoops.current.id
        let isLast = lock.withLock {
            guard let index = indexOfMask(signal, thread) else { return false }
            masks[index].sources -= 1
            guard masks[index].sources == 0 else { return false }
            return !masks.remove(at: index).wasBlocked
        }
        // Not with the lock held: what is pending takes its ordinary way at once, which may be a signal handler.
        if isLast { System.unblock(signal) }
    }

    /// A thread that ended without putting its mask back has none any more.
    func forgetMask(_ signal: Int32, of thread: ThreadID) {
        lock.withLock { masks.removeAll { $0.thread == thread && $0.signal == signal } }
    }

    private func indexOfMask(_ signal: Int32, _ thread: ThreadID) -> Int? {
        masks.firstIndex { $0.thread == thread && $0.signal == signal }
    }
}
