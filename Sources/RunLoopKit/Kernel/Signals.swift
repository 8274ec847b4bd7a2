internal import CLinux

extension System {
    /// The set of one signal. Throws for a number that is no signal, and for one that the C library reserves.
    private static func set(of signal: Int32, _ call: String) throws(LoopError) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        guard sigaddset(&set, signal) == 0 else {
            throw LoopError(
                call: "\(call)(\(signal))", advice: "there is no such signal, or the C library keeps it for itself")
        }
        return set
    }

    /// Whether the kernel queues every signal of that number, and not only the first: those from 32 on.
    static func isRealTime(_ signal: Int32) -> Bool { signal >= 32 }

    /// Calls `handler` whenever the process gets a signal, on whichever thread gets it: it must be async-signal-safe.
    static func handle(_ signal: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) throws(LoopError) {
        guard clinux_handle_signal(signal, handler) == 0 else { throw LoopError(call: "sigaction(\(signal))") }
    }

    /// Whether the calling thread blocks a signal.
    static func isBlocked(_ signal: Int32) -> Bool {
        var set = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &set)
        return sigismember(&set, signal) == 1
    }

    /// Blocks all signals on the calling thread.
    static func blockAllSignals() {
        var set = sigset_t()
        sigfillset(&set)
        pthread_sigmask(SIG_SETMASK, &set, nil)
    }

    /// Unblocks a signal on the calling thread. A pending one is delivered at once.
    package static func unblock(_ signal: Int32) {
        guard var set = try? set(of: signal, "pthread_sigmask") else { return }
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }
}
