import Synchronization

extension Loop {
    /// The descriptions of all loops of the process, in the order in which they were made. From any thread.
    ///
    /// A loop whose lock another thread holds, and does not release within about a thousand attempts, is described by
    /// a line that says so.
    public static var dump: String {
        let loops = LoopRegistry.shared.loops
        return (["\(loops.count) loop\(loops.count == 1 ? "" : "s")"] + loops.map(\.descriptionWithPatience))
            .joined(separator: "\n")
    }

    /// Prints the descriptions of all loops on stderr whenever the process receives a signal: for a program that does
    /// nothing, and has no debugger attached.
    ///
    /// ```swift
    /// try Loop.dumpOnSignal(SIGUSR1)  // kill -USR1 PID
    /// ```
    ///
    /// The signal's handler only wakes a thread, started here, which prints ``Loop/dump``: so it does not matter which
    /// thread the signal interrupts, nor which locks that thread holds. Call this once for each signal; a later call
    /// for the same signal changes nothing. A forked child does not have that thread, and has to call this again.
    ///
    /// It names the handler that runs, and for how long, of loops that a `StallMonitor` watches.
    ///
    /// - Throws: ``LoopError`` from `sigaction`: `EINVAL` if the signal cannot be caught; or if the thread cannot be
    ///   started.
    public static func dumpOnSignal(_ signal: Int32) throws(LoopError) {
        try SignalDump.ofProcess.object.start()
        try System.handle(signal) { _ in SignalDump.request() }
    }
}

/// The thread that prints dumps.
private final class SignalDump: @unchecked Sendable {
    static let ofProcess = OnePerProcess { _ in SignalDump() }

    private let lock = Lock(.leaf)

    /// The port of the thread. Retained forever: a signal may arrive at any time. Release and acquire: the signal's
    /// handler sees a port that is complete.
    private let port = Atomic<UnsafeRawPointer?>(nil)

    /// Kept running forever. Guarded by `lock`.
    private var thread: LoopThread?

    func start() throws(LoopError) {
        guard port.load(ordering: .acquiring) == nil else { return }
        let made = try Loop.PortSource { _ in System.complain(Loop.dump) }
        // Last: a thread that is dropped ends some time later.
        let thread = try LoopThread(name: "loop dump")
        made.label = "dump"
        lock.lock()
        let isFirst = port.load(ordering: .relaxed) == nil
        if isFirst { self.thread = thread }
        if isFirst { port.store(UnsafeRawPointer(Unmanaged.passRetained(made).toOpaque()), ordering: .releasing) }
        lock.unlock()
        // Of two threads that come here at the same moment, one drops its thread.
        guard isFirst else { return }
        thread.loop.add(made, in: .common)
    }

    /// Async-signal-safe, as `send()` is.
    static func request() {
        guard let port = ofProcess.objectIfMade?.port.load(ordering: .acquiring) else { return }
        Unmanaged<Loop.PortSource>.fromOpaque(port)._withUnsafeGuaranteedRef { $0.send() }
    }
}
