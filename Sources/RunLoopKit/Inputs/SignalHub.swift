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
        fileprivate var arrivals: [Loop.SignalSource.Arrival] = []

        init(_ signal: Int32) throws(LoopError) {
            self.signal = signal
            eventFD = try EventFD()
            signalFD = try System.makeSignalFD(signal)
        }

        deinit { System.close(signalFD) }
    }

    /// A signal that a thread blocks because of sources made there.
    private struct Mask {
        let thread: ThreadID
        let signal: Int32
        let wasBlocked: Bool
        var sources: Int
    }

    /// A leaf, but for eventfd writes: taken with a loop's lock held.
    private let lock = Lock()
    private var inboxes: [Inbox] = []
    private var masks: [Mask] = []

    // MARK: Listening

    func add(_ inbox: Inbox) { lock.withLock { inboxes.append(inbox) } }

    /// What it has not told is dropped: other listeners have it too.
    func remove(_ inbox: Inbox) {
        lock.withLock {
            inboxes.removeAll { $0 === inbox }
            inbox.arrivals = []
        }
    }

    /// Takes what is pending from the kernel, for all listeners. Says whether this one has anything to tell.
    func collect(for inbox: Inbox) -> Bool {
        lock.withLock {
            while let info = System.takeSignal(from: inbox.signalFD) {
                let arrival = Loop.SignalSource.Arrival(info)
                for listener in inboxes where listener.signal == inbox.signal {
                    listener.arrivals.append(arrival)
                    if listener.arrivals.count == 1 { listener.eventFD.signal() }
                }
            }
            return !inbox.arrivals.isEmpty
        }
    }

    func takeArrivals(of inbox: Inbox) -> [Loop.SignalSource.Arrival] {
        lock.withLock {
            defer { inbox.arrivals = [] }
            return inbox.arrivals
        }
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
